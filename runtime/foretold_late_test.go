package runtime_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// TestSoftDeadlinesAreNamed: a scope that describe names to become late does so at that time, if nothing happens until then, and no other one does: the run, its
// loops, branches and tries with their retries, and while the run is suspended or its deadlines are moved.
func TestSoftDeadlinesAreNamed(t *testing.T) {
	late := map[string]int{}
	_, all := nameSeeds(t, 3, true, func(a *activities, s *scopes, i store.Instance) {
		if s.IntN(3) == 0 {
			a.move(s, i, map[string]int{})
		}
		a.awaitLate(i, late)
	})
	if all {
		expectCounted(t, late, "run", "task", "suspended", "several")
	}
}

// awaitLate lets the soft deadlines pass that come before anything else happens to a run.
func (a *activities) awaitLate(i store.Instance, late map[string]int) {
	a.Helper()
	for range 20 {
		d, err := a.client.Describe(a.Context(), i)
		a.must(err)
		next := nextSoft(d)
		if next.IsZero() || d.Lifecycle.Wake.Before(next) || len(d.Deadlines) > 0 && !next.Before(d.Deadlines[0].At) {
			return
		}
		var want []dsl.Pointer
		for _, soft := range d.Soft {
			if soft.At.Equal(next) {
				want = append(want, soft.Pointer)
			}
		}
		time.Sleep(time.Until(next) + 1037*time.Microsecond)
		if got := a.becameLate(i, next); !slices.Equal(got, want) {
			a.Errorf("at %s, %v is named to become late, and %v did", next, want, got)
		}
		note(late, d, want)
	}
}

// note counts the late scopes.
func note(late map[string]int, d *client.Description, scopes []dsl.Pointer) {
	for _, scope := range scopes {
		late[map[bool]string{true: "run", false: "task"}[scope == ""]]++
	}
	if d.State.Suspended {
		late["suspended"]++
	}
	if len(scopes) > 1 {
		late["several"]++
	}
}

// nextSoft returns when the next scope becomes late; zero if none does.
func nextSoft(d *client.Description) (next time.Time) {
	for _, soft := range d.Soft {
		if !soft.Late {
			next = interpreter.Earlier(next, soft.At)
		}
	}
	return next
}

// becameLate returns the scopes that became late since a time, according to the history.
func (a *activities) becameLate(i store.Instance, since time.Time) (scopes []dsl.Pointer) {
	a.Helper()
	_, err := a.client.History(a.Context(), i, 0, func(e client.HistoryEntry) error {
		for _, r := range e.Events {
			if is := r.Type == interpreter.WorkflowLate || r.Type == interpreter.TaskLate; is && !e.At.Before(since) {
				if !r.Until.Equal(since) {
					a.Errorf("%q became late at %s, and not at %s", r.Pointer, r.Until, since)
				}
				scopes = append(scopes, r.Pointer)
			}
		}
		return nil
	})
	a.must(err)
	d, err := a.client.Describe(a.Context(), i)
	a.must(err)
	for _, soft := range d.Soft {
		if passed := !soft.At.After(d.At); passed != soft.Late {
			a.Errorf("%q has become late at %s: %t, as described at %s", soft.Pointer, soft.At, soft.Late, d.At)
		}
	}
	return scopes
}

// TestSoftDeadlineOfAPendingRun: the soft deadline of a run that has not begun counts from its start, like its timeouts, so that the run is
// not late before it begins. If its timeouts count from the acceptance, so does the soft deadline. The description at the start matches the
// later events.
func TestSoftDeadlineOfAPendingRun(t *testing.T) {
	for name, c := range map[string]struct {
		options client.StartOptions
		at      time.Duration // after which it becomes late
	}{
		"ready":   {client.StartOptions{}, 25 * time.Second},
		"delayed": {client.StartOptions{Delay: time.Minute}, 65 * time.Second},
		"accept":  {client.StartOptions{TimeoutsFromAccept: true}, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				began := time.Now()
				i := h.start("{metadata: {swrun: {softDeadline: PT5S}}}\ndo: [{a: {wait: PT2M}}]", c.options)
				time.Sleep(20 * time.Second)
				d := h.described(i, false)
				if len(d.Soft) != 1 || !d.Soft[0].At.Equal(began.Add(c.at)) || d.CountsOnceBegun() == c.options.TimeoutsFromAccept {
					t.Errorf("got %+v", d.Soft)
				}
				defer h.work(worker.Config{})()
				time.Sleep(time.Minute)
				if d := h.described(i, false); len(d.Soft) != 1 || !d.Soft[0].Late || !d.Soft[0].At.Equal(began.Add(c.at)) {
					t.Errorf("got %+v", d.Soft)
				}
				if !slices.Contains(h.records(i), "workflow.late") {
					t.Error(h.records(i))
				}
			})
		})
	}
}
