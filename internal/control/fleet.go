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

// The fleet is all runs of a deployment. Its followers share one reader of the store, which runs while there are followers.

// FleetPosition is a time of the store. A follower that continues from there gets all events that were stored since, and maybe some twice. The zero
// position means now.
type FleetPosition struct{ mark time.Time }

// fleetEventID returns the id for continuing after an event: a time, and the name of the event.
func fleetEventID(mark time.Time, i store.Instance, event string) string {
	return fmt.Sprintf("%d-%s/%s", mark.UnixMilli(), i.Namespace, event)
}

// FleetSince returns the position of the events that were stored since a time.
func FleetSince(at time.Time) FleetPosition { return FleetPosition{at} }

// ID returns the text that FleetEventAt parses as the position; empty for the zero position.
func (p FleetPosition) ID() string {
	if p.mark.IsZero() {
		return ""
	}
	return strconv.FormatInt(p.mark.UnixMilli(), 10) + "-"
}

// FleetEventAt returns the position after the event with an id of FollowFleet; the zero position for an empty id.
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

// fleet contains the events that its reader has found, for all followers.
type fleet struct {
	client *client.Client
	store  *swrun.Store

	catchingUp chan struct{} // limits the number of concurrent reads of all runs

	joining   sync.Mutex // held while a follower joins or leaves
	followers int
	stop      func() // ends the reader, and waits for its end

	mu      sync.Mutex
	events  []fleetEvent // the last events
	bytes   int
	dropped int           // number of events before them
	ready   bool          // from now on no event is missed
	changed chan struct{} // closed when something changes
}

// fleetEvent is an event with the state of its run at that time.
type fleetEvent struct {
	run        *filter.Run
	event      FollowedEvent
	unreadable error // reason why events of the run are left out; nil for an event
}

// Limits of the last events that are kept for followers.
const (
	maxFleet      = 50_000
	maxFleetBytes = 32 << 20
)

// ErrBehind ends the stream of a follower that has not taken events for so long that they were dropped. The store still contains them.
var ErrBehind = errors.New("the follower is too far behind: it goes on with Last-Event-ID")

// FollowFleet passes the lifecycle events of the selected runs to a follower, as they happen, until it returns an error or ctx ends. A run is
// selected by its state at the time when its events are read. The events of one run come in order.
func (c *Control) FollowFleet(ctx context.Context, chosen Choice, after FleetPosition, to Follower) error {
	where, err := c.filter(chosen)
	if err != nil {
		return err
	}
	if where.ReadsWaiting() {
		return &client.OptionError{Field: "where", Detail: "events do not contain the waits of their runs: omit waiting, which only lists and counts support"}
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

// follow passes the events of the selected runs to a follower, from a number on, until it returns an error, is too far behind, or ctx ends.
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

// take passes the events of selected runs to the follower; took is false without such events.
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

// tell informs the follower that events of a run are left out.
func (f Follower) tell(unreadable error) error {
	if f.Unreadable == nil {
		return nil
	}
	return f.Unreadable(unreadable)
}

// join starts the reader for the first follower.
func (f *fleet) join(ctx context.Context) {
	f.joining.Lock()
	defer f.joining.Unlock()
	if f.followers++; f.followers > 1 {
		return
	}
	f.mu.Lock()
	f.events, f.bytes, f.ready, f.changed = nil, 0, false, make(chan struct{})
	f.mu.Unlock()
	reading, cancel := context.WithCancel(forEveryone(ctx)) // the other followers continue when the first has left
	var reader sync.WaitGroup
	reader.Go(func() { newFleetReader(f).run(reading) })
	f.stop = func() { cancel(); reader.Wait() }
}

// leave stops the reader for the last follower.
func (f *fleet) leave() {
	f.joining.Lock()
	defer f.joining.Unlock()
	if f.followers--; f.followers == 0 {
		f.stop()
	}
}

// begin waits until no event is missed, reports that, and returns the number of the next event.
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

// waitToCatchUp waits for its turn, and takes it.
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

// since returns the events from a number on. Without any, changed signals new ones.
func (f *fleet) since(next int) (events []fleetEvent, changed <-chan struct{}, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if next < f.dropped {
		return nil, nil, ErrBehind
	}
	return f.events[next-f.dropped : len(f.events) : len(f.events)], f.changed, nil
}

// add notifies the followers of new events, and of the fact that no event is missed from now on.
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
		f.events, f.bytes = slices.Clone(f.events[half:]), 0 // followers that hold the old slice keep it
		for _, e := range f.events {
			f.bytes += len(e.event.Data)
		}
	}
	close(f.changed)
	f.changed = make(chan struct{})
}

// maxCatchingUp is the maximum number of followers that catch up concurrently. Each of them lists all runs, and after a restart all followers return
// together.
const maxCatchingUp = 2

// caughtUpAtOnce is the minimum number of events that a follower gets together while it catches up, unless they are large.
const caughtUpAtOnce = 500

// catchUp passes the events of the selected runs that were stored since a position to a follower, up to the current end of the store.
func (f *fleet) catchUp(ctx context.Context, where filter.Filter, after FleetPosition, to Follower) error {
	if err := f.waitToCatchUp(ctx, to); err != nil {
		return err
	}
	defer func() { <-f.catchingUp }()
	var failed error
	var some []FollowedEvent // of several runs, so that the follower can handle them together
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
