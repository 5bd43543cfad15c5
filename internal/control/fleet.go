package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/filter"
	"github.com/swrun/swrun/runtime/store"
)

// The fleet is all runs of a deployment. Those who follow it share one reader of the store, which is there as long as somebody follows.

// FleetPosition is a time of the store: whoever goes on from there gets all events that were stored since, and maybe some again. The zero position
// is now.
type FleetPosition struct{ mark time.Time }

// fleetEventID is the id by which one goes on after an event: a time, and which event it is.
func fleetEventID(mark time.Time, i store.Instance, event string) string {
	return fmt.Sprintf("%d-%s/%s", mark.UnixMilli(), i.Namespace, event)
}

// FleetSince returns the position of what was stored since a time.
func FleetSince(at time.Time) FleetPosition { return FleetPosition{at} }

// ID returns what FleetEventAt reads as the position; empty for the zero position.
func (p FleetPosition) ID() string {
	if p.mark.IsZero() {
		return ""
	}
	return strconv.FormatInt(p.mark.UnixMilli(), 10) + "-"
}

// FleetEventAt returns where to go on after the event with an id that FollowFleet has given; the zero position for an empty id.
func FleetEventAt(id string) (FleetPosition, error) {
	if id == "" {
		return FleetPosition{}, nil
	}
	text, _, ok := strings.Cut(id, "-")
	ms, err := strconv.ParseInt(text, 10, 64)
	if !ok || err != nil || ms < 0 {
		return FleetPosition{}, &client.OptionError{Field: "Last-Event-ID", Detail: shorten.Quoted(id) + " is not the id of an event of this stream"}
	}
	return FleetPosition{time.UnixMilli(ms)}, nil
}

// fleet is what its reader has found, for all who follow.
type fleet struct {
	client *client.Client
	store  *swrun.Store

	catchingUp chan struct{} // as many as read all runs at a time

	joining   sync.Mutex // held while somebody joins or leaves
	followers int
	stop      func() // ends the reader, and waits for that

	mu      sync.Mutex
	events  []fleetEvent // the last ones
	bytes   int
	dropped int           // how many were before them
	ready   bool          // from now on no event is missed
	changed chan struct{} // closed when there is something new
}

// fleetEvent is an event with its run as it was then.
type fleetEvent struct {
	run        *filter.Run
	event      FollowedEvent
	unreadable error // why events of the run are left out; nil for an event
}

// The last events that are kept for those who follow.
const (
	maxFleet      = 50_000
	maxFleetBytes = 32 << 20
)

// ErrBehind ends the stream of a follower who has not taken events for so long that they are not kept any more. The store has them.
var ErrBehind = errors.New("the follower is too far behind: it goes on with Last-Event-ID")

// FollowFleet gives a follower the lifecycle events of the runs that are chosen, as they happen, until it returns an error or ctx ends. A run is
// chosen by what it is when its events are read. The events of one run come in order.
func (c *Control) FollowFleet(ctx context.Context, chosen Choice, after FleetPosition, to Follower) error {
	where, err := c.filter(chosen)
	if err != nil {
		return err
	}
	if where.ReadsWaiting() {
		return &client.OptionError{Field: "where", Detail: "events do not say what their runs wait for: leave out waiting, which lists and counts take"}
	}
	where = c.client.ReadAs(where)
	to, beat := to.beating()
	defer beat.ticker.Stop()
	f := c.fleet
	f.join(ctx)
	defer f.leave()
	next, err := f.begin(ctx, to)
	if err != nil {
		return err
	}
	if !after.mark.IsZero() {
		if err := f.catchUp(ctx, where, after, to); err != nil {
			return err
		}
	}
	if to.CaughtUp != nil {
		if err := to.CaughtUp(); err != nil {
			return err
		}
	}
	return f.follow(ctx, where, next, following{to, beat})
}

// following is a follower with its beat.
type following struct {
	Follower
	*beat
}

// follow gives a follower the events of the chosen runs from a number on, until it returns an error, is too far behind, or ctx ends.
func (f *fleet) follow(ctx context.Context, where filter.Filter, next int, to following) error {
	for {
		events, changed, err := f.since(next)
		if err != nil {
			return err
		}
		next += len(events)
		took, err := to.take(where, events)
		switch {
		case err != nil || took:
		case len(events) > 0:
			err = to.ifDue()
		default:
			err = to.pause(ctx, changed)
		}
		if err != nil {
			return err
		}
	}
}

// take gives the follower those of events that are of chosen runs; took is false if there are none.
func (f following) take(where filter.Filter, events []fleetEvent) (took bool, err error) {
	var some []FollowedEvent
	for _, e := range events {
		switch {
		case !where.Matches(e.run):
		case e.unreadable == nil:
			some = append(some, e.event)
		default:
			err = cmp.Or(err, f.tell(e.unreadable))
		}
	}
	if len(some) == 0 || err != nil {
		return false, err
	}
	return true, f.Events(some)
}

// tell has the follower know that events of a run are left out.
func (f Follower) tell(unreadable error) error {
	if f.Unreadable == nil {
		return nil
	}
	return f.Unreadable(unreadable)
}

// join starts the reader for the first who follows.
func (f *fleet) join(ctx context.Context) {
	f.joining.Lock()
	defer f.joining.Unlock()
	if f.followers++; f.followers > 1 {
		return
	}
	f.mu.Lock()
	f.events, f.bytes, f.ready, f.changed = nil, 0, false, make(chan struct{})
	f.mu.Unlock()
	reading, cancel := context.WithCancel(forEveryone(ctx)) // the others go on when the first has left
	var reader sync.WaitGroup
	reader.Go(func() { newFleetReader(f).run(reading) })
	f.stop = func() { cancel(); reader.Wait() }
}

// leave ends the reader with the last who follows.
func (f *fleet) leave() {
	f.joining.Lock()
	defer f.joining.Unlock()
	if f.followers--; f.followers == 0 {
		f.stop()
	}
}

// begin waits until no event is missed any more, says so, and returns the number of the next one.
func (f *fleet) begin(ctx context.Context, to Follower) (next int, err error) {
	for {
		f.mu.Lock()
		ready, changed := f.ready, f.changed
		next = f.dropped + len(f.events)
		f.mu.Unlock()
		if ready {
			return next, to.Begun()
		}
		if err := pause(ctx, changed, to.Idle, to.Every); err != nil {
			return 0, err
		}
	}
}

// waitToCatchUp waits for its turn, which it takes.
func (f *fleet) waitToCatchUp(ctx context.Context, to Follower) error {
	ticker := time.NewTicker(to.Every)
	defer ticker.Stop()
	for {
		select {
		case f.catchingUp <- struct{}{}:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
			if err := to.Idle(); err != nil {
				return err
			}
		}
	}
}

// since returns the events from a number on. Without any, changed tells when there are.
func (f *fleet) since(next int) (events []fleetEvent, changed <-chan struct{}, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if next < f.dropped {
		return nil, nil, ErrBehind
	}
	return f.events[next-f.dropped : len(f.events) : len(f.events)], f.changed, nil
}

// add has those who follow know of new events, and that nothing is missed any more.
func (f *fleet) add(events []fleetEvent) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ready && len(events) == 0 {
		return
	}
	f.ready = true
	for _, e := range events {
		f.bytes += len(e.event.Data)
	}
	f.events = append(f.events, events...)
	if len(f.events) > maxFleet || f.bytes > maxFleetBytes {
		half := len(f.events) / 2
		f.dropped += half
		f.events, f.bytes = slices.Clone(f.events[half:]), 0 // those who have the old ones keep them
		for _, e := range f.events {
			f.bytes += len(e.event.Data)
		}
	}
	close(f.changed)
	f.changed = make(chan struct{})
}

// maxCatchingUp is how many catch up at a time: each reads which runs there are, and after a restart all who follow come back at once.
const maxCatchingUp = 2

// caughtUpAtOnce is how many events a follower gets at a time while it catches up, or more, unless they are large.
const caughtUpAtOnce = 500

// catchUp gives a follower the events of the chosen runs that were stored since a position, as far as the store has them now.
func (f *fleet) catchUp(ctx context.Context, where filter.Filter, after FleetPosition, to Follower) error {
	if err := f.waitToCatchUp(ctx, to); err != nil {
		return err
	}
	defer func() { <-f.catchingUp }()
	var failed error
	var some []FollowedEvent // of several runs, so that whoever takes them can do so at a time
	bytes := 0
	err := f.client.Each(ctx, where, func(r *filter.Run) bool {
		if l := &r.Lifecycle; l.Status.Final() && !l.Closed.IsZero() && l.Closed.Before(after.mark) {
			return true
		}
		var events []FollowedEvent
		if events, failed = f.eventsSince(ctx, r, after.mark); isUnreadable(f.store, failed) {
			failed = to.tell(failed)
		}
		for _, e := range events {
			bytes += len(e.Data)
		}
		if some = append(some, events...); failed == nil && (len(some) >= caughtUpAtOnce || bytes >= maxFollowedBytes) {
			failed, some, bytes = to.Events(some), nil, 0
		}
		return failed == nil
	})
	if err = cmp.Or(err, failed); err == nil && len(some) > 0 {
		err = to.Events(some)
	}
	return err
}
