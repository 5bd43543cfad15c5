package main

import (
	"context"
	"sync"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/describe"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

func (p *program) historyCommand() *cobra.Command {
	f := &operateFlags{}
	var follow bool
	var run int
	cmd := &cobra.Command{
		Use: "history RUN", Short: "Show what has happened in a run, record by record",
		Example: `  swrun history order-7
  swrun history order-7 -o json > order-7.json
  swrun history order-7 --run 2
  swrun history order-7 --follow`,
		Long: runArgument,
		Args: exactly("a run"), RunE: verb(func(args []string) error {
			if err := atLeast("--run", run, 0); err != nil {
				return err
			}
			return p.operate(f, func(ctx context.Context, o *operation) error { return o.history(ctx, args[0], run, follow) })
		}),
	}
	f.add(cmd, "human", "json", "ndjson")
	f.within(cmd)
	cmd.Flags().IntVar(&run, "run", 0, "only this run of an execution that has continued as new, counted from 1; 0 for all")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the run has ended")
	return cmd
}

func (o *operation) history(ctx context.Context, name string, run int, follow bool) error {
	i, err := o.lookUp(ctx, name)
	if err != nil {
		return err
	}
	records := []api.HistoryEvent{}
	err = o.read(ctx, i, follow, client.OfRun(run, func(e client.HistoryEntry) error {
		for _, r := range e.Events {
			switch o.flags.output {
			case "human":
				err = write(o.out, describe.HistoryLine(api.NewHistoryEvent(r, e)))
			case "ndjson":
				err = o.print(api.NewHistoryEvent(r, e))
			default:
				records = append(records, api.NewHistoryEvent(r, e))
			}
			if err != nil {
				return err
			}
		}
		return nil
	}))
	if err != nil || o.flags.output != "json" {
		return err
	}
	return o.print(api.History{Schema: api.SchemaHistory, Run: i.String(), Records: records})
}

func (o *operation) read(ctx context.Context, i store.Instance, follow bool, each func(client.HistoryEntry) error) error {
	if !follow || o.isLocal() {
		_, err := o.client.History(ctx, i, 0, each)
		if err == nil && follow {
			err = o.endedHere(ctx, i)
		}
		return err
	}
	var watching sync.WaitGroup
	working, cancel := context.WithCancel(ctx)
	watching.Go(func() { o.watchWorkers(working, i) })
	err := o.client.Follow(ctx, i, 0, each)
	cancel()
	watching.Wait()
	return err
}

// endedHere returns an error for a run of an embedded store that has not ended: nothing goes on while this command has the store.
func (o *operation) endedHere(ctx context.Context, i store.Instance) error {
	_, done, err := o.client.Outcome(ctx, i)
	if done || err != nil {
		return err
	}
	return o.unattended(i)
}
