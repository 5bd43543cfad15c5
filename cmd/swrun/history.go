package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

func (p *program) historyCommand() *cobra.Command {
	f := &operateFlags{}
	var follow bool
	cmd := &cobra.Command{
		Use: "history RUN", Short: "Tell what has happened in a run, record by record",
		Example: `  swrun history order-7
  swrun history order-7 -o json > order-7.json
  swrun history order-7 --follow`,
		Long: runArgument,
		Args: exactly("a run"), RunE: verb(func(args []string) error {
			return p.operate(f, func(ctx context.Context, o *operation) error { return o.history(ctx, args[0], follow) })
		}),
	}
	f.add(cmd, "human", "json", "ndjson")
	f.within(cmd)
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the run has ended")
	return cmd
}

func (o *operation) history(ctx context.Context, name string, follow bool) error {
	i, err := o.seen(ctx, name)
	if err != nil {
		return err
	}
	records := []api.HistoryEvent{}
	err = o.read(ctx, i, follow, func(e client.HistoryEntry) error {
		for _, r := range e.Events {
			switch o.flags.output {
			case "human":
				err = write(o.out, historyLine(i, r, e.CommittedAt))
			case "ndjson":
				err = o.print(api.NewHistoryEvent(i, r, e))
			default:
				records = append(records, api.NewHistoryEvent(i, r, e))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || o.flags.output != "json" {
		return err
	}
	return o.print(api.History{Schema: api.SchemaHistory, Run: i.String(), Records: records})
}

func (o *operation) read(ctx context.Context, i store.Instance, follow bool, each func(client.HistoryEntry) error) error {
	if follow {
		return o.client.Follow(ctx, i, 0, each)
	}
	_, err := o.client.History(ctx, i, 0, each)
	return err
}

// notable is from when on it is told that something was stored later than it happened.
const notable = 100 * time.Millisecond

// historyLine is a record for people: when, what, where, and the gist of its data.
func historyLine(i store.Instance, r interpreter.HistoryEvent, stored time.Time) string {
	words := []string{fmt.Sprintf("%5d  %s  %-18s", r.Seq, r.At.UTC().Format("2006-01-02T15:04:05.000Z"), r.Type)}
	if late := stored.Sub(r.At); late >= notable {
		words = append(words, "(stored "+terminal.Elapsed(late)+" later)")
	}
	if r.Path != "" {
		words = append(words, terminal.Printable(string(r.Path)))
	}
	if r.Attempt > 1 {
		words = append(words, fmt.Sprintf("attempt=%d", r.Attempt))
	}
	if !r.Until.IsZero() {
		words = append(words, "until="+r.Until.UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	if r.Error != nil {
		words = append(words, terminal.Printable(shorten.To(r.Error.Error(), 200)))
		if r.Timeout != "" {
			words = append(words, "timeoutKind="+r.Timeout)
		}
	}
	if started := api.StartedChild(i, r); started != "" {
		words = append(words, "run="+started)
	}
	if r.Data != nil {
		if data, err := expr.Encode(r.Data); err == nil {
			words = append(words, terminal.Printable(shorten.To(string(data), 120)))
		}
	}
	return strings.Join(words, " ") + "\n"
}
