package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/remote"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/queue"
)

func (p *program) queueCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "queue", Short: "List task queues, limit and pause them",
		Example: `  swrun queue ls
  swrun queue limit gpu --concurrency 4 --rate 100/1m
  swrun queue pause gpu --reason 'the driver is replaced'`,
		Long: fmt.Sprintf(`A limit holds for all workers, servers and outside workers together, for tasks (metadata.swrun.queue) and activities alike. Tasks and
activities in progress continue, and deadlines hold. All processes apply a change within %s.`, queue.MaxAge),
	}
	cmd.AddCommand(p.queueListCommand(), p.queueLimitCommand(),
		p.queueChange("pause QUEUE", "Pause a queue: no task or activity of it begins", "  swrun queue pause gpu --reason 'the driver is replaced'", api.PauseQueue()),
		p.queueChange("resume QUEUE", "End the pause of a queue", "  swrun queue resume gpu", api.ResumeQueue()))
	group(cmd)
	return cmd
}

func (p *program) queueListCommand() *cobra.Command {
	f := &operateFlags{remote: true, looksOnly: true}
	cmd := &cobra.Command{
		Use: "ls", Short: "List the queues that have waiting work, workers or a limit",
		Example: `  swrun queue ls
  swrun queue ls -o json --jq '.[] | select(.unpolled) | .name'`,
		Long: `WAITING is the number of waiting activities and runs; OLDEST is the wait of the first of them. PERFORMING is the number of tasks and activities
that count for the limit; without a limit, it is the number in the last announcements of the workers. WORKERS is the number of workers that take
work of the queue; POLLED is the time of the last request of an outside worker for activities.`,
		Args: exactly(), RunE: verb(func([]string) error {
			return p.operate(f, func(ctx context.Context, o *operation) error {
				all, err := remote.Ask(ctx, o.deployment, api.ListQueues(), &api.None{})
				if err != nil {
					return err
				}
				return o.printQueues(all)
			})
		}),
	}
	f.add(cmd, listForms()...)
	return cmd
}

func (p *program) queueLimitCommand() *cobra.Command {
	f, change := &operateFlags{makes: true, remote: true}, api.QueueChange{}
	cmd := &cobra.Command{
		Use: "limit QUEUE", Short: "Limit the number or the rate of the tasks and activities of a queue",
		Example: `  swrun queue limit gpu --concurrency 4
  swrun queue limit mail --rate 100/1m
  swrun queue limit gpu --concurrency none --rate none`,
		Args: exactly("a queue"), RunE: verb(func(args []string) error {
			if change.Concurrency == "" && change.Rate == "" {
				return usagef("for example --concurrency 4, or --rate 100/1m", "queue limit needs --concurrency or --rate")
			}
			return p.changeQueue(f, func(ctx context.Context, o *operation) (api.Queue, error) {
				return remote.Ask(ctx, o.deployment, api.LimitQueue(), &api.QueueLimit{QueuePath: api.QueuePath{Name: args[0]}, Body: change})
			})
		}),
	}
	f.add(cmd, "human", "json", "yaml")
	flags := cmd.Flags()
	flags.StringVar(&change.Concurrency, "concurrency", "", "maximum number of tasks and activities in progress, in all workers together; none for any number")
	flags.StringVar(&change.Rate, "rate", "", "maximum number of tasks and activities that begin within a time, for example 100/1m; none for any number")
	flags.StringVar(&change.Reason, "reason", "", "reason, kept with the limit")
	flags.BoolVar(&change.Replace, "replace", false, "set rules of the queue anew that cannot be read; their other limits and a pause are lost")
	return cmd
}

func (p *program) queueChange(use, short, example string, row api.Operation[api.QueueCommand, api.Queue]) *cobra.Command {
	f, body := &operateFlags{makes: true, remote: true}, new(api.CommandRequest)
	cmd := &cobra.Command{
		Use: use, Short: short, Example: example,
		Args: exactly("a queue"), RunE: verb(func(args []string) error {
			return p.changeQueue(f, func(ctx context.Context, o *operation) (api.Queue, error) {
				return remote.Ask(ctx, o.deployment, row, &api.QueueCommand{QueuePath: api.QueuePath{Name: args[0]}, Body: body})
			})
		}),
	}
	f.add(cmd, "human", "json", "yaml")
	cmd.Flags().StringVar(&body.Reason, "reason", "", "reason, which describe shows")
	return cmd
}

// changeQueue changes a queue, and prints it.
func (p *program) changeQueue(f *operateFlags, change func(context.Context, *operation) (api.Queue, error)) error {
	return p.operate(f, func(ctx context.Context, o *operation) error {
		q, err := change(p.attributed(ctx), o)
		var problem *api.Problem
		if errors.As(err, &problem) && problem.Name() == "invalid-request" {
			return usagef("swrun queue --help", "%s", err)
		}
		if err == nil {
			err = o.warnReplaced(q.Replaced, "its other limits and a pause are lost")
		}
		if err == nil && q.StateUnknown != "" {
			l := o.errStyle()
			err = write(o.err, fmt.Sprintf("%s the change is applied, but the state of the queue is not known: %s\n", l.Yellow("warning:"), l.Text(q.StateUnknown)))
		}
		if err != nil {
			return err
		}
		if o.flags.output != "human" {
			return o.print(q)
		}
		return o.printQueues([]api.Queue{q})
	})
}

// warnReplaced warns that a change has replaced an entry that cannot be read, for a reason; nothing is printed without one.
func (o *operation) warnReplaced(reason, lost string) error {
	if reason == "" {
		return nil
	}
	l := o.errStyle()
	return write(o.err, fmt.Sprintf("%s %s; it is replaced, and %s\n", l.Yellow("warning:"), l.Text(reason), lost))
}

func (o *operation) printQueues(all []api.Queue) error {
	return printList(o, all, func(q api.Queue) string { return q.Name }, o.queueTable)
}

func (o *operation) queueTable(all []api.Queue) error {
	table := terminal.NewTable(o.out, "QUEUE", "WAITING", "OLDEST", "PERFORMING", "LIMIT", "WORKERS", "POLLED")
	for _, q := range all {
		oldest := "-"
		if q.OldestAgeSeconds > 0 {
			oldest = terminal.Elapsed(time.Duration(q.OldestAgeSeconds * float64(time.Second)))
		}
		table.Row(q.Name, queueWaiting(q), oldest, queuePerforming(q), o.queueLimits(q), queueWorkers(q), o.queuePolled(q))
	}
	return table.Flush()
}

func queueWorkers(q api.Queue) string {
	if q.WorkersUnknown != "" || q.StateUnknown != "" {
		return "not known"
	}
	return fmt.Sprint(len(q.Workers))
}

// queuePerforming returns the text about the tasks of a queue in progress. Tasks of outside workers are counted only if the queue has a limit.
func queuePerforming(q api.Queue) string {
	limited := q.Concurrency > 0 || q.Rate != ""
	switch {
	case q.Performing == nil: // a token of some namespaces does not see it
		return "-"
	case limited || len(q.Pollers) == 0:
		return fmt.Sprint(*q.Performing)
	case *q.Performing == 0:
		return "-"
	}
	return fmt.Sprintf("%d and activities", *q.Performing)
}

func queueWaiting(q api.Queue) string {
	if q.StateUnknown != "" {
		return "not known"
	}
	var all []string
	if q.Activities > 0 {
		noun := "activities"
		if q.Activities == 1 {
			noun = "activity"
		}
		all = append(all, fmt.Sprintf("%d %s", q.Activities, noun))
	}
	if q.Runs > 0 {
		all = append(all, terminal.Counted(q.Runs, "run"))
	}
	return cmp.Or(strings.Join(all, ", "), "-")
}

func (o *operation) queueLimits(q api.Queue) string {
	var all []string
	if q.Concurrency > 0 {
		all = append(all, fmt.Sprintf("%d at a time", q.Concurrency))
	}
	if q.Rate != "" {
		all = append(all, q.Rate)
	}
	text := cmp.Or(strings.Join(all, ", "), "-")
	if p := q.Paused; p != nil {
		text = "paused for " + o.ago(p.At)
		if p.Actor != "" {
			text += " by " + p.Actor
		}
		if p.Reason != "" {
			text += " (" + shorten.To(p.Reason, maxGrant) + ")"
		}
		if len(all) > 0 {
			text += "; " + strings.Join(all, ", ")
		}
	}
	return terminal.Printable(text)
}

// queuePolled returns the last poller of the queue, with the time.
func (o *operation) queuePolled(q api.Queue) string {
	if len(q.Pollers) == 0 {
		if q.Unpolled {
			return "never"
		}
		return "-"
	}
	last := q.Pollers[0]
	text := o.ago(last.SeenAt) + " ago"
	if last.Worker != "" {
		text += " by " + terminal.Printable(last.Worker)
	}
	if q.Unpolled {
		text += ", by no worker since"
	}
	return text
}
