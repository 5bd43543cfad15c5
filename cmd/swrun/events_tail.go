package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/internal/describe"
	"github.com/swrun/swrun/internal/terminal"
)

// eventsTail is the selection of events, and the position in the stream: when one server ends, the next server is asked for the remaining events.
type eventsTail struct {
	where, types, since string
	count               int // maximum number of shown events; 0 for no maximum

	chosen control.Choice
	chose  control.EventTypes
	last   control.FleetPosition
	shown  int
	began  bool // it was answered once
	known  seenEvents
	told   map[string]bool // the reasons why events are left out
}

func (p *program) eventsTailCommand() *cobra.Command {
	f, t := &operateFlags{remote: true, looksOnly: true}, &eventsTail{}
	cmd := &cobra.Command{
		Use: "tail", Short: "Show the lifecycle events of runs and the events that runs emit, as they happen",
		Example: `  swrun events tail
  swrun events tail --type workflow,task.faulted --where workflow=shop/order
  swrun events tail --since 1h --count 100 -o ndjson`,
		Long: `Shows the events of the selected runs, from now or from --since, until it is interrupted. Each line is one event, a lifecycle event or an event
that a workflow emits; -o ndjson prints the CloudEvents. The events of one run are in order. When a server ends, the command connects again, to it
or to its successor, and shows the events since then.`,
		Args: exactly(), RunE: verb(func([]string) error {
			if err := t.parse(p, f); err != nil {
				return err
			}
			return p.operate(f, func(ctx context.Context, o *operation) error { return o.tail(ctx, t) })
		}),
	}
	f.add(cmd, "human", "ndjson")
	f.within(cmd)
	flags := cmd.Flags()
	flags.StringVar(&t.where, "where", "", whereHelp())
	flags.StringVar(&t.types, "type", "", "types of the events, separated by commas: workflow or task for all of their types, task.faulted for one type, emitted for events that workflows emit, status-changed for changes of states (default all but status-changed)")
	flags.StringVar(&t.since, "since", "", "age of the oldest event to show, for example 10m or PT10M (default only new events)")
	flags.IntVar(&t.count, "count", 0, "number of events after which the command ends; 0 for no end")
	return cmd
}

func (t *eventsTail) parse(p *program, f *operateFlags) (err error) {
	if err := p.checkWhere(t.where); err != nil {
		return err
	}
	t.chosen = f.chosen(t.where)
	if t.chose, err = control.ParseEventTypes(t.types); err != nil {
		return usagef("leave it out for all but changes of states", "--type: %s", err)
	}
	ago, err := parseSpan("--since", t.since)
	if err != nil {
		return err
	}
	if t.since != "" {
		t.last = control.FleetSince(p.now().Add(-ago))
	}
	return atLeast("--count", t.count, 0)
}

// errEnough ends a stream whose events have been shown.
var errEnough = errors.New("--count events were shown")

// errNothingGoesOn ends the stream of a store that only this process uses.
var errNothingGoesOn = errors.New("no events happen while this process has the file")

// againAfter is the delay before a request to a server that has ended is repeated.
const againAfter = time.Second

// follow gives events to a tail. A store that this process has opened is read directly: a stream of the API would not end although no event can happen.
func (o *operation) follow(ctx context.Context, t *eventsTail) error {
	if o.store != nil {
		return o.control.FollowFleet(ctx, t.chosen, t.last, o.tailer(t))
	}
	return o.deployment.FollowFleet(ctx, t.chosen, t.last, o.tailer(t))
}

// tail shows events until it is interrupted, or has shown enough events.
func (o *operation) tail(ctx context.Context, t *eventsTail) error {
	told := false
	for {
		err := o.follow(ctx, t)
		switch {
		case errors.Is(err, errEnough):
			return nil
		case errors.Is(err, errNothingGoesOn):
			return &exitError{
				code: exitStore, message: "no events happen in " + o.at + " while no worker runs",
				hint: "swrun serve" + o.flags.storeFlag() + " runs the deployed workflows",
			}
		case errors.Is(err, control.ErrBehind):
			continue
		case !o.byURL || !isGone(err) || !t.began:
			return filterError("--where", err)
		case !told:
			told = true
			fmt.Fprintln(o.err, o.errStyle().Text(fmt.Sprintf("%s: the request is repeated until the server answers", err)))
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(againAfter):
		}
	}
}

// tailer returns a follower that takes events, and shows them.
func (o *operation) tailer(t *eventsTail) control.Follower {
	return control.Follower{
		Types: t.chose, Every: 200 * time.Millisecond,
		Begun: func() error { t.began = true; return nil },
		Idle: func() error {
			if t.began && o.isLocal() {
				return errNothingGoesOn
			}
			return nil
		},
		Unreadable: func(err error) error { return o.tellLeftOut(t, err) },
		Events: func(all []control.FollowedEvent) error {
			for _, e := range all {
				if err := o.showEvent(t, e); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// maxTold is the maximum number of reported reasons why events are left out.
const maxTold = 1000

// tellLeftOut reports once why events are left out: a server that is asked again, or the next one, reports it again.
func (o *operation) tellLeftOut(t *eventsTail, why error) error {
	if t.told == nil {
		t.told = map[string]bool{}
	}
	if t.told[why.Error()] || len(t.told) == maxTold {
		return nil
	}
	t.told[why.Error()] = true
	_, err := fmt.Fprintln(o.err, o.errStyle().Text("events are left out: "+terminal.Printable(why.Error())))
	return err
}

func (o *operation) showEvent(t *eventsTail, e control.FollowedEvent) (err error) {
	if t.last, err = control.FleetEventAt(e.ID); err != nil || !t.known.add(e.ID) {
		return err
	}
	switch {
	case o.flags.output != "human":
		err = write(o.out, string(e.Data)+"\n")
	case e.IsEmitted():
		err = write(o.out, describe.EmittedLine(e.Data, e.Run()))
	default:
		err = write(o.out, describe.LifecycleLine(e.Data))
	}
	if t.shown++; err == nil && t.shown == t.count {
		return errEnough
	}
	return err
}

// maxSeen is the number of shown events that are remembered: repeated events are among the last ones.
const maxSeen = 20_000

// seenEvents are the last shown events, by the part after the time in their ids.
type seenEvents struct {
	known map[string]bool
	order []string
}

// add reports whether the event was not shown before.
func (s *seenEvents) add(id string) bool {
	_, id, _ = strings.Cut(id, "-")
	if s.known[id] {
		return false
	}
	if s.known == nil {
		s.known = map[string]bool{}
	}
	if len(s.order) == maxSeen {
		delete(s.known, s.order[0])
		s.order = s.order[1:]
	}
	s.known[id], s.order = true, append(s.order, id)
	return true
}
