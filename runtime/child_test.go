package runtime_test

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/filter"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// TestParentsNameTheRunThatTheyWaitFor, which is there.
func TestParentsNameTheRunThatTheyWaitFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.deploy("child", "do: [{a: {wait: PT1H}}]")
		defer h.work(worker.Config{})()
		i := h.start("do: [{r: {run: {workflow: {namespace: test, name: child, version: latest}}}}]", client.StartOptions{ID: "p"})
		time.Sleep(5 * time.Second)
		why := h.described(i, false).Why
		_, rest, _ := strings.Cut(why, "waiting for the run test/")
		id, _, _ := strings.Cut(rest, " ")
		if d := h.described(store.Instance{Namespace: "test", ID: id}, false); d.Invocation.Parent == nil || d.Invocation.Parent.Instance != i {
			t.Errorf("it is described so: %q", why)
		}
	})
}

// TestParentClose is promise 23: the effect on a child when its parent no longer waits for it, because another branch was faster, a
// deadline passed, or the parent is cancelled. A child that is not abandoned has no more time than the waiting scope.
func TestParentClose(t *testing.T) {
	for name, c := range map[string]struct {
		before, after string
		closed        string // the parent
	}{
		"another branch wins":     {"do: [{f: {fork: {compete: true, branches: [", ", {w: {wait: PT5S}}]}}}]", "completed"},
		"the workflow times out":  {"timeout: {after: PT5S}\ndo: [", "]", "timed_out"},
		"a task times out":        {"do: [{t: {try: [{d: {timeout: {after: PT5S}, do: [", "]}}], catch: {do: []}}}]", "completed"},
		"the parent is cancelled": {"do: [", "]", "cancelled"},
	} {
		for policy, want := range map[string]string{"cancel": "cancelled", "terminate": "terminated", "abandon": "completed"} {
			t.Run(name+" "+policy, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					h := newHost(t)
					defer h.work(worker.Config{})()
					h.deploy("child", "do: [{a: {wait: PT1M}}]")
					i := h.start(c.before+"{r: {run: {workflow: {namespace: test, name: child, version: latest}}, metadata: {swrun: {parentClose: "+policy+"}}}}"+c.after, client.StartOptions{})
					if c.closed == "cancelled" {
						time.Sleep(5 * time.Second)
						h.must(h.client.Cancel(t.Context(), i, "enough"))
					}
					h.wait(i)
					if strings.HasSuffix(name, "times out") && policy != "abandon" {
						want = "timed_out"
					}
					child := h.child(i)
					if o := h.wait(child); h.record(i).Reason != c.closed || h.record(child).Reason != want || (took(o) == time.Minute) != (policy == "abandon") {
						t.Errorf("the parent is closed as %s, the child as %s after %s", h.record(i).Reason, h.record(child).Reason, took(o))
					}
				})
			})
		}
	}
}

// child returns the only child of i.
func (h *host) child(i store.Instance) (child store.Instance) {
	h.Helper()
	if err := h.client.Each(h.Context(), filter.Begins(i.ID+"."), func(f *filter.Run) bool {
		child = f.Instance
		return false
	}); err != nil || child.ID == "" {
		h.Fatalf("no child: %v", err)
	}
	return child
}

// TestTimedOutChildAnswersItsParent: promises 24 and 220. The error that the parent receives names the child, the kind of its timeout and
// its deadline.
func TestTimedOutChildAnswersItsParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		defer h.work(worker.Config{})()
		h.deploy("child", "timeout: {after: PT3S}\ndo: [{a: {wait: PT1M}}]")
		i := h.start("do: [{t: {try: [{r: {run: {workflow: {namespace: test, name: child, version: latest}}}}], catch: {as: e, errors: {with: {status: 408}}, do: [{late: {set: {of: '${ $e.run }', kind: '${ $e.timeoutKind }', seconds: '${ ($e.deadline | fromdate) - ($e.startedAt | fromdate) }'}}}]}}}]", client.StartOptions{ID: "r"})
		o := h.wait(i)
		if diff := cmp.Diff(map[string]any{"of": h.child(i).String(), "kind": "workflow", "seconds": 3}, o.Output); diff != "" {
			t.Errorf("%+v: %s", o, diff)
		}
		if got, want := h.review(i), "child of /do/0/t/try/0/r: test/r faulted\n/do/0/t/try/0/r: child workflow test/r caught /do/0/t\nfrom test/r\n"; got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	})
}

// TestFailingPublisherHoldsUpNobody: events that cannot be sent wait in their order, and children start anyway.
func TestFailingPublisherHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		var failing atomic.Bool
		failing.Store(true)
		var sent []string
		stop := h.work(worker.Config{Publish: func(_ context.Context, emitted worker.Emitted) error {
			if failing.Load() {
				return io.ErrClosedPipe
			}
			var e struct{ Type string }
			err := json.Unmarshal(emitted.Event, &e)
			sent = append(sent, e.Type)
			return err
		}})
		h.deploy("child", "do: [{b: {set: {n: 2}}}]")
		i := h.start("do: [{e: {emit: {event: {with: {type: one}}}}}, {f: {emit: {event: {with: {type: two}}}}}, {a: {run: {workflow: {namespace: test, name: child, version: latest}}}}]", client.StartOptions{})
		if o := h.wait(i); o.Status != interpreter.StatusCompleted {
			t.Errorf("got %+v", o)
		}
		failing.Store(false)
		time.Sleep(10 * time.Second)
		stop()
		if strings.Join(sent, " ") != "one two" {
			t.Errorf("sent were %q", sent)
		}
	})
}

// TestChildOfLatest: a child that was started is this child, whatever has been deployed before that is known.
func TestChildOfLatest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.deploy("child", "do: [{a: {wait: PT10S}}]")
		stop := h.work(worker.Config{})
		i := h.start("do: [{a: {run: {workflow: {namespace: test, name: child, version: latest}}}}]", client.StartOptions{})
		time.Sleep(time.Second)
		stop()
		relay := worker.Relay{Store: h.store}
		start := `{"#":1,"child":{"id":"` + h.child(i).ID + `","workflow":"test/child:latest","input":{},"parent":{"i":{"Namespace":"test","ID":"` + i.ID + `"},"e":1}}}`
		if _, err := h.client.Deploy(t.Context(), definition.Definition{Document: "document: {dsl: 1.0.3, namespace: test, name: child, version: 0.2.0}\ndo: [{a: {set: {n: 1}}}]"}); err != nil {
			t.Fatal(err)
		}
		if err := relay.Deliver(t.Context(), store.Outgoing{ID: "again", Data: []byte(start)}); err != nil {
			t.Fatal(err)
		}
		defer h.work(worker.Config{})()
		if o := h.wait(i); o.Status != interpreter.StatusCompleted {
			t.Errorf("got %+v", o)
		}
	})
}

// TestOutboxPassesWhatIsStuck: however many events cannot be sent, later entries for other receivers are delivered.
func TestOutboxPassesWhatIsStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.deploy("child", "do: [{b: {set: {n: 2}}}]")
		defer h.work(worker.Config{Publish: func(context.Context, worker.Emitted) error { return io.ErrClosedPipe }})()
		i := h.start("do: [{l: {for: {each: x, in: '${ [range(250)] }'}, do: [{e: {emit: {event: {with: {type: a}}}}}]}}, {a: {run: {workflow: {namespace: test, name: child, version: latest}}}}]", client.StartOptions{})
		if o := h.wait(i); o.Status != interpreter.StatusCompleted {
			t.Errorf("got %+v", o)
		}
	})
}
