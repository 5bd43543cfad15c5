package control

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/progress"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// EventPosition is the position of an event among the events of its run.
type EventPosition struct {
	seq    int // of its record in the history
	number int // among the events of that record
}

func (p EventPosition) after(other EventPosition) bool {
	return p.seq > other.seq || p.seq == other.seq && p.number > other.number
}

// FollowedEvent is a lifecycle event of a run, or an event that the run emits.
type FollowedEvent struct {
	ID   string    // the id for continuing after it; for followers of one run the id of the CloudEvent, if it is a lifecycle event
	Name string    // of its type, such as task.faulted
	Data []byte    // the CloudEvent as JSON
	At   time.Time // time of the event
	at   EventPosition
}

// EventID returns the id of the event in its run. The ID of the fleet has a time and the namespace before it.
func (e *FollowedEvent) EventID() string { return e.ID[strings.LastIndexByte(e.ID, '/')+1:] }

// IsEmitted reports whether the run emits the event. Such an event is not about the lifecycle of the run.
func (e *FollowedEvent) IsEmitted() bool { return strings.HasSuffix(e.ID, progress.PlaceEmitted) }

// Run returns the run of an event of the fleet, as namespace/id.
func (e *FollowedEvent) Run() string {
	_, name, _ := strings.Cut(e.ID, "-")
	return name[:max(0, strings.LastIndexByte(name, '-'))]
}

// followers have one reader of the store for each followed run, for any number of followers.
type followers struct {
	client *client.Client
	store  *swrun.Store

	mu    sync.Mutex
	feeds map[store.Instance]*feed
}

// retryFollowing is the time before a reader asks a store again after an error, or after a run that makes no progress.
const retryFollowing = time.Second

// EventAt returns the position of the event with an id among the events of a run; the zero position for an empty id.
func EventAt(i store.Instance, id string) (EventPosition, error) {
	if id == "" {
		return EventPosition{}, nil
	}
	text, ok := strings.CutPrefix(id, i.ID+"-")
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz")
	seq, err := strconv.Atoi(digits)
	place, known := progress.PlaceOf(text[len(digits):])
	if !ok || !known || err != nil || seq < 1 {
		return EventPosition{}, &client.OptionError{Field: "Last-Event-ID", Detail: fmt.Sprintf("%s is not the id of an event of %s", shorten.Quoted(id), i)}
	}
	return EventPosition{seq, place}, nil
}

// FollowedToEnd reports whether a run is over and has no events after a position.
func (c *Control) FollowedToEnd(ctx context.Context, i store.Instance, at EventPosition) (bool, error) {
	l, err := c.store.Load(ctx, i)
	if err != nil {
		return false, err
	}
	return l.Lifecycle.Status.Final() && int64(at.seq) >= l.Lifecycle.Records, nil
}

// CheckFollowed returns an error if the currently stored events of a run cannot be read. A follower that starts before ctx ends does not read them
// again.
func (c *Control) CheckFollowed(ctx context.Context, i store.Instance) error {
	f := c.followers.join(ctx, i)
	context.AfterFunc(ctx, func() { c.followers.leave(i, f) })
	for {
		known, changed, err := f.known()
		if known || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Follower takes the events of a run.
type Follower struct {
	Events func([]FollowedEvent) error
	Idle   func() error // called at intervals without events
	Begun  func() error // called by FollowFleet once no event is missed
	// CaughtUp is called by FollowFleet, unless it is nil, once the follower has all events from its position that were stored when FollowFleet was
	// called.
	CaughtUp func() error
	// Unreadable is called by FollowFleet, unless it is nil, each time that events of a run are left out because they cannot be read.
	Unreadable func(error) error
	Every      time.Duration
	Types      EventTypes // of the accepted events
}

// The comments of a stream of events, except for the reasons of omitted events.
const (
	IdleComment  = "nothing has happened"
	BegunComment = "nothing is missed from here on"
)

// EventTypes select lifecycle events by their types; no types select everything except for the changes of states.
type EventTypes = progress.Types

// AllEventTypes selects all types, including the changes of states.
func AllEventTypes() EventTypes { return progress.AllTypes() }

// ParseEventTypes parses types that are separated by commas, such as workflow,task.faulted.
func ParseEventTypes(text string) (EventTypes, error) { return progress.ParseTypes(text) }

// choosing returns the follower limited to the events of its types.
func (f Follower) choosing() Follower {
	take := f.Events
	f.Events = func(all []FollowedEvent) error {
		chosen := slices.DeleteFunc(slices.Clone(all), func(e FollowedEvent) bool { return !f.Types.Has(e.Name) })
		if len(chosen) == 0 {
			return nil
		}
		return take(chosen)
	}
	return f
}

// Follow passes the lifecycle events of a run after a position to a follower, as they happen, until the run is over, the follower returns an error,
// or ctx ends.
func (c *Control) Follow(ctx context.Context, i store.Instance, after EventPosition, to Follower) error {
	to, beat := to.beating()
	defer beat.ticker.Stop()
	f := c.followers.join(ctx, i)
	defer c.followers.leave(i, f)
	for {
		events, gap, changed, ended, err := f.since(after)
		switch {
		case gap:
			if after, err = c.followers.catchUp(ctx, i, after, to.Events); err != nil {
				return err
			}
			continue
		case len(events) > 0:
			if err := to.Events(events); err != nil {
				return err
			}
			after = events[len(events)-1].at
			if err := beat.ifDue(); err != nil {
				return err
			}
			continue
		case ended:
			return err
		}
		if err := beat.pause(ctx, changed); err != nil {
			return err
		}
	}
}

// beat calls Idle of a follower that has taken no event for a while, even if there are events of other types.
type beat struct {
	ticker *time.Ticker
	idle   func() error
}

// beating returns the follower limited to the events of its types, and its beat.
func (f Follower) beating() (Follower, *beat) {
	b, take := &beat{time.NewTicker(f.Every), f.Idle}, f.Events
	f.Events = func(all []FollowedEvent) error {
		b.ticker.Reset(f.Every)
		return take(all)
	}
	return f.choosing(), b
}

// ifDue calls Idle if it is due.
func (b *beat) ifDue() error {
	select {
	case <-b.ticker.C:
		return b.idle()
	default:
		return nil
	}
}

// pause returns when something changes.
func (b *beat) pause(ctx context.Context, changed <-chan struct{}) error {
	for {
		select {
		case <-changed:
			return b.ifDue()
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-b.ticker.C:
			if err := b.idle(); err != nil {
				return err
			}
		}
	}
}

// pause returns when something changes.
func pause(ctx context.Context, changed <-chan struct{}, idle func() error, every time.Duration) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-changed:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
			if err := idle(); err != nil {
				return err
			}
		}
	}
}

// join returns the feed of a run, and starts its reader for the first follower.
func (s *followers) join(ctx context.Context, i store.Instance) *feed {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.feeds[i]
	if f == nil {
		f = &feed{changed: make(chan struct{})}
		reading, cancel := context.WithCancel(forEveryone(ctx)) // the other followers continue when the first has left
		var reader sync.WaitGroup
		reader.Go(func() { s.read(reading, i, f) })
		f.stop = func() { cancel(); reader.Wait() }
		s.feeds[i] = f
	}
	f.followers++
	return f
}

// leave stops the reader for the last follower of the run.
func (s *followers) leave(i store.Instance, f *feed) {
	s.mu.Lock()
	f.followers--
	last := f.followers == 0
	if last {
		delete(s.feeds, i)
	}
	s.mu.Unlock()
	if last {
		f.stop()
	}
}

// read fills a feed until the run is over, is deleted, or turns out to be damaged.
func (s *followers) read(ctx context.Context, i store.Instance, f *feed) {
	about, err := s.about(ctx, i)
	next := 0
	take := func(e client.HistoryEntry) error {
		next++
		f.add(eventsOf(about, e))
		return nil
	}
	if err == nil {
		_, err = s.client.History(ctx, i, 0, take) // a quarantined run has a history too
		err = s.again(ctx, err)
	}
	if err == nil {
		f.readStored()
	}
	for err == nil {
		if err = s.client.Follow(ctx, i, next, take); err == nil {
			break
		}
		err = s.again(ctx, err)
	}
	f.end(err)
}

// again waits and returns nil if the reader should continue after an error: the run is quarantined, or the store does not answer.
func (s *followers) again(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil || store.RefusedAs(err) == store.NoSuch || isUnreadable(s.store, err) {
		return err
	}
	if err = pause(ctx, nil, func() error { return errAgain }, retryFollowing); errors.Is(err, errAgain) {
		return nil
	}
	return err
}

// IsUnreadable reports whether an error means that stored data is damaged. Another attempt does not help before the data is restored.
func (c *Control) IsUnreadable(err error) bool { return isUnreadable(c.store, err) }

// isUnreadable is IsUnreadable for an error of a store.
func isUnreadable(s *swrun.Store, err error) bool {
	if store.IsUnreadable(err) {
		return true
	}
	d, diagnoses := s.Store.(store.Diagnoser)
	if err == nil || !diagnoses {
		return false
	}
	a, _ := d.Diagnose(err)
	return a.Partial
}

var errAgain = errors.New("it is tried again")

// about returns the data of a run for its events.
func (s *followers) about(ctx context.Context, i store.Instance) (progress.Run, error) {
	l, err := s.store.Load(ctx, i)
	if err != nil {
		return progress.Run{}, err
	}
	info, err := execution.InvocationOf(i, l.Invocation)
	if err != nil {
		return progress.Run{}, err
	}
	return aboutRun(i, info), nil
}

func aboutRun(i store.Instance, info *execution.Invocation) progress.Run {
	w := info.Workflow
	return progress.Run{ID: i.ID, Output: api.OutputPath(i), Types: progress.AllTypes(), Workflow: &dsl.Workflow{Document: dsl.Document{Namespace: w.Namespace, Name: w.Name, Version: w.Version}}}
}

// catchUp yields the events that the feed has dropped, from the store, up to its current end.
func (s *followers) catchUp(ctx context.Context, i store.Instance, after EventPosition, yield func([]FollowedEvent) error) (EventPosition, error) {
	about, err := s.about(ctx, i)
	if err != nil {
		return after, err
	}
	_, err = s.client.History(ctx, i, 0, func(e client.HistoryEntry) error {
		events := slices.DeleteFunc(eventsOf(about, e), func(e FollowedEvent) bool { return !e.at.after(after) })
		if len(events) == 0 {
			return nil
		}
		after = events[len(events)-1].at
		return yield(events)
	})
	return after, err
}

// eventsOf returns the events of an entry of the history.
func eventsOf(about progress.Run, e client.HistoryEntry) (all []FollowedEvent) {
	for _, r := range e.Events {
		for _, event := range progress.Lifecycle(about, r) {
			data, err := expr.Encode(event.Event)
			if err != nil {
				continue // only the extensions of an error could be impossible to encode, and api.Error has cleaned them
			}
			all = append(all, FollowedEvent{ID: event.ID, Name: event.Name, Data: data, At: r.At, at: EventPosition{r.Seq, event.Place}})
		}
	}
	return all
}
