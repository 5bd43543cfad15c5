package control

import (
	"context"
	"strings"
	"time"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/sinks"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// FollowAsSink passes the events of all runs to a sink.
func (c *Control) FollowAsSink(ctx context.Context, want sinks.Following) error {
	from, err := FleetEventAt(want.From)
	if err != nil {
		return err
	}
	var types EventTypes
	if want.AllTypes {
		types = AllEventTypes()
	}
	return c.FollowFleet(ctx, Choice{Namespaces: want.Namespaces}, from, Follower{
		Types: types, Every: time.Second, CaughtUp: want.CaughtUp,
		Idle: func() error { return nil }, Begun: func() error { return nil },
		Events: func(all []FollowedEvent) error {
			var events []sinks.Event
			for _, e := range all {
				position, _, _ := strings.Cut(e.ID, "-")
				events = append(events, sinks.Event{Position: position + "-", ID: e.EventID(), Run: e.Run(), Name: e.Name, Emitted: e.IsEmitted(), At: e.At, Data: e.Data})
			}
			return want.Take(events)
		},
	})
}

// SinkEvent returns an event of a run, by its EventID, in the form for sinks.
func (c *Control) SinkEvent(ctx context.Context, run, id string) (sinks.Event, error) {
	namespace, name, _ := strings.Cut(run, "/")
	i := store.Instance{Namespace: namespace, ID: name}
	at, err := EventAt(i, id)
	if err != nil {
		return sinks.Event{}, err
	}
	about, err := c.followers.about(ctx, i)
	if err != nil {
		return sinks.Event{}, err
	}
	var found *FollowedEvent
	_, err = c.client.History(ctx, i, 0, func(e client.HistoryEntry) error {
		for _, event := range eventsOf(about, e) {
			if event.at == at {
				found = &event
				return errEnough
			}
		}
		return nil
	})
	switch {
	case found != nil:
		return sinks.Event{ID: id, Run: run, Name: found.Name, Emitted: found.IsEmitted(), At: found.At, Data: found.Data}, nil
	case err != nil:
		return sinks.Event{}, err
	}
	return sinks.Event{}, store.Refuse(store.NoSuch, time.Time{}, "event %s of the run %s", id, run)
}

// Sinks returns the sinks of events that the store knows, with their dead letters.
func (c *Control) Sinks(ctx context.Context, _ *api.None) ([]api.Sink, error) {
	known, err := sinks.All(ctx, c.store)
	if err != nil {
		return nil, err
	}
	all := []api.Sink{}
	for _, k := range known {
		all = append(all, newSink(k))
	}
	return all, nil
}

// RetryDeadLetters orders the server of a sink to send its dead letters again: those with the ids, or all.
func (c *Control) RetryDeadLetters(ctx context.Context, in *api.SinkCommand) (api.Sink, error) {
	return c.sinkAfter(ctx, in.Name, sinks.Retry(ctx, c.store, in.Name, in.Choice().IDs))
}

// DropDeadLetters deletes the dead letters of a sink: those with the ids, or all.
func (c *Control) DropDeadLetters(ctx context.Context, in *api.SinkCommand) (api.Sink, error) {
	return c.sinkAfter(ctx, in.Name, sinks.Drop(ctx, c.store, in.Name, in.Choice().IDs))
}

func (c *Control) sinkAfter(ctx context.Context, sink string, err error) (api.Sink, error) {
	if err != nil {
		return api.Sink{}, err
	}
	all, err := c.Sinks(ctx, nil)
	if err != nil {
		return api.Sink{}, err
	}
	for _, s := range all {
		if s.Name == sink {
			return s, nil
		}
	}
	return api.Sink{}, store.Refuse(store.NoSuch, time.Time{}, "sink %s", sink)
}

func newSink(k sinks.Known) api.Sink {
	s := api.Sink{Name: k.Name, Kind: k.Kind, Active: k.Active, DeadLetters: []api.DeadLetter{}}
	for _, l := range k.DeadLetters {
		s.DeadLetters = append(s.DeadLetters, api.DeadLetter{ID: l.ID, Run: l.Run, Type: l.Type, At: api.Time(l.At), Error: l.Why, Retry: l.Again})
	}
	return s
}
