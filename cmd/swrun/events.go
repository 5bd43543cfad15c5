package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/cloudevent"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/events"
)

func (p *program) eventsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "events", Short: "Publish events to the runs that listen for them, and show the events of runs",
		Example: `  swrun events publish paid.json
  echo '{"type": "order.paid", "data": {"order": 7}}' | swrun events publish -
  swrun events unmatched
  swrun events listeners --type order.paid`,
	}
	cmd.AddCommand(p.eventsPublishCommand(), p.eventsTailCommand(), p.eventsDeadCommand(), p.eventsUnmatchedCommand(), p.eventsListenersCommand())
	group(cmd)
	return cmd
}

func (p *program) eventsPublishCommand() *cobra.Command {
	f := &operateFlags{remote: true}
	cmd := &cobra.Command{
		Use: "publish FILE", Short: "Publish CloudEvents of a file, or - for standard input",
		Example: `  swrun events publish paid.json
  echo '{"type": "order.paid", "data": {"order": 7}}' | swrun events publish -
  swrun events publish paid.json -n shop`,
		Long: `FILE contains one event, a list of events, or a sequence of documents, as JSON or YAML. An event is published when every run that listens
has received it, and the runs that it starts are stored; the command lists these runs. An event without an id gets a new id. An event with the
source and id of an event of the last day is not delivered again.`,
		Args: exactly("a file, or -"), RunE: verb(func(args []string) error {
			all, err := p.publishable(args[0])
			if err != nil {
				return err
			}
			return p.operate(f, func(ctx context.Context, o *operation) error {
				done, err := o.deployment.Publish(p.attributed(ctx), all, f.only())
				switch {
				case errors.As(err, new(*events.OtherEventError)):
					return &exitError{code: exitConflict, message: err.Error(), hint: events.OtherEventHelp}
				case errors.As(err, new(*control.EventError)):
					return &exitError{code: exitInput, message: err.Error()}
				case err != nil:
					return err
				}
				return o.printPublished(done)
			})
		}),
	}
	f.add(cmd, "human", "json", "yaml", "name")
	f.within(cmd)
	return cmd
}

// publishable reads the events to be published.
func (p *program) publishable(file string) (all []map[string]any, err error) {
	var r *cloudevent.Reader
	switch {
	case file == "-" && p.inTTY:
		return nil, usagef("pipe something into swrun, or name a file", "- reads standard input, which is a terminal")
	case file == "-":
		r = cloudevent.NewReader(p.in, "standard input")
	default:
		if r, err = eventFile(file); err != nil {
			return nil, err
		}
	}
	r.NewID = uuid.NewString
	for {
		arrival, err := r.Next()
		switch {
		case errors.Is(err, io.EOF) && len(all) == 0:
			return nil, usagef(eventHint, "%s holds no event", file)
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, usagef(eventHint, "%s", err)
		case arrival.Timed:
			return nil, usagef("publish it when it happens", "event %d of %s has `after`, which is for swrun run --event", len(all)+1, file)
		}
		all = append(all, arrival.Event)
	}
}

func (o *operation) printPublished(done api.Published) error {
	switch o.flags.output {
	case "name":
		for _, run := range append(done.Matched, done.Started...) {
			fmt.Fprintln(o.out, run.Namespace+"/"+run.ID)
		}
		return nil
	case "human":
		fmt.Fprintf(o.out, "published %s; %d without a listener, %d published before\n", terminal.Counted(done.Accepted, "event"), done.Unmatched, done.Repeated)
		if done.Waiting > 0 {
			fmt.Fprintf(o.out, "  %d kept by schedules until further events arrive\n", done.Waiting)
		}
		for _, run := range done.Matched {
			fmt.Fprintf(o.out, "  %s/%s listens\n", run.Namespace, run.ID)
		}
		for _, run := range done.Started {
			fmt.Fprintf(o.out, "  %s/%s was started\n", run.Namespace, run.ID)
		}
		for _, r := range done.Refused {
			fmt.Fprintf(o.out, "  %s heard it, and its schedule started nothing: %s\n", r.Workflow, terminal.Printable(cmp.Or(r.Reason, "the reason is data of the event, which your token does not show")))
		}
		for _, run := range done.Full {
			fmt.Fprintf(o.out, "  %s/%s listens, and did not receive the event: too many messages wait for the run\n", run.Namespace, run.ID)
		}
		return nil
	}
	return o.print(done)
}
