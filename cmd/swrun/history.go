package main

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/internal/describe"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

func (p *program) historyCommand() *cobra.Command {
	f := &operateFlags{remote: true, looksOnly: true}
	var follow bool
	var task int
	var run, secrets string
	var cmd *cobra.Command
	cmd = &cobra.Command{
		Use: "history RUN", Short: "Show the history of a run, record by record",
		Example: `  swrun history order-7
  swrun history order-7 -o json > order-7.json
  swrun history order-7 --run 2
  swrun history order-7 --follow
  swrun history order-7 --task 4`,
		Long: runArgument + `

--task shows the data of one occurrence of a task: its input and output before and after their transformation, and $context before and
after the task. The command replays the history, with the secrets that the run reads; it shows no secret.`,
		Args: exactly("a run"), RunE: verb(func(args []string) (err error) {
			if err := checkHistoryRun(run); err != nil {
				return err
			}
			if p.secrets, err = readSecrets(p.env, secrets); err != nil {
				return err
			}
			if cmd.Flags().Changed("task") {
				return p.historyOfTask(f, args[0], task, follow || run != control.AllRuns)
			}
			r := &historyReading{name: args[0], follow: follow, query: control.HistoryQuery{Run: run}}
			return p.operate(f, func(ctx context.Context, o *operation) error { return o.history(ctx, r) })
		}),
	}
	f.add(cmd, "human", "json", "ndjson")
	f.within(cmd)
	cmd.Flags().StringVar(&run, "run", control.AllRuns, "number of the run within an execution that continued as new, counted from 1, or "+client.LatestRun+"; all for every run")
	cmd.Flags().IntVar(&task, "task", 0, "number of the record task.started of a task, to show only this task, with its data")
	cmd.Flags().StringVar(&secrets, "secrets", "", "file or folder of the secrets that the run reads, name: value (also SWRUN_SECRET_<NAME>), for --task")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "print new records until the run ends")
	return cmd
}

// checkHistoryRun checks the run whose records are requested.
func checkHistoryRun(run string) error {
	if run == control.AllRuns {
		return nil
	}
	_, err := parseRunNumber(run)
	return err
}

// historyOfTask prints the details of the task that begins with a record; others is true if flags for other records are given too.
func (p *program) historyOfTask(f *operateFlags, run string, seq int, others bool) error {
	if err := atLeast("--task", seq, 1); err != nil {
		return err
	}
	if others {
		return usagef("leave out --follow and --run", "--task is about one record")
	}
	return p.operate(f, func(ctx context.Context, o *operation) error {
		i, err := o.lookUp(ctx, run)
		if err != nil {
			return err
		}
		task, err := o.deployment.Task(ctx, i, seq)
		if err != nil {
			return err
		}
		if o.flags.output != "human" {
			return o.print(task)
		}
		return write(o.out, describe.Task(&task))
	})
}

// historyReading is the position in a history: when one server or holder ends, the next one is asked for the rest.
type historyReading struct {
	name    string
	follow  bool
	query   control.HistoryQuery
	each    func(api.HistoryEvent) error
	records []api.HistoryEvent
}

func (o *operation) history(ctx context.Context, r *historyReading) error {
	i, err := o.lookUp(ctx, r.name)
	if err != nil {
		return err
	}
	if r.each == nil {
		r.records, r.query.Limit = []api.HistoryEvent{}, historyPage
		r.each = func(e api.HistoryEvent) error {
			switch o.flags.output {
			case "human":
				return write(o.out, describe.HistoryLine(e))
			case "ndjson":
				return o.print(e)
			}
			r.records = append(r.records, e)
			return nil
		}
	}
	if err := o.read(ctx, i, r); err != nil {
		return err
	}
	if o.flags.output != "json" {
		return nil
	}
	return o.print(api.History{Schema: api.SchemaHistory, Run: i.String(), Records: r.records})
}

// The parts in which a history is read: the number of records, and the wait for a later record.
const (
	historyPage   = 500
	historyWithin = 30 * time.Second
)

func (o *operation) read(ctx context.Context, i store.Instance, r *historyReading) error {
	if !r.follow || o.isLocal() {
		r.query.Wait = 0
		_, err := o.readUntil(ctx, i, r)
		if err == nil && r.follow {
			err = o.endedHere(ctx, i)
		}
		return err
	}
	var watching sync.WaitGroup
	working, cancel := context.WithCancel(ctx)
	watching.Go(func() { o.watchWorkers(working, i) })
	r.query.Wait = historyWithin
	var err error
	for more := true; more && err == nil; {
		more, err = o.readUntil(ctx, i, r)
	}
	cancel()
	watching.Wait()
	return err
}

// readUntil reads a history up to its present end; more is true if further records are possible.
func (o *operation) readUntil(ctx context.Context, i store.Instance, r *historyReading) (more bool, err error) {
	for {
		page, err := o.deployment.History(ctx, i, r.query)
		if err != nil {
			return false, err
		}
		for _, e := range page.Records {
			if err := r.each(e); err != nil {
				return false, err
			}
		}
		if page.Next == "" {
			r.query.Cursor = cmp.Or(page.Later, r.query.Cursor)
			return page.Later != "", context.Cause(ctx)
		}
		r.query.Cursor = page.Next
	}
}

// endedHere returns an error for a run of an embedded store that is not ended: the run cannot continue while this command has the store.
func (o *operation) endedHere(ctx context.Context, i store.Instance) error {
	outcome, err := o.deployment.Outcome(ctx, i, 0)
	switch {
	case outcome.Ended || err != nil:
		return err
	case outcome.Status == store.Quarantined:
		return quarantined(i, outcome)
	}
	return o.unattended(i)
}
