package schedule

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// group is events that wait for others, to start a run together.
type group struct {
	Events []interpreter.Value `json:"e"`
	Keys   []string            `json:"k"` // of the events
	Bytes  int                 `json:"b"` // of the events
	At     time.Time           `json:"a"` // when the last of them came
}

// maxWaiting is the maximum number of bytes of waiting events when another group begins. The rest of the entry is reserved for events that
// complete groups.
const maxWaiting = store.MaxRegistryValue / 2

// waitsFor is how long events wait after the last event of their group, so that incomplete groups cannot fill the store.
const waitsFor = 90 * 24 * time.Hour

// errTooMany reports that too many events wait for others.
var errTooMany = errors.New("too many events wait for others: it is lost to the schedule")

// pending are the events of a schedule that wait for others.
type pending struct {
	Since  time.Time `json:"b,omitzero"`  // when it began that Groups belong together as they do
	Groups []group   `json:"g,omitempty"` // the first one takes an event first
	// Start are groups that are complete, and whose runs may not have been started yet.
	Start []group `json:"s,omitempty"`
	// Taken are events of runs that were started, until it is known that they are not published again.
	Taken []taken `json:"t,omitempty"`
}

type taken struct {
	Key string    `json:"k"`
	At  time.Time `json:"a"`
}

func (p *pending) isEmpty() bool { return len(p.Groups)+len(p.Start)+len(p.Taken) == 0 }

// lasts returns how long it is kept: a run to be started is kept forever.
func (p *pending) lasts() time.Duration {
	switch {
	case len(p.Start) > 0:
		return 0
	case len(p.Groups) > 0:
		return waitsFor
	}
	return store.Remembered
}

// has reports whether an event was taken before.
func (p *pending) has(key string) bool {
	in := func(g group) bool { return slices.Contains(g.Keys, key) }
	return slices.ContainsFunc(p.Groups, in) || slices.ContainsFunc(p.Start, in) || slices.ContainsFunc(p.Taken, func(t taken) bool { return t.Key == key })
}

// take has an event join the first group that it fits, or begin one.
func (p *pending) take(t *trigger, e Event, now time.Time) error {
	waiting := 0
	for n := range p.Groups {
		g := &p.Groups[n]
		s := g.replay(t, now)
		if t.take(s, e.Attributes, now) {
			p.join(n, s, e, now)
			return nil
		}
		waiting += g.Bytes
	}
	s := t.listening(now)
	if !t.take(s, e.Attributes, now) {
		return nil
	}
	if waiting > maxWaiting {
		return errTooMany
	}
	p.Groups = append(p.Groups, group{})
	p.join(len(p.Groups)-1, s, e, now)
	return nil
}

func (p *pending) join(n int, s *interpreter.State, e Event, now time.Time) {
	g, key, event := &p.Groups[n], e.Key, e.Attributes
	g.Bytes += expr.EncodedSize(event, store.MaxRegistryValue)
	g.Events, g.Keys, g.At = append(g.Events, interpreter.Value{V: event}), append(g.Keys, key), now
	if s.Status.Final() {
		p.Start = append(p.Start, *g)
		p.Groups = slices.Delete(p.Groups, n, n+1)
	}
}

// maxTaken is how many events that have started a run are remembered, at least for as long as they can be published again.
const maxTaken = 1000

// gathering specifies the events that start runs together.
type gathering struct {
	since time.Time // no event counts that came before
	plan  *plan
	now   time.Time
	cause *store.Instance // of the event; nil if no run has led to it
}

// begin forgets the events that wait since an earlier schedule, or for too long.
func (p *pending) begin(since, now time.Time) {
	if !p.Since.Equal(since) {
		p.Since, p.Groups = since, nil
	}
	p.Groups = slices.DeleteFunc(p.Groups, func(g group) bool { return now.Sub(g.At) >= waitsFor })
}

// gather adds an event that was taken, with the resulting state, to its group, and starts the runs of groups that are now complete.
func (s *Schedules) gather(ctx context.Context, gathered gathering, e Event, state *interpreter.State) (heard Heard, err error) {
	p, now := gathered.plan, gathered.now
	entry := store.RegistryEntry[pending]{Kind: store.RegistryGathered, Key: p.workflow.Namespace + "/" + p.workflow.Name + "#" + p.trigger.part(state), For: (*pending).lasts}
	waiting, err := entry.Change(ctx, s.Store, func(x *pending) error {
		x.begin(gathered.since, now)
		if x.has(e.Key) {
			return nil
		}
		return x.take(p.trigger, e, now)
	}, (*pending).isEmpty)
	if errors.Is(err, errTooMany) || store.RefusedAs(err) == store.Limit { // that is no reason to refuse the event: others may take it
		return p.refuse(err.Error()), s.failed(ctx, p, Failure{eventsID(p.workflow.Name, []string{e.Key}), now, now, err.Error()})
	}
	if err != nil {
		return heard, err
	}
	heard.Waits = slices.ContainsFunc(waiting.Groups, func(g group) bool { return slices.Contains(g.Keys, e.Key) })
	if len(waiting.Start) == 0 {
		return heard, nil
	}
	for _, g := range waiting.Start {
		one, err := s.begin(ctx, gathered, g.replay(p.trigger, now), g.Keys)
		if err != nil {
			return heard, err
		}
		heard.add(one)
	}
	_, err = entry.Change(ctx, s.Store, func(x *pending) error { x.started(waiting.Start, now); return nil }, (*pending).isEmpty)
	return heard, err
}

// part returns which part of the pending events those belong to that the first one of a group was taken with.
func (t *trigger) part(s *interpreter.State) string {
	open := s.EventFilters()
	if !t.divided || len(open) == 0 || slices.ContainsFunc(open, func(f interpreter.EventFilter) bool { return f.Key != open[0].Key }) {
		return ""
	}
	return open[0].Key
}

// replay returns the state of the listener after the events of a group.
func (g *group) replay(t *trigger, now time.Time) *interpreter.State {
	s := t.listening(now)
	for _, e := range g.Events {
		event, _ := e.V.(map[string]any)
		t.take(s, event, now)
	}
	return s
}

// started forgets groups whose runs were started, and remembers their events for as long as they can be published again.
func (p *pending) started(all []group, now time.Time) {
	for _, g := range all {
		i := slices.IndexFunc(p.Start, func(s group) bool { return slices.Equal(s.Keys, g.Keys) })
		if i < 0 {
			continue // another process did
		}
		p.Start = slices.Delete(p.Start, i, i+1)
		for _, key := range g.Keys {
			p.Taken = append(p.Taken, taken{key, now})
		}
	}
	p.Taken = slices.DeleteFunc(p.Taken, func(t taken) bool { return now.Sub(t.At) > store.Remembered })
	if over := len(p.Taken) - maxTaken; over > 0 {
		p.Taken = slices.Delete(p.Taken, 0, over)
	}
}
