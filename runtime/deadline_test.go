package runtime_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/worker"
)

// TestAcceptedCountsEveryTimeout is promise 172: counted from acceptance, all timeouts are, the document's own too.
func TestAcceptedCountsEveryTimeout(t *testing.T) {
	for name, c := range map[string]struct {
		document string
		options  client.StartOptions
	}{
		"the document's":                  {"timeout: {after: PT5S}\n", client.StartOptions{}},
		"the document's as an expression": {"timeout: {after: '${ \"PT\\(2 + 3)S\" }'}\n", client.StartOptions{}},
		"the document's by name":          {"use: {timeouts: {t: {after: PT5S}}}\ntimeout: t\n", client.StartOptions{}},
		"the execution's":                 {"", client.StartOptions{ExecutionTimeout: 5 * time.Second}},
		"the run's":                       {"", client.StartOptions{RunTimeout: 5 * time.Second}},
	} {
		for waited, begins := range map[time.Duration]bool{4 * time.Second: true, 6 * time.Second: false} {
			t.Run(name+" after "+waited.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					h := newHost(t)
					h.perform = hanging
					c.options.TimeoutsFromAccept = true
					accepted := time.Now()
					i := h.start(c.document+"do: [{a: "+task+"}]", c.options)
					time.Sleep(waited)
					defer h.work(worker.Config{})()
					o := h.wait(i)
					if !o.TimedOut || begins && o.EndedAt.Sub(accepted).Round(time.Second) != 5*time.Second || !begins && o.EndedAt.Sub(accepted) > 7*time.Second {
						t.Errorf("got %+v after %s", o, o.EndedAt.Sub(accepted))
					}
				})
			})
		}
	}
}

// TestNeverStarted is promise 182: a run that ends before it starts has no start time in any view.
func TestNeverStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = effortless
		defer h.work(worker.Config{})()
		i := h.start("do: [{a: "+task+"}]", client.StartOptions{Delay: time.Hour, Deadline: time.Now().Add(time.Minute)})
		o := h.wait(i)
		if !o.StartedAt.IsZero() || !o.TimedOut || !h.record(i).Started.IsZero() {
			t.Errorf("got %+v, and the record %+v", o, h.record(i))
		}
		if o.Fault.Detail != "the workflow did not finish by 2000-01-01T00:01:00Z" {
			t.Errorf("the error says: %s", o.Fault.Detail)
		}
		if all := h.records(i); len(all) != 1 || all[0] != string(interpreter.WorkflowFaulted) {
			t.Errorf("the records are %q", all)
		}
		past := h.start("do: [{a: "+task+"}]", client.StartOptions{Deadline: time.Now().Add(-time.Second)}) // promises 156
		if o := h.wait(past); !o.TimedOut || took(o) != 0 || strings.Contains(strings.Join(h.records(past), " "), "task.") {
			t.Errorf("one whose deadline was past ends as %+v after %s with %q", o, took(o), h.records(past))
		}
	})
}

// TestStartHasDeadlines is promise 14: the event that starts a run has its timeouts and deadlines, and only those.
func TestStartHasDeadlines(t *testing.T) {
	for name, c := range map[string]struct {
		document string
		options  client.StartOptions
		kinds    []string
	}{
		"none":           {"", client.StartOptions{}, nil},
		"the document's": {"timeout: {after: PT5S}\n", client.StartOptions{}, []string{"workflow"}},
		"both":           {"timeout: {after: PT5S}\n", client.StartOptions{RunTimeout: time.Minute}, []string{"run", "workflow"}},
		"fixed":          {"timeout: {after: PT5S}\n", client.StartOptions{Deadline: time.Date(2000, 1, 2, 0, 0, 0, 0, time.UTC)}, []string{"execution"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				defer h.work(worker.Config{})()
				i := h.start(c.document+"do: [{a: {set: {x: 1}}}]", c.options)
				h.wait(i)
				var got []interpreter.Deadline
				if _, err := h.client.History(t.Context(), i, 0, func(e client.HistoryEntry) error {
					for _, r := range e.Events {
						if r.Type == interpreter.WorkflowStarted {
							got = r.Deadlines
						}
					}
					return nil
				}); err != nil {
					t.Fatal(err)
				}
				if len(got) != len(c.kinds) {
					t.Fatalf("got %+v", got)
				}
				for n, kind := range c.kinds {
					if got[n].Kind != kind || !got[n].At.After(got[n].StartedAt) || got[n].Fixed != (name == "fixed") {
						t.Errorf("got %+v", got[n])
					}
				}
			})
		})
	}
}

// TestOutermostFirst: if several nested deadlines passed while no worker was present, the outermost fires, although an inner one passed
// before.
func TestOutermostFirst(t *testing.T) {
	for name, c := range map[string]struct{ document, status, where string }{
		"the workflow's": {"timeout: {after: PT30M}\ndo: [{t: {try: [{w: {wait: P1D, timeout: {after: PT10M}}}], catch: {}}}]", "faulted", "/"},
		"a task's":       {"do: [{t: {try: [{o: {do: [{w: {wait: P1D, timeout: {after: PT10M}}}], timeout: {after: PT20M}}}], catch: {as: e, do: [{s: {set: {where: '${ $e.instance }'}}}]}}}]", "completed", "/do/0/t/try/0/o"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				stop := h.work(worker.Config{})
				i := h.start(c.document, client.StartOptions{})
				time.Sleep(time.Minute)
				stop()
				time.Sleep(time.Hour) // no worker is present
				defer h.work(worker.Config{})()
				o := h.wait(i)
				where := ""
				if o.Fault != nil {
					where = o.Fault.Instance
				} else if output, ok := o.Output.(map[string]any); ok {
					where, _ = output["where"].(string)
				}
				if string(o.Status) != c.status || where != c.where {
					t.Errorf("got %+v", o)
				}
			})
		})
	}
}

// TestAcceptedExpiresBeforeItsDelay: a delay does not keep a run from its time.
func TestAcceptedExpiresBeforeItsDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		defer h.work(worker.Config{})()
		i := h.start("timeout: {after: PT5S}\ndo: [{a: {set: {x: 1}}}]", client.StartOptions{Delay: time.Hour, TimeoutsFromAccept: true})
		began := time.Now()
		if o := h.wait(i); !o.TimedOut || !o.StartedAt.IsZero() || time.Since(began).Round(time.Second) != 5*time.Second {
			t.Errorf("got %+v after %s", o, time.Since(began))
		}
	})
}

// TestDescribedLimits is promises 11 to 13: a run shows its timeouts also before it starts, and its deadlines once they
// are in force.
func TestDescribedLimits(t *testing.T) {
	both := "document: {dsl: 1.0.3, namespace: test, name: a, version: 0.1.0, metadata: {swrun: {runTimeout: PT9S}}}\ntimeout: {after: PT5S}\ndo: [{a: {wait: PT1M}}]"
	for name, c := range map[string]struct {
		options        client.StartOptions
		worker         bool
		limits, begun  int // begun are deadlines that count from the begin of the run
		execution, run time.Duration
	}{
		"queued":            {client.StartOptions{}, false, 2, 2, 5 * time.Second, 9 * time.Second},
		"queued, counting":  {client.StartOptions{TimeoutsFromAccept: true}, false, 2, 0, 5 * time.Second, 9 * time.Second},
		"delayed":           {client.StartOptions{Delay: time.Hour}, true, 2, 2, 5 * time.Second, 9 * time.Second},
		"delayed, ends":     {client.StartOptions{Delay: time.Hour, Deadline: time.Date(2000, 1, 2, 0, 0, 0, 0, time.UTC)}, true, 2, 1, 24 * time.Hour, 9 * time.Second},
		"in progress":       {client.StartOptions{}, true, 2, 0, 5 * time.Second, 9 * time.Second},
		"with a start's":    {client.StartOptions{ExecutionTimeout: 7 * time.Second}, true, 2, 0, 7 * time.Second, 9 * time.Second},
		"with one's of two": {client.StartOptions{ExecutionTimeout: 7 * time.Second, RunTimeout: 2 * time.Second}, true, 2, 0, 7 * time.Second, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				if c.worker {
					defer h.work(worker.Config{})()
				}
				i, err := h.client.StartDefinition(t.Context(), definition.Definition{Document: both}, nil, c.options)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
				d, err := h.client.Describe(t.Context(), i)
				begun := 0
				for _, in := range d.Deadlines {
					if in.OnceBegun {
						begun++
					}
				}
				if err != nil || len(d.RunDeadlines) != c.limits || len(d.Deadlines) != c.limits || begun != c.begun {
					t.Fatalf("%d limits, %d deadlines, of which %d count from the start: %v", len(d.RunDeadlines), len(d.Deadlines), begun, err)
				}
				for _, l := range d.RunDeadlines {
					want := c.execution
					if l.Kind == interpreter.DeadlineRun {
						want = c.run
					}
					if l.At.Sub(l.StartedAt) != want {
						t.Errorf("got %+v, want %s", l, want)
					}
				}
			})
		})
	}
}
