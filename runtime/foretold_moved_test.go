package runtime_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// TestMovedDeadlinesAreNamed: the deadline that describe names as the first fires first, after deadlines of the execution, of the run and
// of tasks were moved, added and removed, also while the run is suspended. A refused change has no effect.
func TestMovedDeadlinesAreNamed(t *testing.T) {
	moved := map[string]int{}
	_, all := nameSeeds(t, 2, false, func(a *activities, s *scopes, i store.Instance) { a.move(s, i, moved) })
	if all {
		expectCounted(t, moved, "execution moved", "execution added", "execution removed", "run moved", "run added", "run removed",
			"task moved", "task added", "task removed", "refused")
	}
}

// move changes up to two deadlines of a run, or is refused.
func (a *activities) move(s *scopes, i store.Instance, moved map[string]int) {
	a.Helper()
	for range s.IntN(3) {
		before, err := a.client.Describe(a.Context(), i)
		a.must(err)
		if before.Lifecycle.Status.Final() {
			return
		}
		c, kind := s.change(before)
		set, err := a.client.SetDeadline(a.Context(), i, c)
		if err != nil {
			if code := store.RefusedAs(err); code != store.Conflict && code != store.TimedOut {
				a.Errorf("%+v is refused with %v", c, err)
			}
			moved["refused"]++
			set = client.MovedDeadline{}
		} else {
			moved[kind+" "+changeOf(set)]++
		}
		time.Sleep(100_037 * time.Microsecond) // a worker carries it out, at no time at which a deadline passes
		a.expectMoved(before, c, set)
	}
}

// change returns a change of one of the deadlines of a run, and of which kind that is.
func (s *scopes) change(d *client.Description) (c client.DeadlineChange, kind string) {
	by := time.Duration(s.IntN(100_000)) * time.Millisecond
	switch s.IntN(4) {
	case 0:
		c.None = true
	case 1:
		c.At = d.At.Add(by)
	case 2:
		c.By = -by
	default:
		c.By = by
	}
	switch kind = []string{"execution", "run", "task", "task"}[s.IntN(4)]; kind {
	case "run":
		c.Run = true
	case "task":
		var tasks []dsl.Pointer
		for _, in := range d.Deadlines {
			if in.Kind == interpreter.DeadlineTask {
				tasks = append(tasks, in.Pointer)
			}
		}
		for _, o := range d.OpenTasks {
			tasks = append(tasks, o.Pointer)
		}
		if len(tasks) == 0 {
			return c, "execution"
		}
		c.Task = tasks[s.IntN(len(tasks))]
	}
	return c, kind
}

func changeOf(set client.MovedDeadline) string {
	switch {
	case set.At.IsZero():
		return "removed"
	case set.Was.IsZero():
		return "added"
	}
	return "moved"
}

// expectMoved compares the deadlines of a run before and after a change. A refused change, with a zero set, leaves all deadlines unchanged.
func (a *activities) expectMoved(before *client.Description, c client.DeadlineChange, set client.MovedDeadline) {
	a.Helper()
	after, err := a.client.Describe(a.Context(), before.Instance)
	a.must(err)
	if wake := before.Lifecycle.Wake; !wake.IsZero() && !wake.After(after.At) || !set.At.IsZero() && !set.At.After(after.At) {
		return // other events occurred in between
	}
	var want, got []string
	var was time.Time
	for _, in := range before.Deadlines {
		if replaces(c, in) && set != (client.MovedDeadline{}) {
			was = interpreter.Earlier(was, in.At)
			continue
		}
		want = append(want, deadlineText(in.Kind, in.Pointer, in.At))
	}
	if !set.At.IsZero() {
		kind := interpreter.DeadlineExecution
		if c.Task != "" {
			kind = interpreter.DeadlineTask
		} else if c.Run {
			kind = interpreter.DeadlineRun
		}
		want = append(want, deadlineText(kind, c.Task, set.At))
	}
	for _, in := range after.Deadlines {
		got = append(got, deadlineText(in.Kind, in.Pointer, in.At))
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) || !was.Equal(set.Was) {
		a.Errorf("%+v (%+v) of %v: got %v, want %v", c, set, before.Deadlines, got, want)
	}
}

// replaces reports whether a change applies to a deadline. A change of the execution also applies to the deadline of the document.
func replaces(c client.DeadlineChange, in client.DescribedDeadline) bool {
	switch in.Kind {
	case interpreter.DeadlineTask:
		return c.Task == in.Pointer
	case interpreter.DeadlineRun:
		return c.Run
	case interpreter.DeadlineExecution, interpreter.DeadlineWorkflow:
		return c.Task == "" && !c.Run
	}
	return false
}

// deadlineText names a deadline. The deadlines of the execution and of the document have the same kind.
func deadlineText(kind string, scope dsl.Pointer, at time.Time) string {
	if kind == interpreter.DeadlineWorkflow {
		kind = interpreter.DeadlineExecution
	}
	return fmt.Sprintf("%s %s %s", kind, scope, at)
}

// TestMovedDeadlineIsNamedBeforeItIsCarriedOut: a change that was accepted counts from then on, although no worker is there to carry it out: describe names the new
// deadline, as does the next change, and that one fires.
func TestMovedDeadlineIsNamedBeforeItIsCarriedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		stop := h.work(worker.Config{})
		began := time.Now()
		i := h.start("timeout: {after: PT10S}\ndo: [{a: {timeout: {after: PT8S}, wait: PT20M}}]", client.StartOptions{})
		time.Sleep(2 * time.Second)
		stop()
		h.mustMove(i, client.DeadlineChange{By: time.Hour})
		h.mustMove(i, client.DeadlineChange{By: -50 * time.Minute})
		h.mustMove(i, client.DeadlineChange{Task: "/do/0/a", None: true})
		time.Sleep(20 * time.Second) // the former deadlines pass
		want := began.Add(10*time.Minute + 10*time.Second)
		d := h.described(i, true)
		if len(d.Deadlines) != 1 || !d.Deadlines[0].At.Equal(want) || !d.Lifecycle.Deadline.Equal(want) || !strings.Contains(d.Then, "by 2000-01-01 00:10:10Z, in 9m48s") {
			t.Errorf("got %v: %s", d.Deadlines, d.Then)
		}
		defer h.work(worker.Config{})()
		if o := h.wait(i); !o.TimedOut || !o.EndedAt.Equal(want) {
			t.Errorf("got %+v", o)
		}
	})
}

// TestMovedDeadlineHoldsBesideMessages: the deadlines that were accepted without a worker hold also if other messages came before and between them.
func TestMovedDeadlineHoldsBesideMessages(t *testing.T) {
	for _, at := range []int{0, 1, 2} { // the positions of the other deadlines between two changes
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t)
			stop := h.work(worker.Config{})
			began := time.Now()
			i := h.start("timeout: {after: PT10S}\ndo: [{a: {wait: PT20M}}]", client.StartOptions{})
			time.Sleep(2 * time.Second)
			stop()
			for n := range 3 {
				if n == at {
					h.must(h.client.Suspend(t.Context(), i, "a break"))
					h.must(h.client.Resume(t.Context(), i, "it is over"))
				}
				if n < 2 {
					h.mustMove(i, client.DeadlineChange{By: 10 * time.Second})
				}
				time.Sleep(5 * time.Second) // of the first deadline, and of the second one, less is left
			}
			time.Sleep(4 * time.Second)
			want := began.Add(30 * time.Second)
			defer h.work(worker.Config{})()
			if o := h.wait(i); !o.TimedOut || !o.EndedAt.Equal(want) {
				t.Errorf("%d: got %+v", at, o)
			}
			if got := h.records(i); !slices.Contains(got, "workflow.suspended") || !slices.Contains(got, "workflow.resumed") {
				t.Error(got)
			}
		})
	}
}
