package runtime_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/filter"
	"github.com/swrun/swrun/runtime/worker"
)

// beside is a task that starts the workflow child and does not wait for it; policy may be empty.
func beside(policy string) string {
	metadata := ""
	if policy != "" {
		metadata = ", metadata: {swrun: {parentClose: " + policy + "}}"
	}
	return "{r: {run: {await: false, workflow: {namespace: test, name: child, version: latest}}" + metadata + "}}"
}

// TestParentCloseOfOthers is promises 224 and 230: if its policy requires it, a child beside its parent ends with the parent, for every
// kind of end, and has no more time than its parent. Without a policy it continues, and has its own time.
func TestParentCloseOfOthers(t *testing.T) {
	for name, c := range map[string]struct {
		before, after string
		closed        string // the parent
	}{
		"the parent completes":     {"do: [", ", {w: {wait: PT5S}}]", "completed"},
		"the parent fails":         {"do: [", ", {w: {wait: PT5S}}, {e: {raise: {error: {type: about:blank, status: 500}}}}]", "faulted"},
		"the workflow times out":   {"timeout: {after: PT5S}\ndo: [", ", {w: {wait: PT5M}}]", "timed_out"},
		"the run times out":        {"do: [", ", {w: {wait: PT5M}}]", "timed_out"},
		"the parent is cancelled":  {"do: [", ", {w: {wait: PT5M}}]", "cancelled"},
		"the parent is terminated": {"do: [", ", {w: {wait: PT5M}}]", "terminated"},
		"the task is over":         {"do: [{d: {timeout: {after: PT3S}, do: [", "]}}, {w: {wait: PT5S}}]", "completed"},
	} {
		for policy, want := range map[string]string{"cancel": "cancelled", "terminate": "terminated", "abandon": "completed", "": "completed"} {
			t.Run(name+" "+policy, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					h := newHost(t)
					defer h.work(worker.Config{})()
					h.deploy("child", "do: [{a: {wait: PT1M}}]")
					options := client.StartOptions{}
					if name == "the run times out" {
						options.RunTimeout = 5 * time.Second
					}
					i := h.start(c.before+beside(policy)+c.after, options)
					time.Sleep(4 * time.Second)
					child := h.child(i)
					deadlines := h.described(child, false).Deadlines
					if inherits := len(deadlines) == 1 && deadlines[0].Inherited; inherits != (name == "the workflow times out" && want != "completed") {
						t.Errorf("the child has the deadlines %+v", deadlines)
					}
					time.Sleep(time.Second)
					switch c.closed {
					case "cancelled":
						h.must(h.client.Cancel(t.Context(), i, "enough"))
					case "terminated":
						h.must(h.client.Terminate(t.Context(), i, "enough"))
						if want == "cancelled" {
							want = "terminated"
						}
					}
					h.wait(i)
					if name == "the workflow times out" && want != "completed" {
						want = "timed_out"
					}
					o := h.wait(child)
					if h.record(i).Reason != c.closed || h.record(child).Reason != want || (took(o) == time.Minute) != (want == "completed") {
						t.Errorf("the parent is closed as %s, the child as %s after %s", h.record(i).Reason, h.record(child).Reason, took(o))
					}
				})
			})
		}
	}
}

// TestChildrenBesideAreForgotten: children that ended are forgotten, so that a run may start more of them in sequence than it may have at a
// time.
func TestChildrenBesideAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		defer h.work(worker.Config{})()
		h.deploy("child", "do: [{a: {wait: PT1S}}]")
		i := h.start("do: [{l: {for: {each: x, in: '${ [range(1100)] }'}, do: ["+beside("cancel")+", {w: {wait: {milliseconds: 2000}}}]}}]", client.StartOptions{})
		if o := h.wait(i); o.Status != interpreter.StatusCompleted {
			t.Fatalf("it has ended as %+v", o)
		}
		if n := len(slices.DeleteFunc(h.records(i), func(r string) bool { return r != string(interpreter.WorkflowChildEnded) })); n != 1100 {
			t.Errorf("its history tells the end of %d children", n)
		}
	})
}

// TestTooManyChildrenBeside fail the task that starts one more than a run may have.
func TestTooManyChildrenBeside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		defer h.work(worker.Config{})()
		h.deploy("child", "do: [{a: {wait: PT1H}}]")
		i := h.start("do: [{l: {for: {each: x, in: '${ [range(1001)] }'}, do: ["+beside("cancel")+"]}}]", client.StartOptions{})
		if o := h.wait(i); o.Fault == nil || !strings.Contains(o.Fault.Error(), "children") {
			t.Errorf("it has ended as %+v", o)
		}
		time.Sleep(time.Minute)
		h.must(h.client.Each(t.Context(), filter.Begins(i.ID+"."), func(f *filter.Run) bool {
			if f.Lifecycle.Reason != "cancelled" {
				t.Errorf("%s is %s %s", f.Instance, f.Lifecycle.Status, f.Lifecycle.Reason)
			}
			return f.Lifecycle.Reason == "cancelled"
		}))
	})
}

// TestChildrenBesideSeveralRuns: a child continues with the next run of its parent's execution, and ends with the last run.
func TestChildrenBesideSeveralRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		stop := h.work(worker.Config{})
		h.deploy("child", "do: [{a: {wait: PT1H}}]")
		i := h.start(`do: [{s: {if: '${ $input.n == null }', do: [`+beside("cancel")+`, {c: {call: 'continue-as-new:1.0.0@default', with: {input: {n: 1}}}}]}}, {w: {wait: PT10M}}]`, client.StartOptions{})
		time.Sleep(time.Minute)
		stop() // another worker restores the stored state
		defer h.work(worker.Config{})()
		time.Sleep(time.Minute)
		child := h.child(i)
		if r := h.record(child); r.Status.Final() || h.described(i, false).State.RunNumber() != 2 {
			t.Fatalf("in run %d of its parent the child is %s", h.described(i, false).State.RunNumber(), r.Reason)
		}
		h.wait(i)
		if o := h.wait(child); h.record(child).Reason != "cancelled" || !strings.Contains(fmt.Sprint(h.described(child, false).Reason), ", completed") {
			t.Errorf("the child has ended as %+v: %s", o, h.described(child, false).Reason)
		}
	})
}

// TestDeadlinesOfChildrenBeside: they move with the deadlines of their parent.
func TestDeadlinesOfChildrenBeside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		defer h.work(worker.Config{})()
		h.deploy("child", "do: [{a: {wait: PT1H}}]")
		i := h.start("timeout: {after: PT10M}\ndo: ["+beside("cancel")+", {w: {wait: PT1H}}]", client.StartOptions{})
		time.Sleep(time.Minute)
		child := h.child(i)
		h.mustMove(i, client.DeadlineChange{At: h.record(i).Started.Add(5 * time.Minute)})
		o := h.wait(child)
		if h.record(child).Reason != "timed_out" || took(o).Round(time.Second) != 5*time.Minute {
			t.Errorf("the child is closed as %s after %s", h.record(child).Reason, took(o))
		}
	})
}

// TestForksHaveNoChildrenBeside: a fork starts its own children, and does not affect the children of the original run.
func TestForksHaveNoChildrenBeside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		defer h.work(worker.Config{})()
		h.deploy("child", "do: [{a: {wait: PT1H}}]")
		i := h.start("do: ["+beside("cancel")+", {w: {wait: PT1M}}, {x: {wait: PT10M}}]", client.StartOptions{})
		time.Sleep(2 * time.Minute)
		child := h.child(i)
		forked := h.mustFork(i, client.ForkOptions{From: "/do/2/x"})
		h.must(h.client.Cancel(t.Context(), forked.Instance, ""))
		h.wait(forked.Instance)
		time.Sleep(time.Second)
		if r := h.record(child); r.Status.Final() {
			t.Errorf("the child ended with the fork, as %s", r.Reason)
		}
		h.wait(i)
		h.wait(child)
		if r := h.record(child); r.Reason != "cancelled" || h.record(i).Reason != "completed" {
			t.Errorf("the child is closed as %s", r.Reason)
		}
	})
}
