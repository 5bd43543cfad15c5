package schedule

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/boltstore"
	"github.com/swrun/swrun/memstore"
	"github.com/swrun/swrun/redisstore"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/storetest"
)

// storesUnderTest returns every kind of store, each empty.
func storesUnderTest() map[string]func(*testing.T) storetest.Opened {
	began := time.UnixMilli(1_700_000_000_000)
	return map[string]func(*testing.T) storetest.Opened{
		"memory": func(*testing.T) storetest.Opened {
			clock := &storetest.Clock{At: began}
			return storetest.Opened{Store: memstore.New(memstore.Config{Partitions: 4, Now: clock.Now}), Advance: clock.Advance}
		},
		"file": func(t *testing.T) storetest.Opened {
			clock := &storetest.Clock{At: began}
			s, err := boltstore.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"), boltstore.Config{Now: clock.Now})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() }) // the file goes anyway
			return storetest.Opened{Store: s, Advance: clock.Advance}
		},
		"Redis": func(t *testing.T) storetest.Opened {
			server := redistest.Start(t, "--appendonly", "yes")
			return inRedis(t, server.URL(), redis.NewClient(&redis.Options{Addr: server.Addr}))
		},
		"Cluster": func(t *testing.T) storetest.Opened {
			url := redistest.Cluster(t, 3)
			o, err := redis.ParseClusterURL(strings.Replace(url, "redis+cluster", "redis", 1))
			if err != nil {
				t.Fatal(err)
			}
			return inRedis(t, url, redis.NewClusterClient(o))
		},
	}
}

// inRedis returns a store in Redis, whose time moves by the offsets of its partitions.
func inRedis(t *testing.T, url string, client redis.UniversalClient) storetest.Opened {
	t.Helper()
	t.Cleanup(func() { client.Close() }) // the server is gone then
	s, err := redisstore.Open(t.Context(), url, redisstore.Config{Deployment: "D", Partitions: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() }) // the same
	return storetest.Opened{Store: s, Advance: func(d time.Duration) {
		for p := range 4 {
			redistest.EditTime(t, client, fmt.Sprintf("swrun:{D:%d}:time", p), func(m *redistest.Time) {
				m.Offset += d.Milliseconds()
				m.Written = time.Now().UnixMilli() + m.Offset
			})
		}
	}}
}

// fleet is several processes that look after the schedules of one store at the same time.
type fleet struct {
	*testing.T
	storetest.Opened
	all []*watch

	mu      sync.Mutex
	started map[string]int // how often each run was started, by its version and id
	inputs  map[string]any // of the runs
}

func newFleet(t *testing.T, s storetest.Opened) *fleet {
	f := &fleet{T: t, Opened: s, started: map[string]int{}, inputs: map[string]any{}}
	for range 4 {
		f.all = append(f.all, &watch{Schedules: New(Config{Store: s.Store, Now: func() time.Time { return time.Time{} }, Log: slog.New(slog.DiscardHandler), Compile: compile, Start: f.start})})
	}
	return f
}

func (f *fleet) start(_ context.Context, x Firing, input any) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.inputs[x.ID] = input
	f.started[x.Of.Version+" "+x.ID]++
	return x.ID, nil
}

// deploy deploys a version of a workflow with a schedule.
func (f *fleet) deploy(version, schedule string) {
	f.Helper()
	d := definition.Definition{Document: fmt.Sprintf("document: {dsl: 1.0.3, namespace: demo, name: tick, version: %s, metadata: {swrun: {schedule: {missed: all}}}}\nschedule: {%s}\ndo: [{a: {set: {n: 1}}}]\n", version, schedule)}
	if _, err := definition.Deploy(f.Context(), f.Store, d); err != nil {
		f.Fatal(err)
	}
	if err := f.all[0].Deployed(f.Context(), d); err != nil {
		f.Fatal(err)
	}
}

// pass lets time pass, and then lets all processes look concurrently. It returns the started runs, each with the number of attempts if
// there was more than one.
func (f *fleet) pass(d time.Duration) string {
	f.Helper()
	f.Advance(d)
	clear(f.started)
	var looking sync.WaitGroup
	for _, w := range f.all {
		looking.Go(func() {
			if err := w.look(f.Context()); err != nil {
				f.Error(err)
			}
		})
	}
	looking.Wait()
	versions := map[string]int{}
	for id, n := range f.started {
		version, _, _ := strings.Cut(id, " ")
		versions[version]++
		if n > 1 {
			f.Errorf("%s was started %d times", id, n)
		}
	}
	var all []string
	for _, version := range slices.Sorted(maps.Keys(versions)) {
		all = append(all, fmt.Sprintf("%d of %s", versions[version], version))
	}
	return strings.Join(all, ", ")
}

// TestSchedulesOnEveryStore: of several processes on one store one starts the run for a time; a pause, a new version and the end of the workflow are
// noticed by all of them.
func TestSchedulesOnEveryStore(t *testing.T) {
	for name, open := range storesUnderTest() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, open(t))
			f.deploy("1.0.0", "every: PT1H")
			expect := func(d time.Duration, want string) {
				t.Helper()
				if got := f.pass(d); got != want {
					t.Errorf("after %s: started %q, want %q", d, got, want)
				}
			}
			change := func(_ Schedule, err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			expect(59*time.Minute, "")
			expect(10*time.Minute, "1 of 1.0.0")
			expect(time.Minute, "")
			expect(3*time.Hour, "3 of 1.0.0")
			change(f.all[1].Pause(t.Context(), "demo", "tick", "ada", "holidays"))
			expect(3*time.Hour, "")
			change(f.all[2].Resume(t.Context(), "demo", "tick"))
			expect(time.Minute, "")
			expect(time.Hour, "1 of 1.0.0")
			change(f.all[3].Trigger(t.Context(), "demo", "tick", "by-hand", map[string]any{}))
			expect(time.Minute, "")
			f.deploy("1.1.0", "every: PT1H")
			expect(time.Hour, "1 of 1.1.0")
			f.deploy("1.2.0", "every: PT10M")
			expect(25*time.Minute, "2 of 1.2.0")
			f.undeploy("1.2.0")
			expect(2*time.Hour, "2 of 1.1.0")
			f.undeploy("1.1.0")
			f.undeploy("1.0.0")
			expect(24*time.Hour, "")
			if all, err := f.all[0].All(t.Context()); err != nil || len(all) > 0 {
				t.Errorf("%+v are left, %v", all, err)
			}
		})
	}
}

// undeploy takes a version away.
func (f *fleet) undeploy(version string) {
	f.Helper()
	r := definition.Reference{Namespace: "demo", Name: "tick", Version: version}
	if err := definition.Undeploy(f.Context(), f.Store, r); err != nil {
		f.Fatal(err)
	}
	if err := f.all[1].Follow(f.Context(), "demo", "tick"); err != nil {
		f.Fatal(err)
	}
}

// TestEventsOnEveryStore: several processes publish the same events at the same time, which start runs in pairs. Each event counts once.
func TestEventsOnEveryStore(t *testing.T) {
	for name, open := range storesUnderTest() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, open(t))
			f.deploy("1.0.0", "on: {all: [{with: {type: a}}, {with: {type: b}}]}")
			const pairs = 8
			var publishing sync.WaitGroup
			for _, w := range f.all {
				publishing.Go(func() {
					for n := range 2 * pairs {
						key := fmt.Sprint(n)
						e := Event{Key: key, Attributes: map[string]any{"specversion": "1.0", "id": key, "source": "/s", "type": string("ab"[n%2]), "data": n}}
						if _, err := w.Publish(f.Context(), e, nil); err != nil {
							t.Error(err)
						}
					}
				})
			}
			publishing.Wait()
			counted := map[any]int{}
			for _, input := range f.inputs {
				for _, data := range input.([]any) {
					counted[data]++
				}
			}
			if len(f.inputs) != pairs || len(counted) != 2*pairs {
				t.Errorf("%d runs were started, with %d events: %v", len(f.inputs), len(counted), f.inputs)
			}
		})
	}
}

// TestEventsOfEarlierSchedules: events wait for others as long as the schedule is unchanged, also in a new version. They do not belong to a
// different later schedule.
func TestEventsOfEarlierSchedules(t *testing.T) {
	const on = "on: {all: [{with: {type: a}}, {with: {type: b}}]}"
	for name, c := range map[string]struct {
		next string
		gone bool // between the two
		want int
	}{
		"a new version": {next: on + ", every: PT1H", want: 1}, "another schedule": {next: "on: {all: [{with: {type: b}}, {with: {type: a}}]}"}, "after its end": {next: on, gone: true},
		"without the others": {next: "on: {all: [{with: {type: b}}, {with: {type: c}}]}"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, storesUnderTest()["memory"](t))
			publish := func(kind string) {
				t.Helper()
				e := map[string]any{"specversion": "1.0", "id": kind, "source": "/s", "type": kind}
				if _, err := f.all[2].Publish(t.Context(), Event{Key: kind, Attributes: e}, nil); err != nil {
					t.Fatal(err)
				}
			}
			f.deploy("1.0.0", on)
			publish("a")
			f.Advance(time.Minute)
			if c.gone {
				f.undeploy("1.0.0")
			}
			f.deploy("1.1.0", c.next)
			if publish("b"); len(f.inputs) != c.want {
				t.Errorf("%d runs were started, want %d", len(f.inputs), c.want)
			}
		})
	}
}

// TestEventsThatWaitForOthers: an event waits for others for a limited time; each further event of its group restarts this time.
func TestEventsThatWaitForOthers(t *testing.T) {
	for name, open := range storesUnderTest() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, open(t))
			published := 0
			publish := func(kind string) {
				t.Helper()
				published++
				key := fmt.Sprint(published)
				e := map[string]any{"specversion": "1.0", "id": key, "source": "/s", "type": kind, "data": key}
				if _, err := f.all[0].Publish(t.Context(), Event{Key: key, Attributes: e}, nil); err != nil {
					t.Fatal(err)
				}
			}
			f.deploy("1.0.0", "on: {all: [{with: {type: a}}, {with: {type: b}}, {with: {type: c}}]}")
			publish("a")
			f.Advance(waitsFor - time.Hour)
			publish("b")
			publish("b") // waits for others of its own
			f.Advance(waitsFor - time.Hour)
			publish("c")
			if got := fmt.Sprint(f.inputs); len(f.inputs) != 1 || !strings.Contains(got, "1 2 4") {
				t.Errorf("events within the time have started %s", got)
			}
			publish("a")
			f.Advance(waitsFor)
			publish("b")
			publish("c")
			if len(f.inputs) != 1 {
				t.Errorf("an event that is too old has started a run: %v", f.inputs)
			}
		})
	}
}
