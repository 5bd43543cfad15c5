package schedule

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/memstore"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/storetest"
	"github.com/swrun/swrun/tasks"
)

// deployment has schedules on a store in memory, and their started runs.
type deployment struct {
	*testing.T
	store   store.Store
	clock   *storetest.Clock
	mu      sync.Mutex        // guards the following fields, and the writes that processes have left
	started map[string]string // the inputs of the runs by their ids
	again   int               // starts of runs that were there
	starts  int
}

func newDeployment(t *testing.T) *deployment {
	clock := &storetest.Clock{At: time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)}
	return &deployment{T: t, clock: clock, started: map[string]string{}, store: memstore.New(memstore.Config{Now: clock.Now})}
}

// process returns the schedules of a process that can write so often before it is lost; a start is a write too.
func (d *deployment) process(writes int) *Schedules {
	left := &writes
	s := New(Config{Store: &mortal{d.store, &d.mu, left}, Now: d.clock.Now, Log: slog.New(slog.DiscardHandler), Compile: compile, Start: func(_ context.Context, f Firing, input any) (string, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.starts++
		if !spend(left) {
			return "", errLost
		}
		text := fmt.Sprint(input)
		if before, is := d.started[f.ID]; is {
			d.again++
			if before != text {
				d.Errorf("%s is started with %s, and then with %s", f.ID, before, text)
			}
		}
		d.started[f.ID] = text
		return f.ID, nil
	}})
	return s
}

func compile(d definition.Definition) (*interpreter.Program, error) {
	w, found := dsl.Parse(d.Name(), []byte(d.Document))
	if err := found.Err(); err != nil {
		return nil, err
	}
	p, found := interpreter.Compile(w, interpreter.Config{Kinds: tasks.All(tasks.Config{})})
	return p, found.Err()
}

// mortal is a store that fails permanently after a number of writes.
type mortal struct {
	store.Store
	mu   *sync.Mutex
	left *int
}

var errLost = errors.New("the process is lost")

func spend(left *int) bool { *left--; return *left >= 0 }

func (m *mortal) Register(ctx context.Context, r store.Registration) (store.Registered, error) {
	m.mu.Lock()
	goesOn := spend(m.left)
	m.mu.Unlock()
	if !goesOn {
		return store.Registered{}, errLost
	}
	return m.Store.Register(ctx, r)
}

const immortal = 1_000_000

// TestInterruptedFirings: a process may be lost at each of its writes and starts. The next process starts the missing runs, and nothing
// else.
func TestInterruptedFirings(t *testing.T) {
	for writes := 0; ; writes++ {
		d := newDeployment(t)
		deploy(t, d, "tick", "{every: PT1H, after: PT2H}")
		first, second := &watch{Schedules: d.process(writes)}, &watch{Schedules: d.process(immortal)}
		for range 4 {
			_ = first.look(t.Context()) // it may be lost
			d.clock.Advance(time.Hour)
		}
		lost := first.look(t.Context()) != nil
		for range 3 {
			d.clock.Advance(2 * startedWithin)
			if err := second.look(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		x, err := second.Of(t.Context(), "demo", "tick")
		if err != nil || len(x.Pending) > 0 || len(x.Failures) > 0 {
			t.Fatalf("lost after %d writes: %+v, %v", writes, x, err)
		}
		ids := slices.Sorted(maps.Keys(d.started))
		if last := ids[len(ids)-1]; len(ids)+x.Missed < 4 || last != "tick-every-20260504T140000Z" {
			t.Errorf("lost after %d writes: started %v, missed %d", writes, ids, x.Missed)
		}
		if !lost {
			if d.again > 0 {
				t.Errorf("%d starts are repeated though nothing was lost", d.again)
			}
			return
		}
	}
}

// TestInterruptedDeployments: a deploying process may be lost at each write. If the deployment is repeated, processes that publish events
// know the schedule immediately, otherwise within a minute.
func TestInterruptedDeployments(t *testing.T) {
	for writes := 0; ; writes++ {
		d := newDeployment(t)
		deploy(t, d, "early", "{on: {one: {with: {type: early}}}}")
		made := definition.Definition{Document: "document: {dsl: 1.0.3, namespace: demo, name: late, version: 1.0.0}\nschedule: {on: {one: {with: {type: late}}}}\ndo: [{a: {set: {n: 1}}}]\n"}
		if _, err := definition.Deploy(t.Context(), d.store, made); err != nil {
			t.Fatal(err)
		}
		publisher := d.process(immortal)
		publish := func(key string) int {
			t.Helper()
			heard, err := publisher.Publish(t.Context(), Event{Key: key, Attributes: map[string]any{"specversion": "1.0", "id": key, "source": "/s", "type": "late"}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			return len(heard.Runs)
		}
		publish("before") // it knows the schedules
		lost := d.process(writes).Deployed(t.Context(), made) != nil
		if err := d.process(immortal).Deployed(t.Context(), made); err != nil {
			t.Fatal(err)
		}
		if n := publish("after"); n != 1 {
			t.Errorf("lost after %d writes, and deployed again: an event starts %d runs", writes, n)
		}
		if !lost {
			return
		}
	}
}

// TestSchedulesAreReadAgain: a publishing process finds a schedule whose process was lost before it notified the others.
func TestSchedulesAreReadAgain(t *testing.T) {
	d := newDeployment(t)
	deploy(t, d, "early", "{on: {one: {with: {type: early}}}}")
	publisher, event := d.process(immortal), map[string]any{"specversion": "1.0", "id": "1", "source": "/s", "type": "late"}
	if _, err := publisher.Publish(t.Context(), Event{Key: "1", Attributes: event}, nil); err != nil {
		t.Fatal(err)
	}
	made := definition.Definition{Document: "document: {dsl: 1.0.3, namespace: demo, name: late, version: 1.0.0}\nschedule: {on: {one: {with: {type: late}}}}\ndo: [{a: {set: {n: 1}}}]\n"}
	if _, err := definition.Deploy(t.Context(), d.store, made); err != nil {
		t.Fatal(err)
	}
	if err := d.process(1).Deployed(t.Context(), made); err == nil {
		t.Fatal("who deploys is not lost")
	}
	d.clock.Advance(listEvery)
	if heard, err := publisher.Publish(t.Context(), Event{Key: "2", Attributes: event}, nil); err != nil || len(heard.Runs) != 1 {
		t.Errorf("after a while, an event starts %v, %v", heard, err)
	}
}

// TestDamagedSchedules: a damaged schedule or document does not prevent other schedules from starting runs.
func TestDamagedSchedules(t *testing.T) {
	for name, damage := range map[string]store.Registration{
		"an entry":   {Kind: store.RegistrySchedules, Key: "demo/bad", Value: []byte(`[]`)},
		"a document": {Kind: store.RegistrySchedules, Key: "demo/bad", Value: []byte(`{"w": "demo/bad:1.0.0", "d": "none", "e": true, "t": [{"k": "every", "t": "PT1H", "b": "2026-05-04T09:00:00Z", "n": "2026-05-04T10:00:00Z"}]}`)},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDeployment(t)
			for n := range 2 * atOnce {
				deploy(t, d, fmt.Sprintf("good%d", n), "{every: PT1H, on: {one: {with: {type: t}}}}")
			}
			damage.Version = store.AnyVersion
			if _, err := d.store.Register(t.Context(), damage); err != nil {
				t.Fatal(err)
			}
			w := &watch{Schedules: d.process(immortal)}
			_ = w.look(t.Context()) // it reports the error
			d.clock.Advance(time.Hour)
			_ = w.look(t.Context())
			if len(d.started) != 2*atOnce {
				t.Errorf("%d runs have started in time", len(d.started))
			}
			heard, err := w.Publish(t.Context(), Event{Key: "1", Attributes: map[string]any{"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}}, nil)
			if len(heard.Runs) != 2*atOnce || err != nil {
				t.Errorf("an event starts %d runs, %v", len(heard.Runs), err)
			}
		})
	}
}

// TestInterruptedEvents: a publishing process may be lost at each write and start. If the event is published again, it counts once.
func TestInterruptedEvents(t *testing.T) {
	event := func(key, kind string, data any) Event {
		return Event{Key: key, Attributes: map[string]any{"specversion": "1.0", "id": key, "source": "/s", "type": kind, "data": data}}
	}
	for writes := 0; ; writes++ {
		d := newDeployment(t)
		deploy(t, d, "pair", "{on: {all: [{with: {type: a}}, {with: {type: b}}]}}")
		lost := false
		mortal, after := d.process(writes), d.process(immortal)
		for n, e := range []Event{event("1", "a", 1), event("2", "b", 2), event("3", "b", 3), event("4", "a", 4)} {
			if _, err := mortal.Publish(t.Context(), e, nil); err != nil {
				lost = true
				if _, err := after.Publish(t.Context(), e, nil); err != nil {
					t.Fatal(n, err)
				}
			}
			if _, err := after.Publish(t.Context(), e, nil); err != nil { // once more
				t.Fatal(n, err)
			}
		}
		if inputs := slices.Sorted(maps.Values(d.started)); strings.Join(inputs, " ") != "[1 2] [3 4]" {
			t.Errorf("lost after %d writes: %v", writes, inputs)
		}
		if !lost {
			return
		}
	}
}

// TestTooManyPendingEvents: events that wait for others in vain are eventually lost to their schedule, and the schedule reports this. They
// are not refused.
func TestTooManyPendingEvents(t *testing.T) {
	d := newDeployment(t)
	deploy(t, d, "pair", "{on: {all: [{with: {type: a}}, {with: {type: b}}]}}")
	s := d.process(immortal)
	publish := func(n int, kind string) {
		t.Helper()
		event := map[string]any{"specversion": "1.0", "id": fmt.Sprint(n), "source": "/s", "type": kind, "data": strings.Repeat("x", 270<<10)}
		if _, err := s.Publish(t.Context(), Event{Key: fmt.Sprint(n), Attributes: event}, nil); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 5 {
		publish(n, "a")
	}
	x, err := s.Of(t.Context(), "demo", "pair")
	if err != nil || len(x.Failures) != 3 || !strings.Contains(x.Failures[0].Error, "too many events wait") {
		t.Errorf("%+v, %v", x.Failures, err)
	}
	publish(10, "b")
	if len(d.started) != 1 {
		t.Errorf("%d runs are started", len(d.started))
	}
}

func deploy(t *testing.T, d *deployment, name, schedule string) {
	t.Helper()
	deployVersion(t, d, name, "1.0.0", schedule)
}

func deployVersion(t *testing.T, d *deployment, name, version, schedule string) {
	t.Helper()
	document := fmt.Sprintf("document: {dsl: 1.0.3, namespace: demo, name: %s, version: %s}\nschedule: %s\ndo: [{a: {set: {n: 1}}}]\n", name, version, schedule)
	made := definition.Definition{Document: document}
	if _, err := definition.Deploy(t.Context(), d.store, made); err != nil {
		t.Fatal(err)
	}
	if err := d.process(immortal).Deployed(t.Context(), made); err != nil {
		t.Fatal(err)
	}
}
