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

// EventPosition is where an event stands among those of its run.
type EventPosition struct {
	seq    int // of the record of history that it is about
	number int // among the events of that record
}

func (p EventPosition) after(other EventPosition) bool {
	return p.seq > other.seq || p.seq == other.seq && p.number > other.number
}

// FollowedEvent is a lifecycle event of a run, or one that the run emits.
type FollowedEvent struct {
	ID   string    // by which one goes on after it; for those who follow one run that of the CloudEvent, if it is a lifecycle event
	Name string    // of its type, such as task.faulted
	Data []byte    // the CloudEvent as JSON
	At   time.Time // when it happened
	at   EventPosition
}

// EventID returns which event of its run it is, where the ID of the fleet has a time and the namespace before it.
func (e *FollowedEvent) EventID() string { return e.ID[strings.LastIndexByte(e.ID, '/')+1:] }

// IsEmitted reports whether the run emits the event, which tells nothing of its lifecycle then.
func (e *FollowedEvent) IsEmitted() bool { return strings.HasSuffix(e.ID, progress.PlaceEmitted) }

// Run returns the run of an event of the fleet, as namespace/id.
func (e *FollowedEvent) Run() string {
	_, name, _ := strings.Cut(e.ID, "-")
	return name[:max(0, strings.LastIndexByte(name, '-'))]
}

// followers have one reader of the store for each run that is followed, however many follow it.
type followers struct {
	client *client.Client
	store  *swrun.Store

	mu    sync.Mutex
	feeds map[store.Instance]*feed
}

// retryFollowing is how long a reader waits before it asks a store again that has failed, or for a run that does not go on.
const retryFollowing = time.Second

// EventAt returns where the event with an id stands among those of a run; the zero position for an empty id.
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

// FollowedToEnd reports whether a run has ended, and nothing of it comes after a position.
func (c *Control) FollowedToEnd(ctx context.Context, i store.Instance, at EventPosition) (bool, error) {
	l, err := c.store.Load(ctx, i)
	if err != nil {
		return false, err
	}
	return l.Lifecycle.Status.Final() && int64(at.seq) >= l.Lifecycle.Records, nil
}

// CheckFollowed returns an error if the events of a run that are stored now cannot be read. Who follows the run before ctx ends reads nothing again.
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
	Idle   func() error // it is called at intervals while there are none
	Begun  func() error // it is called by FollowFleet once nothing is missed any more
	// CaughtUp is called by FollowFleet, unless it is nil, once the follower has all events from its position on that were stored when FollowFleet was called.
	CaughtUp func() error
	// Unreadable is called by FollowFleet, unless it is nil, once for each time that events of a run are left out since they cannot be read.
	Unreadable func(error) error
	Every      time.Duration
	Types      EventTypes // of the events that it takes
}

// The comments of a stream of events that are no reason why events are left out.
const (
	IdleComment  = "nothing has happened"
	BegunComment = "nothing is missed from here on"
)

// EventTypes choose lifecycle events by their types; none at all are all but the changes of states.
type EventTypes = progress.Types

// AllEventTypes are all types, also the changes of states.
func AllEventTypes() EventTypes { return progress.AllTypes() }

// ParseEventTypes reads types with commas between them, such as workflow,task.faulted.
func ParseEventTypes(text string) (EventTypes, error) { return progress.ParseTypes(text) }

// choosing returns the follower with events of its types alone.
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

// Follow gives a follower the lifecycle events of a run that come after a position, as they happen, until the run has ended, the follower
// returns an error, or ctx ends.
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

// beat has a follower hear that nothing has happened, if it has taken nothing for a while: also while there are events that are not for it.
type beat struct {
	ticker *time.Ticker
	idle   func() error
}

// beating returns the follower with events of its types alone, and its beat.
func (f Follower) beating() (Follower, *beat) {
	b, take := &beat{time.NewTicker(f.Every), f.Idle}, f.Events
	f.Events = func(all []FollowedEvent) error {
		b.ticker.Reset(f.Every)
		return take(all)
	}
	return f.choosing(), b
}

// ifDue calls Idle if its time has come.
func (b *beat) ifDue() error {
	select {
	case <-b.ticker.C:
		return b.idle()
	default:
		return nil
	}
}

// pause returns when something has changed.
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

// pause returns when something has changed.
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

// join returns the feed of a run, and starts its reader for the first who follows it.
func (s *followers) join(ctx context.Context, i store.Instance) *feed {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.feeds[i]
	if f == nil {
		f = &feed{changed: make(chan struct{})}
		reading, cancel := context.WithCancel(forEveryone(ctx)) // the others go on when the first has left
		var reader sync.WaitGroup
		reader.Go(func() { s.read(reading, i, f) })
		f.stop = func() { cancel(); reader.Wait() }
		s.feeds[i] = f
	}
	f.followers++
	return f
}

// leave ends the reader with the last who follows the run.
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

// read fills a feed until the run has ended, is deleted, or is found to be damaged.
func (s *followers) read(ctx context.Context, i store.Instance, f *feed) {
	about, err := s.about(ctx, i)
	next := 0
	take := func(e client.HistoryEntry) error {
		next++
		f.add(eventsOf(about, e))
		return nil
	}
	if err == nil {
		_, err = s.client.History(ctx, i, 0, take) // a run that is quarantined has a history too
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

// again waits, and returns nil, if it makes sense to go on after an error: the run is quarantined, or the store does not answer, and neither is the end.
func (s *followers) again(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil || store.RefusedAs(err) == store.NoSuch || isUnreadable(s.store, err) {
		return err
	}
	if err = pause(ctx, nil, func() error { return errAgain }, retryFollowing); errors.Is(err, errAgain) {
		return nil
	}
	return err
}

// IsUnreadable reports whether an error says that something stored is damaged: to ask again does not help before somebody has put it back.
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

// about returns what the events of a run say of it.
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

// catchUp yields what the feed does not keep any more, from the store, as far as it goes.
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

// eventsOf returns the events that an entry of history tells of.
func eventsOf(about progress.Run, e client.HistoryEntry) (all []FollowedEvent) {
	for _, r := range e.Events {
		for _, event := range progress.Lifecycle(about, r) {
			data, err := expr.Encode(event.Event)
			if err != nil {
				continue // an error's extensions are the only part that could not be written, and api.Error has cleaned them
			}
			all = append(all, FollowedEvent{ID: event.ID, Name: event.Name, Data: data, At: r.At, at: EventPosition{r.Seq, event.Place}})
		}
	}
	return all
}
