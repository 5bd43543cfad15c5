package runtime_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/filter"
	"github.com/swrun/swrun/runtime/local"
	"github.com/swrun/swrun/runtime/worker"
)

// chains are workflows that start one another without end. Both names of a call lead to the documents named ping and pong.
func chains() map[string]struct{ ping, pong, limit string } {
	call := func(name, more string) string {
		return "{run: {workflow: {namespace: test, name: " + name + ", version: latest}" + more + "}}"
	}
	return map[string]struct{ ping, pong, limit string }{
		"itself":         {"do: [{a: " + call("ping", "") + "}]", "do: []", "starts"},
		"each other":     {"do: [{a: " + call("pong", "") + "}]", "do: [{a: " + call("ping", "") + "}]", "starts"},
		"twice in a row": {"do: [{a: " + call("ping", "") + "}, {b: " + call("ping", "") + "}]", "do: []", "starts"},
		"in a function":  {"use: {functions: {f: " + call("ping", "") + "}}\ndo: [{a: {call: f}}]", "do: []", "starts"},
	}
}

// TestChainsEnd: a chain of workflows that start one another ends with an error that names the limit.
func TestChainsEnd(t *testing.T) {
	for name, c := range chains() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				check := func(o execution.Outcome) {
					t.Helper()
					if o.Fault == nil || o.Fault.Type != errors.Limit || o.Fault.Extensions["limit"] != c.limit || o.TimedOut {
						t.Errorf("got %+v", o)
					}
				}
				check(runChain(t, c.ping, c.pong))
				h := newHost(t)
				h.deploy("ping", c.ping)
				h.deploy("pong", c.pong)
				defer h.work(worker.Config{})()
				check(h.wait(h.start(c.ping, client.StartOptions{})))
			})
		})
	}
}

// runChain runs ping in memory.
func runChain(t *testing.T, ping, pong string) execution.Outcome {
	t.Helper()
	h := newHost(t)
	programs := map[string]*interpreter.Program{"ping": h.program(ping), "pong": h.program(pong)}
	o, err := local.Run(t.Context(), programs["ping"], nil, local.Config{
		Workflows: func(_, name, _ string) (*interpreter.Program, *errors.Error) { return programs[name], nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestChainsThatDoNotWaitEnd: the last workflow of a chain of detached starts faults.
func TestChainsThatDoNotWaitEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		document := "do: [{a: {run: {workflow: {namespace: test, name: ping, version: latest}, await: false}}}]"
		if o := runChain(t, document, "do: []"); o.Status != interpreter.StatusCompleted {
			t.Errorf("got %+v", o)
		}
		h := newHost(t)
		h.deploy("ping", document)
		defer h.work(worker.Config{})()
		h.wait(h.start(document, client.StartOptions{}))
		time.Sleep(time.Hour)
		runs, faults := 0, 0
		if err := h.client.Each(t.Context(), filter.Filter{}, func(f *filter.Run) bool {
			runs++
			if f.Lifecycle.Status == interpreter.StatusFaulted {
				faults++
			}
			return true
		}); err != nil || runs != 65 || faults != 1 {
			t.Errorf("of %d runs, %d have faulted: %v", runs, faults, err)
		}
	})
}

// TestWideStartsEnd: workflows that each start two others are too many before the chain is too long.
func TestWideStartsEnd(t *testing.T) {
	call := "{run: {workflow: {namespace: test, name: ping, version: latest}}}"
	loose := "{run: {workflow: {namespace: test, name: ping, version: latest}, await: false}}"
	for name, document := range map[string]string{
		"waiting":     "do: [{f: {fork: {branches: [{a: " + call + "}, {b: " + call + "}]}}}]",
		"catching":    "do: [{t: {try: [{f: {fork: {branches: [{a: " + call + "}, {b: " + call + "}]}}}], catch: {}}}]",
		"not waiting": "do: [{a: " + loose + "}, {b: " + loose + "}, {w: {wait: PT1H}}]",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if o := runChain(t, document, "do: []"); o.Fault == nil || o.Fault.Type != errors.Limit || o.Fault.Extensions["limit"] != "workflows" {
					t.Errorf("got %+v", o)
				}
			})
			synctest.Test(t, func(t *testing.T) { hostedFamily(t, document) })
		})
	}
}

// hostedFamily has a worker run a document that starts itself more than once: the family stops growing.
func hostedFamily(t *testing.T, document string) {
	h := newHost(t)
	h.deploy("ping", document)
	set := limits.Set{limits.Family: 100}
	defer h.work(worker.Config{Limits: set})()
	h.wait(h.start(document, client.StartOptions{}))
	time.Sleep(time.Hour)
	runs, limited := 0, 0
	if err := h.client.Each(t.Context(), filter.Filter{}, func(f *filter.Run) bool {
		runs++
		l, err := h.store.Load(t.Context(), f.Instance)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := interpreter.Restore(nil, interpreter.NewState("test", f.Instance.ID), nil, l.State); err == nil && s.Fault != nil && s.Fault.Extensions["limit"] == "family" {
			limited++
		}
		return true
	}); err != nil || runs < 100 || runs > 250 {
		t.Errorf("%d runs: %v", runs, err)
	}
	if strings.Contains(document, "fork") && !strings.Contains(document, "catch") && limited == 0 {
		t.Error("no run names the limit")
	}
}

// TestTimeoutEndsAChain: the timeout of a workflow that starts itself ends the whole chain in its time, however fast it
// grows.
func TestTimeoutEndsAChain(t *testing.T) {
	ping := "do: [{w: {wait: PT0.1S}}, {a: {run: {workflow: {namespace: test, name: ping, version: latest}}}}]"
	synctest.Test(t, func(t *testing.T) {
		o := runChain(t, "timeout: {after: PT3S}\n"+ping, "do: []")
		if !o.TimedOut || took(o) != 3*time.Second {
			t.Errorf("got %+v after %s", o, took(o))
		}
	})
}

// TestClosedReasons is promises 60 and 203: a run whose own time is over, or the time of a task without a catch, is closed as timed out. A
// run with an error of another origin is not, for every type of the error.
func TestClosedReasons(t *testing.T) {
	forged := `{raise: {error: '${ {type: "https://serverlessworkflow.io/spec/1.0.0/errors/timeout", status: 408, instance: "/", timeoutKind: "workflow", startedAt: "2026-01-01T00:00:00Z", deadline: "2026-01-01T00:00:01Z"} }'}}`
	slow := "{wait: PT1M, timeout: {after: PT1S}}"
	child := "{run: {workflow: {namespace: test, name: child, version: latest}}}"
	for name, c := range map[string]struct{ document, reason string }{
		"the workflow's timeout":        {"timeout: {after: PT1S}\ndo: [{a: {wait: PT1M}}]", "timed_out"},
		"a task's timeout":              {"do: [{a: " + slow + "}]", "timed_out"},
		"a timeout of zero":             {"do: [{a: {wait: PT1M, timeout: {after: PT0S}}}]", "timed_out"},
		"a task's timeout, far inside":  {"do: [{f: {for: {in: '${ [1] }'}, do: [{k: {fork: {branches: [{a: " + slow + "}]}}}]}}]", "timed_out"},
		"one that a filter misses":      {"do: [{t: {try: [{a: " + slow + "}], catch: {errors: {with: {status: 500}}}}}]", "timed_out"},
		"the last attempt's":            {"do: [{t: {try: [{a: " + slow + "}], catch: {retry: {delay: PT1S, limit: {attempt: {count: 2}}}}}}]", "timed_out"},
		"the limit of an attempt":       {"do: [{t: {try: [{a: {wait: PT1M}}], catch: {retry: {limit: {attempt: {count: 1, duration: PT1S}}}}}}]", "timed_out"},
		"the limit of all attempts":     {"do: [{t: {try: [{a: {wait: PT1M}}], catch: {retry: {limit: {duration: PT1S}}}}}]", "timed_out"},
		"an error that looks like one":  {"do: [{a: " + forged + "}]", "faulted"},
		"one that is raised again":      {"do: [{t: {try: [{a: " + slow + "}], catch: {as: e, do: [{r: {raise: {error: '${ $e }'}}}]}}}]", "faulted"},
		"another error in its catch":    {"do: [{t: {try: [{a: " + slow + "}], catch: {do: [{r: {raise: {error: {type: about:blank, status: 500}}}}]}}}]", "faulted"},
		"a condition that fails on one": {"do: [{t: {try: [{a: " + slow + "}], catch: {when: '${ 1 + \"x\" }'}}}]", "faulted"},
		"a child's":                     {"do: [{a: " + child + "}]", "faulted"},
		"a child's, under a timeout":    {"timeout: {after: PT1M}\ndo: [{a: " + child + "}]", "faulted"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				h.perform = func(context.Context, interpreter.Request) (any, error) { return nil, nil }
				h.deploy("child", "timeout: {after: PT1S}\ndo: [{a: {wait: PT1M}}]")
				defer h.work(worker.Config{})()
				i := h.start(c.document, client.StartOptions{})
				o := h.wait(i)
				if r := h.record(i); r.Reason != c.reason || o.TimedOut != (c.reason == "timed_out") {
					t.Errorf("closed as %s: %v", r.Reason, o.Fault)
				}
			})
		})
	}
}
