package runtime_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/events"
	"github.com/swrun/swrun/runtime/worker"
)

// publish publishes events: the type of each, and its data as JSON.
func (h *host) publish(all ...string) {
	h.Helper()
	bus := events.NewBus(h.store, func(context.Context, events.Event, events.Audience) (events.Started, error) {
		return events.Started{}, nil
	}, limits.Set{})
	for _, text := range all {
		kind, data, _ := strings.Cut(text, " ")
		n, _, _ := strings.Cut(data, " ")
		e := map[string]any{"specversion": "1.0", "source": "/s", "id": fmt.Sprint(time.Now().UnixNano(), text), "type": kind, "data": map[string]any{"n": n, "k": strings.TrimPrefix(data, n+" ")}}
		if _, err := bus.Publish(h.Context(), e, nil); err != nil {
			h.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond) // until it is handled
	}
}

// TestMigrateListening: a listening task continues with the filters of the other version for future events. Consumed events count by the
// position of their filter.
func TestMigrateListening(t *testing.T) {
	const numbers = ", output: {as: '${ [.[] | .n] | join(\" \") }'}}}]"
	one := func(to string) string { return "do: [{l: {listen: {to: {" + to + "}}" + numbers }
	for name, c := range map[string]struct {
		from, to      string
		pointers      interpreter.PointerMap
		before, after []string
		want          string
	}{
		"another type":                    {one("one: {with: {type: a}}"), one("one: {with: {type: b}}"), nil, nil, []string{"a 1", "b 2"}, "2"},
		"another filter, of data":         {one("one: {with: {type: a, data: '${ .n == \"7\" }'}}"), one("one: {with: {type: a, data: '${ .n == \"8\" }'}}"), nil, []string{"a 1"}, []string{"a 7", "a 8"}, "8"},
		"another one of those that lack":  {one("all: [{with: {type: a}}, {with: {type: b}}]"), one("all: [{with: {type: a}}, {with: {type: c}}]"), nil, []string{"a 1"}, []string{"b 2", "a 3", "c 4"}, "1 4"},
		"another one of those that came":  {one("all: [{with: {type: a}}, {with: {type: b}}]"), one("all: [{with: {type: x}}, {with: {type: b}}]"), nil, []string{"a 1"}, []string{"x 2", "b 3"}, "1 3"},
		"more filters, before any came":   {one("all: [{with: {type: a}}]"), one("all: [{with: {type: a}}, {with: {type: b}}]"), nil, nil, []string{"a 1", "b 2"}, "1 2"},
		"another strategy, the same":      {one("one: {with: {type: a}}"), one("all: [{with: {type: b}}, {with: {type: c}}]"), nil, nil, []string{"a 1", "c 2", "b 3"}, "2 3"},
		"what it expects":                 {one("one: {with: {type: a}, correlate: {k: {from: .data.k, expect: '${ \"x\" }'}}}"), one("one: {with: {type: a}, correlate: {k: {from: .data.k, expect: '${ \"y\" }'}}}"), nil, nil, []string{"a 1 x", "a 2 y"}, "2"},
		"what it expects, where it moves": {one("one: {with: {type: a}, correlate: {k: {from: .data.k, expect: '${ \"x\" }'}}}"), "do: [{s: {set: {n: 1}}}, {m: {listen: {to: {one: {with: {type: a}, correlate: {k: {from: .data.k, expect: '${ \"x\" }'}}}}}" + numbers, interpreter.PointerMap{"/do/0/l": "/do/1/m"}, nil, []string{"a 1 y", "a 2 x"}, "2"},
		"what was bound":                  {one("all: [{with: {type: a}, correlate: {k: {from: .data.k}}}, {with: {type: b}, correlate: {k: {from: .data.k}}}]"), one("all: [{with: {type: a}, correlate: {k: {from: .data.k}}}, {with: {type: c}, correlate: {k: {from: .data.k}}}]"), nil, []string{"a 1 x"}, []string{"c 2 y", "c 3 x"}, "1 3"},
		"until":                           {one("any: [{with: {type: a}}], until: 'length == 2'"), one("any: [{with: {type: a}}, {with: {type: b}}], until: 'length == 3'"), nil, []string{"a 1"}, []string{"a 2", "b 3"}, "1 2 3"},
		"until an event":                  {one("any: [{with: {type: a}}], until: {one: {with: {type: b}}}"), one("any: [{with: {type: a}}], until: {all: [{with: {type: c}}, {with: {type: d}}]}"), nil, []string{"a 1"}, []string{"b 2", "d 3", "a 4", "c 5"}, "1 4"},
		"the iteration goes on": {
			"do: [{l: {listen: {to: {any: [{with: {type: a}}], until: 'length == 2'}}, foreach: {do: [{w: {wait: PT1S}}, {s: {set: {n: '${ $item.n }'}}}]}" + numbers,
			"do: [{l: {listen: {to: {any: [{with: {type: b}}], until: 'length == 2'}}, foreach: {do: [{w: {wait: PT1M}}, {s: {set: {n: '${ $item.n + \"!\" }'}}}]}" + numbers, nil, []string{"a 1"}, []string{"a 2", "b 3"}, "1! 3!",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				stop := h.work(worker.Config{ParkAfter: time.Millisecond})
				i := h.begin(c.from, client.StartOptions{})
				h.version("2.0.0", c.to)
				time.Sleep(100 * time.Millisecond)
				h.publish(c.before...)
				if err := h.migrate(i, client.Migration{To: "2.0.0", Map: c.pointers}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(100 * time.Millisecond)
				h.verifyReplay(i)
				stop() // the rest is restored from the stored state
				defer h.work(worker.Config{})()
				h.publish(c.after...)
				if diff := cmp.Diff(any(c.want), h.wait(i).Output); diff != "" {
					t.Error(diff)
				}
				h.verifyReplay(i)
			})
		})
	}
}

// TestRefusedMigrationsOfListening: a run that consumed events for filters that the other version changed cannot migrate.
func TestRefusedMigrationsOfListening(t *testing.T) {
	for name, c := range map[string]struct{ from, to, why string }{
		"fewer filters":      {"{all: [{with: {type: a}}, {with: {type: b}}]}", "{all: [{with: {type: a}}]}", "other filters than the one there"},
		"more filters":       {"{all: [{with: {type: a}}, {with: {type: b}}]}", "{all: [{with: {type: a}}, {with: {type: b}}, {with: {type: c}}]}", "other filters than the one there"},
		"another strategy":   {"{all: [{with: {type: a}}, {with: {type: b}}]}", "{any: [{with: {type: a}}], until: '${ length == 5 }'}", "other filters than the one there"},
		"no until":           {"{any: [{with: {type: a}}], until: '${ length == 5 }'}", "{any: [{with: {type: a}}]}", "it would listen for nothing more"},
		"nothing to wait on": {"{one: {with: {type: b}}}", "{all: []}", "it would listen for nothing more"},
		"of until":           {"{any: [{with: {type: b}}], until: {all: [{with: {type: a}}, {with: {type: c}}]}}", "{any: [{with: {type: b}}], until: {one: {with: {type: c}}}}", "other filters than the one there"},
		"what it expects":    {"{one: {with: {type: b}}}", "{one: {with: {type: b}, correlate: {k: {from: .data.k, expect: '${ error(\"no\") }'}}}}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				defer h.work(worker.Config{ParkAfter: time.Millisecond})()
				i := h.begin("do: [{l: {listen: {to: "+c.from+"}}}]", client.StartOptions{})
				h.version("2.0.0", "do: [{l: {listen: {to: "+c.to+"}}}]")
				time.Sleep(100 * time.Millisecond)
				h.publish("a 1")
				err := h.migrate(i, client.Migration{To: "2.0.0"})
				time.Sleep(100 * time.Millisecond)
				refused := err != nil && strings.Contains(err.Error(), c.why)
				if d, failed := h.asker().Describe(h.Context(), i); failed != nil || !strings.Contains(d.Invocation.Workflow.String(), "1.0.0") || c.why != "" && !refused {
					t.Errorf("got %v; it goes on with %s, %v", err, d.Invocation.Workflow, failed)
				}
			})
		})
	}
}

// TestForkListening: a fork listens in its other branches as its version specifies. Their consumed events count, and expected results are
// kept.
func TestForkListening(t *testing.T) {
	document := func(filter, then string) string {
		return "do: [{f: {fork: {branches: [{a: {listen: {to: {all: [{with: {type: a}}, {with: {type: " + filter + "}, correlate: {k: {from: .data.k, expect: '${ $context.k }'}}}]}}, output: {as: '${ [.[] | .n] }'}}}, " +
			"{b: {do: [{k: {set: {k: later}, export: {as: {k: y}}}}, {w: {listen: {to: {one: {with: {type: go}}}}}}, {r: " + then + "}]}}]}}}]"
	}
	const fails = "{raise: {error: {type: https://a.b/c, status: 400}}}"
	for name, c := range map[string]struct {
		to    string
		after []string
		want  any
	}{
		"the same filter": {document("b", "{set: {n: 1}}"), []string{"b 2 y", "b 3 x"}, []any{[]any{"1", "3"}, map[string]any{"n": 1}}},
		"another filter":  {document("c", "{set: {n: 1}}"), []string{"b 2 x", "c 3 x"}, []any{[]any{"1", "3"}, map[string]any{"n": 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				defer h.work(worker.Config{ParkAfter: time.Millisecond})()
				i := h.begin(strings.Replace(document("b", fails), "do: [", "do: [{x: {set: {n: 0}, export: {as: {k: x}}}}, ", 1), client.StartOptions{})
				h.version("2.0.0", strings.Replace(c.to, "do: [", "do: [{x: {set: {n: 0}, export: {as: {k: x}}}}, ", 1))
				time.Sleep(100 * time.Millisecond)
				h.publish("a 1", "go 0")
				if o := h.wait(i); o.Status != interpreter.StatusFaulted {
					t.Fatalf("the run is %s", o.Status)
				}
				forked := h.mustFork(i, client.ForkOptions{Version: "2.0.0"})
				time.Sleep(100 * time.Millisecond)
				h.publish(c.after...)
				if diff := cmp.Diff(c.want, h.wait(forked.Instance).Output); diff != "" {
					t.Error(diff)
				}
				h.verifyReplay(forked.Instance)
			})
		})
	}
}
