package runtime_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/worker"
)

// lateAfter returns the metadata of a scope that is late after a time.
func lateAfter(after string) string { return "metadata: {swrun: {softDeadline: " + after + "}}" }

// lateCase is a run whose soft deadlines and deadlines pass while no worker runs.
type lateCase struct {
	document string
	want     []string // the records of late scopes, and the timeouts before them
}

// lateCases are the ways in which a deadline ends a scope that has a soft deadline.
func lateCases() map[string]lateCase {
	wait := func(timeout, soft string) string {
		return "{timeout: {after: " + timeout + "}, " + lateAfter(soft) + ", wait: PT2M}"
	}
	of := func(soft, timeout, do string) string {
		return "{" + lateAfter(soft) + "}\n" + timeout + "do: [" + do + "]"
	}
	const timeout = "timeout: {after: PT10S}\n"
	return map[string]lateCase{
		"a run":                           {of("PT5S", timeout, "{a: {wait: PT2M}}"), []string{"workflow.late"}},
		"a run at its timeout":            {of("PT10S", timeout, "{a: {wait: PT2M}}"), nil},
		"a run after its timeout":         {of("PT15S", timeout, "{a: {wait: PT2M}}"), nil},
		"a run whose task times out":      {of("PT5S", "", "{a: {wait: PT2M, timeout: {after: PT10S}}}"), []string{"workflow.late"}},
		"a task":                          {"do: [{a: " + wait("PT10S", "PT5S") + "}]", []string{"task.late /do/0/a"}},
		"a task after its timeout":        {"do: [{a: " + wait("PT10S", "PT15S") + "}]", nil},
		"a task after the run's timeout":  {timeout + "do: [{a: " + wait("PT20S", "PT15S") + "}]", nil},
		"a task before the run's timeout": {timeout + "do: [{a: " + wait("PT20S", "PT5S") + "}]", []string{"task.late /do/0/a"}},
		"both in their order":             {of("PT8S", timeout, "{a: {"+lateAfter("PT5S")+", wait: PT2M}}"), []string{"task.late /do/0/a", "workflow.late"}},
		"a run after a caught timeout": {of("PT12S", "", "{t: {try: [{a: "+wait("PT10S", "PT8S")+"}], catch: {do: [{c: {wait: PT1S}}]}}}"),
			[]string{"task.late /do/0/t/try/0/a", "task.faulted /do/0/t/try/0/a", "workflow.late"}},
		"a branch beside one that times out": {"do: [{f: {fork: {branches: [{a: {timeout: {after: PT10S}, wait: PT2M}}, {b: {" + lateAfter("PT5S") + ", wait: PT2M}}]}}}]",
			[]string{"task.late /do/0/f/fork/branches/1/b"}},
		"a branch that was ended": {"do: [{f: {fork: {branches: [{a: {timeout: {after: PT10S}, wait: PT2M}}, {b: {" + lateAfter("PT15S") + ", wait: PT2M}}]}}}]", nil},
		"a try with a limit": {"do: [{t: {" + lateAfter("PT5S") + ", try: [{a: {wait: PT2M}}], catch: {retry: {limit: {duration: PT10S}}}}}]",
			[]string{"task.late /do/0/t"}},
		"an attempt": {"do: [{t: {try: [{a: {" + lateAfter("PT5S") + ", wait: PT2M}}], catch: {retry: {delay: PT1M, limit: {attempt: {count: 2, duration: PT10S}}}}}}]",
			[]string{"task.late /do/0/t/try/0/a"}},
		"an attempt that was ended": {"do: [{t: {try: [{a: {" + lateAfter("PT15S") + ", wait: PT2M}}], catch: {retry: {delay: PT1M, limit: {attempt: {count: 2, duration: PT10S}}}}}}]", nil},
		"a try after its attempt": {"do: [{t: {" + lateAfter("PT15S") + ", try: [{a: {wait: PT2M}}], catch: {retry: {delay: PT1M, limit: {attempt: {count: 2, duration: PT10S}}}}}}]",
			[]string{"task.late /do/0/t"}},
	}
}

// TestLateBeforeTheEnd: a scope whose soft deadline and whose deadline pass while no worker runs was late before it ended. A scope that ends before its
// soft deadline, or at it, was not late, and describe does not name it.
func TestLateBeforeTheEnd(t *testing.T) {
	for name, c := range lateCases() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				stop := h.work(worker.Config{})
				i := h.start(c.document, client.StartOptions{})
				time.Sleep(time.Second)
				stop()
				for range 3 { // before the deadlines, between them, and after them
					if soft, want := h.described(i, false).Soft, lateOnly(c.want); len(soft) != len(want) {
						t.Errorf("described are %v, want %q", soft, want)
					}
					time.Sleep(8 * time.Second)
				}
				defer h.work(worker.Config{})()
				time.Sleep(100 * time.Millisecond)
				got := slices.DeleteFunc(h.records(i), func(r string) bool { return !strings.Contains(r, ".late") && !slices.Contains(c.want, r) })
				if !slices.Equal(got, c.want) {
					t.Errorf("got %q, want %q, in %q", got, c.want, h.records(i))
				}
				h.verifyReplay(i)
				if !h.record(i).Status.Final() {
					h.must(h.client.Terminate(t.Context(), i, ""))
					h.wait(i)
				}
			})
		})
	}
}

// lateOnly returns the records of late scopes.
func lateOnly(records []string) []string {
	return slices.DeleteFunc(slices.Clone(records), func(r string) bool { return !strings.Contains(r, ".late") })
}

// TestLateBeforeAnEvent: an event that was published while no worker ran ends its task at that time. The task was late if its soft deadline passed before.
func TestLateBeforeAnEvent(t *testing.T) {
	for at, want := range map[time.Duration][]string{3 * time.Second: {"workflow.late"}, 8 * time.Second: {"task.late /do/0/a", "workflow.late"}} {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t)
			stop := h.work(worker.Config{})
			i := h.start("{"+lateAfter("PT7S")+"}\ndo: [{a: {timeout: {after: PT10S}, "+lateAfter("PT5S")+", listen: {to: {one: {with: {type: x}}}}}}]", client.StartOptions{})
			time.Sleep(time.Second)
			stop()
			time.Sleep(at - time.Second)
			h.publish("x 1 1")
			time.Sleep(20 * time.Second)
			defer h.work(worker.Config{})()
			h.wait(i)
			if got := h.records(i); !slices.Equal(lateOnly(got), want) || !slices.Contains(got, "task.completed /do/0/a") {
				t.Errorf("after %s, late are %q, want %q, in %q", at, lateOnly(got), want, got)
			}
			h.verifyReplay(i)
		})
	}
}

// TestLateBeforeItBegins: a run whose soft deadline counts from its acceptance is late if a worker takes it after that, also if it ends at once.
func TestLateBeforeItBegins(t *testing.T) {
	for name, c := range map[string]struct {
		document string
		want     []string
	}{
		"it completes":   {"do: [{a: {set: {x: 1}}}]", []string{"workflow.started", "workflow.late", "task.started /do/0/a", "task.completed /do/0/a", "workflow.completed"}},
		"it timed out":   {"timeout: {after: PT10S}\ndo: [{a: {set: {x: 1}}}]", []string{"workflow.late", "workflow.faulted"}},
		"it ended first": {"timeout: {after: PT3S}\ndo: [{a: {set: {x: 1}}}]", []string{"workflow.faulted"}},
		"no timeout":     {"timeout: {after: '${ .x | error }'}\ndo: [{a: {set: {x: 1}}}]", []string{"workflow.started", "workflow.late", "workflow.faulted"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				i := h.start("{"+lateAfter("PT5S")+"}\n"+c.document, client.StartOptions{TimeoutsFromAccept: true})
				time.Sleep(20 * time.Second)
				defer h.work(worker.Config{})()
				h.wait(i)
				if got := h.records(i); !slices.Equal(got, c.want) {
					t.Errorf("got %q, want %q", got, c.want)
				}
				h.verifyReplay(i)
			})
		})
	}
}

// TestSoftDeadlineAfterTheTimeoutOfAPendingRun: describe lists no soft deadline that the run cannot reach, also if both count from a start in the future.
func TestSoftDeadlineAfterTheTimeoutOfAPendingRun(t *testing.T) {
	for soft, want := range map[string]int{"PT9S": 1, "PT10S": 0, "PT15S": 0} {
		for _, fromAccept := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				i := h.start("{"+lateAfter(soft)+"}\ntimeout: {after: PT10S}\ndo: [{a: {wait: PT2M}}]", client.StartOptions{TimeoutsFromAccept: fromAccept, Delay: time.Minute})
				if d := h.described(i, false); len(d.Soft) != want {
					t.Errorf("%s, counted from the acceptance: %t: got %v", soft, fromAccept, d.Soft)
				}
			})
		}
	}
}

// TestLateBeforeItIsCancelled: a run that is cancelled before a worker takes it was late, if its soft deadline counts from its acceptance and passed before.
func TestLateBeforeItIsCancelled(t *testing.T) {
	accepted, late, cancelled := client.StartOptions{TimeoutsFromAccept: true}, "workflow.late", "workflow.cancelled"
	for name, c := range map[string]struct {
		soft, timeout string
		options       client.StartOptions
		want          []string
	}{
		"it is late":                   {"PT5S", "", accepted, []string{late, cancelled}},
		"it is late before a timeout":  {"PT5S", "timeout: {after: PT10S}\n", accepted, []string{late, cancelled}},
		"it would time out before":     {"PT5S", "timeout: {after: PT3S}\n", accepted, []string{cancelled}},
		"its start is delayed":         {"PT5S", "", client.StartOptions{TimeoutsFromAccept: true, Delay: time.Hour}, []string{late, cancelled}},
		"it is cancelled before":       {"PT1M", "", accepted, []string{cancelled}},
		"it counts from its beginning": {"PT5S", "", client.StartOptions{}, []string{cancelled}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				i := h.start("{"+lateAfter(c.soft)+"}\n"+c.timeout+"do: [{a: {set: {x: 1}}}]", c.options)
				time.Sleep(20 * time.Second)
				h.must(h.client.Cancel(t.Context(), i, "not needed"))
				defer h.work(worker.Config{})()
				h.wait(i)
				if got := h.records(i); !slices.Equal(got, c.want) {
					t.Errorf("got %q, want %q", got, c.want)
				}
				h.verifyReplay(i)
			})
		})
	}
}
