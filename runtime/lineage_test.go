package runtime_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// review returns the review of a run's history, as lines.
func (h *host) review(i store.Instance) string {
	h.Helper()
	d, err := h.client.Describe(h.Context(), i)
	if err != nil {
		h.Fatal(err)
	}
	r, err := h.client.Review(h.Context(), d)
	if err != nil {
		h.Fatal(err)
	}
	var b strings.Builder
	for _, c := range r.Children {
		fmt.Fprintf(&b, "child of %s: %s %s\n", c.Path, strings.Split(c.Run.String(), ".")[0], c.Status)
	}
	for _, f := range r.Failures {
		child, _, _ := strings.Cut(f.Child, ".")
		fmt.Fprintln(&b, strings.Join(strings.Fields(fmt.Sprintf("%s: %s %s %s %s %s", f.Path, f.Propagation, f.TimeoutKind, child, f.Outcome, f.CaughtBy)), " "))
	}
	fmt.Fprintln(&b, "from", strings.Split(r.Source.Instance.String(), ".")[0])
	return b.String()
}

// TestFailuresAreListed is promises 44, 204 and 219: each failure has its cause and its outcome, also if it was caught, and names the child
// run from which it comes.
func TestFailuresAreListed(t *testing.T) {
	slow := "{wait: PT1M, timeout: {after: PT1S}}"
	child := "{run: {workflow: {namespace: test, name: child, version: latest}}}"
	raise := "{raise: {error: {type: about:blank, status: 500}}}"
	for name, c := range map[string]struct{ document, want string }{
		"none":                  {"do: [{a: {set: {x: 1}}}]", "from test/r\n"},
		"its own":               {"do: [{a: " + raise + "}]", "/do/0/a: task uncaught\nfrom test/r\n"},
		"a timeout":             {"do: [{a: " + slow + "}]", "/do/0/a: timeout task uncaught\nfrom test/r\n"},
		"the workflow's":        {"timeout: {after: PT1S}\ndo: [{a: {wait: PT1M}}]", ": timeout workflow uncaught\nfrom test/r\n"},
		"caught":                {"do: [{t: {try: [{a: " + slow + "}], catch: {do: []}}}]", "/do/0/t/try/0/a: timeout task caught /do/0/t\nfrom test/r\n"},
		"through another task":  {"do: [{t: {try: [{d: {do: [{a: " + raise + "}]}}], catch: {do: []}}}]", "/do/0/t/try/0/d/do/0/a: task caught /do/0/t\nfrom test/r\n"},
		"the error of another":  {"do: [{t: {try: [{a: " + raise + "}], catch: {when: '${ 1 + \"x\" }'}}}]", "/do/0/t/try/0/a: task replaced\n/do/0/t: task uncaught\nfrom test/r\n"},
		"a child's":             {"do: [{a: " + child + "}]", "child of /do/0/a: test/r faulted\n/do/0/a: child test/r uncaught\nfrom test/r\n"},
		"retried until the end": {"do: [{t: {try: [{a: " + raise + "}], catch: {retry: {delay: PT1S, limit: {attempt: {count: 1}}}}}}]", "/do/0/t/try/0/a: task retried /do/0/t\n/do/0/t!1/try/0/a: task uncaught\nfrom test/r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				h.deploy("child", "do: [{a: "+raise+"}]")
				defer h.work(worker.Config{})()
				i := h.start(c.document, client.StartOptions{ID: "r"})
				h.wait(i)
				if got := h.review(i); got != c.want {
					t.Errorf("got\n%swant\n%s", got, c.want)
				}
			})
		})
	}
}

// TestReasonsReachEveryone: the reason of a cancellation reaches the run's children, their children, the callers that wait for it, and its
// description.
func TestReasonsReachEveryone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.deploy("leaf", "do: [{a: {wait: PT1H}}]")
		h.deploy("middle", "do: [{a: {run: {workflow: {namespace: test, name: leaf, version: latest}}}}]")
		defer h.work(worker.Config{})()
		root := h.start("do: [{a: {run: {workflow: {namespace: test, name: middle, version: latest}}}}]", client.StartOptions{ID: "root"})
		time.Sleep(time.Second)
		middle := h.child(root)
		leaf := h.child(middle)
		if err := h.client.Cancel(t.Context(), root, "lunch"); err != nil {
			t.Fatal(err)
		}
		if o := h.wait(root); o.Reason != "lunch" {
			t.Errorf("who waits hears %q", o.Reason)
		}
		for i, by := range map[store.Instance]store.Instance{middle: root, leaf: middle} {
			if o := h.wait(i); !strings.Contains(o.Reason, by.String()) || !strings.HasSuffix(o.Reason, "lunch") {
				t.Errorf("%s was cancelled since %q", i, o.Reason)
			}
			d, err := h.client.Describe(t.Context(), i)
			if err != nil || !strings.Contains(d.Why, "lunch") {
				t.Errorf("%s shows %q, %v", i, d.Why, err)
			}
			var first interpreter.HistoryEvent
			_, err = h.client.History(t.Context(), i, 0, func(e client.HistoryEntry) error {
				if first.Type == "" {
					first = e.Events[0]
				}
				return nil
			})
			if err != nil || first.Run != by.String() {
				t.Errorf("the history of %s begins with %+v, %v", i, first, err)
			}
		}
	})
}

// TestCancelledChildTellsWhy: the parent of a run that was cancelled gets the reason with the error.
func TestCancelledChildTellsWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.deploy("leaf", "do: [{a: {wait: PT1H}}]")
		defer h.work(worker.Config{})()
		root := h.start("do: [{a: {run: {workflow: {namespace: test, name: leaf, version: latest}}}}]", client.StartOptions{})
		time.Sleep(time.Second)
		leaf := h.child(root)
		if err := h.client.Cancel(t.Context(), leaf, "out of stock"); err != nil {
			t.Fatal(err)
		}
		fault := h.wait(root).Fault
		if fault == nil || !strings.HasSuffix(fault.Detail, "out of stock") || fault.Extensions[interpreter.MemberRun] != leaf.String() {
			t.Errorf("got %+v", fault)
		}
	})
}
