package runtime_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// TestStartTimeouts are promises 1 to 5, 16, 21, 22 and 203: each timeout ends the run, and the run names the timeout.
func TestStartTimeouts(t *testing.T) {
	for name, c := range map[string]struct {
		document string
		options  client.StartOptions
		kind     string
		after    time.Duration
	}{
		"the document's":             {"timeout: {after: PT3S}\n", client.StartOptions{}, "workflow", 3 * time.Second},
		"of the execution":           {"", client.StartOptions{ExecutionTimeout: 2 * time.Second}, "execution", 2 * time.Second},
		"it replaces the document's": {"timeout: {after: PT1S}\n", client.StartOptions{ExecutionTimeout: 2 * time.Second}, "execution", 2 * time.Second},
		"of the run":                 {"timeout: {after: PT9S}\n", client.StartOptions{RunTimeout: 4 * time.Second}, "run", 4 * time.Second},
		"by a time":                  {"timeout: {after: PT9S}\n", client.StartOptions{Deadline: time.Date(2000, 1, 1, 0, 0, 6, 0, time.UTC)}, "execution", 6 * time.Second},
		"the first of both fires":    {"", client.StartOptions{ExecutionTimeout: 5 * time.Second, RunTimeout: 2 * time.Second}, "run", 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				h.perform = hanging
				defer h.work(worker.Config{})()
				i := h.start(c.document+"do: [{a: "+task+"}]", c.options)
				o := h.wait(i)
				if o.Status != interpreter.StatusFaulted || took(o) != c.after || o.Fault.Extensions["timeoutKind"] != c.kind {
					t.Errorf("got %+v after %s", o, took(o))
				}
				if r := h.record(i); r.Reason != "timed_out" {
					t.Errorf("closed as %s", r.Reason)
				}
			})
		})
	}
}

// TestOptionsAreChecked: promises 8 and 9.
func TestOptionsAreChecked(t *testing.T) {
	for field, o := range map[string]client.StartOptions{
		"executionTimeout": {ExecutionTimeout: 999 * time.Millisecond},
		"runTimeout":       {RunTimeout: -time.Second},
		"delay":            {Delay: -time.Second},
		"onDuplicate":      {OnDuplicate: "maybe"},
	} {
		var option *client.OptionError
		if err := o.Check(); !errors.As(err, &option) || option.Field != field {
			t.Errorf("%+v: got %v", o, err)
		}
	}
}

// TestDuplicates: promises 6 and 68. A run of another workflow is never returned.
func TestDuplicates(t *testing.T) {
	h := newHost(t)
	first := h.start("do: [{a: {wait: PT1S}}]", client.StartOptions{ID: "a"})
	deployed := definition.Definition{Document: "document: {dsl: 1.0.3, namespace: test, name: a, version: 0.1.0}\ndo: [{a: {wait: PT1S}}]"}
	for _, c := range []struct {
		input any
		on    string
		want  store.Code
	}{
		{nil, "", ""}, {nil, client.OnDuplicateReject, store.Conflict}, {nil, client.OnDuplicateReturnExisting, ""},
		{1, "", store.Conflict}, {1, client.OnDuplicateReject, store.Conflict}, {1, client.OnDuplicateReturnExisting, ""},
	} {
		i, err := h.client.StartDefinition(t.Context(), deployed, c.input, client.StartOptions{ID: "a", OnDuplicate: c.on})
		if store.RefusedAs(err) != c.want || i != first {
			t.Errorf("%+v: got %s, %v", c, i, err)
		}
	}
	other := definition.Definition{Document: strings.Replace(deployed.Document, "name: a", "name: b", 1)}
	for _, on := range []string{"", client.OnDuplicateReject, client.OnDuplicateReturnExisting} {
		if _, err := h.client.StartDefinition(t.Context(), other, nil, client.StartOptions{ID: "a", OnDuplicate: on}); store.RefusedAs(err) != store.Conflict {
			t.Errorf("a run of another workflow, %q: %v", on, err)
		}
	}
}

// TestLongIDs: children of runs with the longest ids, and of their children, can be named.
func TestLongIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		defer h.work(worker.Config{})()
		h.deploy("inner", "do: [{b: {set: {n: 2}}}]")
		h.deploy("child", "do: [{a: {run: {workflow: {namespace: test, name: inner, version: latest}}}}]")
		id := strings.Repeat("x", 113) + "--" + strings.Repeat("y", 13)
		i := h.start("do: [{a: {run: {workflow: {namespace: test, name: child, version: latest}}}}]", client.StartOptions{ID: id})
		if o := h.wait(i); o.Status != interpreter.StatusCompleted {
			t.Errorf("got %+v", o)
		}
	})
}

// TestDeadlineFarAway: a deadline at the end of all calendars never passes.
func TestDeadlineFarAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		defer h.work(worker.Config{})()
		i := h.start("do: [{a: {wait: PT1H}}, {b: {set: {done: true}}}]", client.StartOptions{Deadline: time.Date(9999, 12, 31, 23, 59, 59, 123456789, time.UTC)})
		if o := h.wait(i); o.Status != interpreter.StatusCompleted {
			t.Errorf("got %+v", o)
		}
	})
}
