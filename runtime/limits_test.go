package runtime_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// beyond is, for each limit that a run can meet, the least setting that its document goes beyond.
func beyond() map[limits.Name]struct {
	document string
	set      limits.Set
	ends     bool // the run ends, and nothing in it can catch that
} {
	return map[limits.Name]struct {
		document string
		set      limits.Set
		ends     bool
	}{
		limits.Data:         {"[{a: " + task + "}]", limits.Set{limits.Data: 100}, false},
		limits.Event:        {"[{a: {emit: {event: {with: {type: x, source: 'https://x.test', data: '${ [range(100)] }'}}}}}]", limits.Set{limits.Event: 200}, false},
		limits.Items:        {"[{a: {for: {in: '${ [range(11)] }'}, do: [{b: {set: {x: 1}}}]}}]", limits.Set{limits.Items: 10}, false},
		limits.Branches:     {"[{a: {fork: {branches: [{x: {set: {x: 1}}}, {y: {set: {x: 1}}}, {z: {set: {x: 1}}}]}}}]", limits.Set{limits.Branches: 2}, false},
		limits.Tasks:        {"[{a: {fork: {branches: [{x: {fork: {branches: [{p: {set: {x: 1}}}, {q: {set: {x: 1}}}]}}}, {y: {set: {x: 1}}}]}}}]", limits.Set{limits.Tasks: 4}, false},
		limits.Children:     {"[{a: {fork: {branches: [{x: {run: {workflow: {namespace: test, name: a, version: 0.1.0}}}}, {y: {run: {workflow: {namespace: test, name: a, version: 0.1.0}}}}]}}}]", limits.Set{limits.Children: 1}, false},
		limits.Family:       {"[{a: {for: {in: '${ [range(10)] }'}, do: [{x: {run: {workflow: {namespace: test, name: leaf, version: latest}}}}]}}]", limits.Set{limits.Family: 3}, true},
		limits.History:      {"[{b: {set: {x: 1}, then: b}}]", limits.Set{limits.History: 3000}, true},
		limits.HistoryBytes: {"[{b: {set: '${ [range(100)] }', then: b}}]", limits.Set{limits.HistoryBytes: 100_000}, true},
		limits.State:        {"[{b: {set: '${ [range(3000)] }'}}, {c: {wait: PT1H}}]", limits.Set{limits.State: 10_000}, true},
	}
}

// TestLimitsOfRuns is promise 49: an oversized value is an error that names the limit, the value and the maximum. The error of a task can
// be caught; an oversized history or state ends the run.
func TestLimitsOfRuns(t *testing.T) {
	for name, c := range beyond() {
		t.Run(string(name), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				h.limits = c.set
				h.deploy("leaf", "do: [{x: {set: {x: 1}}}]")
				h.perform = func(context.Context, interpreter.Request) (any, error) { return strings.Repeat("x", 200), nil }
				defer h.work(worker.Config{Limits: c.set})()
				o := h.wait(h.start("do: "+c.document, client.StartOptions{}))
				if o.Fault == nil || o.Fault.Type != errors.Limit || o.Fault.Extensions["limit"] != string(name) || !above(o.Fault, c.set[name]) {
					t.Fatalf("got %+v with %+v", o, o.Fault)
				}
				o = h.wait(h.start("do: [{t: {try: "+c.document+", catch: {errors: {with: {type: '"+errors.Limit+"'}}, do: [{d: {set: '${ $error.limit }'}}]}}}]", client.StartOptions{}))
				if caught := o.Output == any(string(name)); caught == c.ends {
					t.Errorf("in a try: %+v with %+v", o, o.Fault)
				}
			})
		})
	}
}

// above reports whether an error names a value above the maximum that was set.
func above(e *errors.Error, maximum int) bool {
	value, _ := e.Extensions["value"].(int)
	if f, ok := e.Extensions["value"].(float64); ok { // it was stored
		value = int(f)
	}
	named, ok := e.Extensions["max"].(int)
	if f, stored := e.Extensions["max"].(float64); stored {
		named, ok = int(f), true
	}
	return ok && named == maximum && value > maximum
}

// TestLimitsOfStarts: every kind of start and command refuses oversized values, with the same members.
func TestLimitsOfStarts(t *testing.T) {
	long := strings.Repeat("x", 5000)
	many := map[string]string{}
	for _, r := range "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" {
		many["n"+string(r)], many["m"+string(r)] = "", ""
	}
	h := newHost(t)
	d := definition.Definition{Document: "document: {dsl: 1.0.3, namespace: test, name: a, version: 0.1.0}\ndo: [{a: {set: {x: 1}}}]"}
	start := func(input any, o client.StartOptions) func(client.StartOptions) error {
		return func(client.StartOptions) error {
			_, err := h.client.StartDefinition(t.Context(), d, input, o)
			return err
		}
	}
	for name, refused := range map[limits.Name]func(client.StartOptions) error{
		limits.Input:       start(strings.Repeat("x", 5<<20), client.StartOptions{}),
		limits.Labels:      start(nil, client.StartOptions{Labels: many}),
		limits.LabelName:   start(nil, client.StartOptions{Labels: map[string]string{long: ""}}),
		limits.LabelValue:  start(nil, client.StartOptions{Labels: map[string]string{"a": long}}),
		limits.BusinessKey: start(nil, client.StartOptions{BusinessKey: long}),
		limits.ID:          start(nil, client.StartOptions{ID: long}),
		limits.Namespace: func(client.StartOptions) error {
			return h.client.Cancel(t.Context(), store.Instance{Namespace: long, ID: "a"}, "")
		},
		limits.Reason: func(client.StartOptions) error {
			return h.client.Cancel(t.Context(), store.Instance{Namespace: "test", ID: "a"}, long)
		},
		limits.Actor: func(client.StartOptions) error {
			return h.client.Cancel(client.WithActor(t.Context(), long), store.Instance{Namespace: "test", ID: "a"}, "")
		},
	} {
		err := errors.AsError(refused(client.StartOptions{}))
		if err == nil || err.Type != errors.Limit || err.Extensions["limit"] != string(name) || !above(err, limits.Set{}.Max(name)) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for name, o := range map[string]client.StartOptions{
		"a label without a name":       {Labels: map[string]string{"": "x"}},
		"a label with a blank name":    {Labels: map[string]string{" ": "x"}},
		"a label with an odd name":     {Labels: map[string]string{"a b": "x"}},
		"a label with a line break":    {Labels: map[string]string{"a": "x\ny"}},
		"a label that is not text":     {Labels: map[string]string{"a": "\xff"}},
		"a business key with a NUL":    {BusinessKey: "a\x00b"},
		"a business key in two lines":  {BusinessKey: "a\nb"},
		"a business key of an escape ": {BusinessKey: "a\x1b[31m"},
	} {
		var option *client.OptionError
		if err := start(nil, o)(o); !errors.As(err, &option) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestEveryLimitIsTested holds the tests to the table.
func TestEveryLimitIsTested(t *testing.T) {
	starts := []limits.Name{limits.Input, limits.Labels, limits.LabelName, limits.LabelValue, limits.BusinessKey, limits.ID, limits.Namespace, limits.Reason, limits.Actor}
	tested := map[limits.Name]bool{}
	for _, name := range starts {
		tested[name] = true
	}
	for name := range beyond() {
		tested[name] = true
	}
	// These have tests where they are checked: TestChainsEnd, TestWideStartsEnd, TestVirtualTimeIsBounded, and the cases 10.8, 12.2, 10.2c and 11.5, TestHeartbeats,
	// TestEventsThatWait, multiply.txtar.
	for _, name := range []limits.Name{limits.Starts, limits.Workflows, limits.Calls, limits.Stdout, limits.Stderr, limits.Response, limits.Redirects, limits.VirtualTasks, limits.VirtualYears, limits.Continuations, limits.Progress, limits.Waiting, limits.EventFamily} {
		tested[name] = true
	}
	for _, l := range limits.All() {
		if !tested[l.Name] {
			t.Errorf("the limit %s is not tested", l.Name)
		}
	}
}
