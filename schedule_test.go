package swrun_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/filter"
)

// scheduled is a document with a schedule.
func scheduled(name, version, schedule string) *swrun.Document {
	d, _ := swrun.Parse("", []byte(fmt.Sprintf(`
document: {dsl: 1.0.3, namespace: demo, name: %s, version: %s, metadata: {swrun: {schedule: {missed: all}}}}
schedule: %s
do: [{got: {set: '${ {got: .} }'}}]`, name, version, schedule)))
	return d
}

// stores returns a URL of each kind of store.
func stores(t *testing.T) map[string]string {
	return map[string]string{
		"memory": "memory:", "file": "file:" + filepath.Join(t.TempDir(), "store.db"),
		"redis": redistest.Start(t).URL(), "cluster": redistest.Cluster(t, 3),
	}
}

// mustWork returns engines that work on a store until the test ends.
func mustWork(t *testing.T, url string, n int) []*swrun.Engine {
	t.Helper()
	s, err := swrun.OpenStore(t.Context(), url, swrun.StoreConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	var all []*swrun.Engine
	for range n {
		e, err := swrun.NewEngine(s, swrun.EngineConfig{})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
		ctx, stop := context.WithCancel(t.Context())
		worked := make(chan error, 1)
		go func() { worked <- e.Work(ctx) }()
		t.Cleanup(func() {
			stop()
			if err := <-worked; err != nil {
				t.Error(err)
			}
		})
	}
	return all
}

// runsOf returns the ids of the runs of a workflow, and their final outputs.
func runsOf(t *testing.T, e *swrun.Engine, name string) (ids []string, outputs map[string]string) {
	t.Helper()
	outputs = map[string]string{}
	where, err := filter.Parse("workflow=demo/"+name, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	err = e.Client().Each(t.Context(), where, func(r *filter.Run) bool { ids = append(ids, r.Instance.ID); return true })
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		outcome, err := e.Run("demo", id).Await(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		outputs[id] = fmt.Sprint(outcome.Output)
	}
	slices.Sort(ids)
	return ids, outputs
}

// eventually polls until holds returns true.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(pacetest.Patience); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("still not so: " + what)
		}
	}
}

// TestEvery: a deployed workflow starts automatically, once for each time, with any number of workers. A new version moves its schedule, and a
// version without a schedule ends it (semantics 15.3).
func TestEvery(t *testing.T) {
	for name, url := range stores(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			workers := mustWork(t, url, 2)
			e := workers[0]
			if err := e.Deploy(t.Context(), scheduled("tick", "1.0.0", "{every: PT1S}")); err != nil {
				t.Fatal(err)
			}
			var ids []string
			eventually(t, "three runs", func() bool { ids, _ = runsOf(t, e, "tick"); return len(ids) >= 3 })
			for n := 1; n < len(ids); n++ {
				if timeOf(t, ids[n]).Sub(timeOf(t, ids[n-1])) != time.Second {
					t.Errorf("one is missing, or there twice: %v", ids)
				}
			}
			if err := e.Deploy(t.Context(), scheduled("tick", "2.0.0", "{every: PT1H}")); err != nil {
				t.Fatal(err)
			}
			x, err := e.Schedules().Of(t.Context(), "demo", "tick")
			if err != nil || x.Workflow.Version != "2.0.0" || time.Until(x.Next()) < 50*time.Minute {
				t.Errorf("%+v, %v", x, err)
			}
			for _, version := range []string{"2.0.0", "1.0.0"} {
				if err := e.Undeploy(t.Context(), definition.Reference{Namespace: "demo", Name: "tick", Version: version}); err != nil {
					t.Fatal(err)
				}
				if x, err := e.Schedules().Of(t.Context(), "demo", "tick"); (err == nil) != (version == "2.0.0") {
					t.Errorf("after %s: %+v, %v", version, x, err)
				}
			}
		})
	}
}

// timeOf returns the time for which a run was started.
func timeOf(t *testing.T, id string) time.Time {
	t.Helper()
	at, err := time.Parse("20060102T150405.999Z", id[strings.LastIndex(id, "-")+1:])
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// TestScheduleAfter: the next run starts some time after the end of the run before, whatever its outcome.
func TestScheduleAfter(t *testing.T) {
	e := mustWork(t, "memory:", 1)[0]
	d, _ := swrun.Parse("", []byte(`
document: {dsl: 1.0.3, namespace: demo, name: after, version: 1.0.0}
schedule: {after: PT0.1S}
do: [{fail: {raise: {error: {type: "https://example.com/errors/no", status: 500}}}}]`))
	if err := e.Deploy(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	where, err := filter.Parse("workflow=demo/after status=faulted", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "two have failed", func() bool {
		n := 0
		if err := e.Client().Each(t.Context(), where, func(*filter.Run) bool { n++; return true }); err != nil {
			t.Fatal(err)
		}
		return n >= 2
	})
}

// TestScheduledEvents: each event that matches starts a run with the data that was read from it. `all` takes one event for each filter, and
// correlated events belong together. An event that is published again starts nothing more (semantics 15.1, 15.2).
func TestScheduledEvents(t *testing.T) {
	for name, url := range stores(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := mustWork(t, url, 1)[0]
			deploy := func(name, on string) {
				t.Helper()
				if err := e.Deploy(t.Context(), scheduled(name, "1.0.0", on)); err != nil {
					t.Fatal(err)
				}
			}
			deploy("one", "{on: {one: {with: {type: order}}}}")
			deploy("all", "{on: {all: [{with: {type: order}, correlate: {id: {from: .data.id}}}, {with: {type: paid}, correlate: {id: {from: .data.order}}}]}}")
			deploy("plain", "{on: {all: [{with: {type: left}}, {with: {type: right}}]}}")
			publish := func(id, kind string, data map[string]any) []string {
				t.Helper()
				report, err := e.Publish(t.Context(), map[string]any{"specversion": "1.0", "source": "/test", "id": id, "type": kind, "data": data}, nil)
				if err != nil {
					t.Fatal(err)
				}
				var started []string
				for _, i := range report.Started {
					started = append(started, i.ID[:strings.Index(i.ID, "-")])
				}
				return started
			}
			for n, step := range []struct {
				id, kind string
				data     map[string]any
				want     string
			}{
				{"1", "order", map[string]any{"id": 1}, "[one]"},
				{"2", "order", map[string]any{"id": 2}, "[one]"},
				{"3", "paid", map[string]any{"order": 2}, "[all]"},
				{"3", "paid", map[string]any{"order": 2}, "[]"},
				{"4", "paid", map[string]any{"order": 3}, "[]"},
				{"5", "order", map[string]any{"id": 3}, "[one all]"},
				{"6", "other", nil, "[]"},
				{"7", "left", map[string]any{"n": 1}, "[]"},
				{"8", "left", map[string]any{"n": 2}, "[]"},
				{"9", "right", map[string]any{"n": 3}, "[plain]"},
				{"10", "right", map[string]any{"n": 4}, "[plain]"},
			} {
				got := publish(step.id, step.kind, step.data)
				slices.Sort(got)
				want := strings.Fields(strings.Trim(step.want, "[]"))
				slices.Sort(want)
				if !slices.Equal(got, want) {
					t.Errorf("event %d: started %v, want %v", n, got, want)
				}
			}
			for name, want := range map[string]string{
				"one":   "[map[got:[map[id:1]]] map[got:[map[id:2]]] map[got:[map[id:3]]]]",
				"all":   "[map[got:[map[id:2] map[order:2]]] map[got:[map[order:3] map[id:3]]]]",
				"plain": "[map[got:[map[n:1] map[n:3]]] map[got:[map[n:2] map[n:4]]]]",
			} {
				var got []string
				eventually(t, name, func() bool {
					_, outputs := runsOf(t, e, name)
					got = nil
					for _, output := range outputs {
						got = append(got, output)
					}
					slices.Sort(got)
					return len(got) == strings.Count(want, "got")
				})
				if fmt.Sprint(got) != want {
					t.Errorf("%s: %v, want %s", name, got, want)
				}
			}
		})
	}
}
