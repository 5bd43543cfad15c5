package runtime_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/matching"
)

// sequence returns a document with n activities in sequence.
func sequence(n int) string {
	var tasks strings.Builder
	tasks.WriteString("do:\n")
	for i := range n {
		fmt.Fprintf(&tasks, "  - t%d: {call: 'activity:1.0.0@default', with: {type: x, timeouts: {startToClose: PT1H, heartbeat: PT1M}}}\n", i)
	}
	return tasks.String()
}

// TestQuickActivities: while activities end soon, their run stays in memory. It is claimed once, and the store is asked for an activity only
// when it is taken.
func TestQuickActivities(t *testing.T) {
	withOutsideWorkers(t, true, func(a *activities) {
		i := a.start(sequence(20), client.StartOptions{})
		for range 20 {
			task := a.poll()
			time.Sleep(100 * time.Millisecond)
			a.must(a.matcher.Complete(a.Context(), task.Token, map[string]any{"n": 1}))
		}
		if o := a.wait(i); o.Status != interpreter.StatusCompleted || a.calls.claims.Load() != 1 || a.calls.changes.Load() != 20 {
			a.Errorf("it ends as %+v after %d claims and %d changes", o, a.calls.claims.Load(), a.calls.changes.Load())
		}
		a.expect(strings.Count(a.events(i), "effect.finished 1 by w1"), 20)
	})
}

// TestSlowActivities: activities that take long are not waited for in memory, but for one of many, which shows whether they still do.
func TestSlowActivities(t *testing.T) {
	withOutsideWorkers(t, true, func(a *activities) {
		i := a.start(sequence(200), client.StartOptions{})
		for range 200 {
			task := a.poll()
			time.Sleep(10 * time.Second)
			a.must(a.matcher.Complete(a.Context(), task.Token, nil))
		}
		l, err := a.store.Load(a.Context(), i)
		a.must(err)
		if o := a.wait(i); o.Status != interpreter.StatusCompleted || l.Lifecycle.Version > 420 {
			a.Errorf("it ends as %+v after %d commits", o, l.Lifecycle.Version)
		}
	})
}

// TestReportsOfOneRun: activities that end at one time are stored with one commit, each with its own end.
func TestReportsOfOneRun(t *testing.T) {
	withOutsideWorkers(t, true, func(a *activities) {
		i := a.start("do: [{f: {fork: {branches: ["+strings.Repeat("{b: {call: 'activity:1.0.0@default', with: {type: x, retry: {backoff: [PT1S]}}}},", 10)+"]}}}]", client.StartOptions{})
		tasks, err := a.matcher.Poll(a.Context(), matching.Poll{Queues: []string{"default"}, Limit: 20, Worker: "w1"})
		if a.must(err); len(tasks) != 10 {
			a.Fatalf("polled %d", len(tasks))
		}
		reported := make(chan error)
		for n, task := range tasks {
			go func() {
				if n < 5 {
					reported <- a.matcher.Complete(a.Context(), task.Token, n)
				} else {
					reported <- a.matcher.Fail(a.Context(), task.Token, errors.Runtimef("no"), false)
				}
			}()
		}
		for range tasks {
			a.must(<-reported)
		}
		for range tasks[5:] {
			a.must(a.matcher.Complete(a.Context(), a.poll().Token, "again"))
		}
		var ends []string
		for _, end := range a.wait(i).Output.([]any) {
			ends = append(ends, fmt.Sprint(end))
		}
		slices.Sort(ends) // workers take activities of one time in any order
		a.expect(ends, "[0 1 2 3 4 again again again again again]")
		a.expect(strings.Count(a.events(i), "effect.finished"), 10)
	})
}

// TestReportAfterHeartbeat: a report is stored directly also if the worker has sent heartbeats, and repeating it changes nothing.
func TestReportAfterHeartbeat(t *testing.T) {
	withOutsideWorkers(t, true, func(a *activities) {
		i := a.start(sequence(1), client.StartOptions{})
		task := a.poll()
		_, err := a.matcher.Heartbeat(a.Context(), task.Token, &interpreter.Value{V: 0.5})
		a.must(err)
		changes := a.calls.changes.Load()
		a.must(a.matcher.Complete(a.Context(), task.Token, 1))
		if a.calls.changes.Load() != changes {
			a.Error("the store was asked")
		}
		a.must(a.matcher.Complete(a.Context(), task.Token, 1))
		var superseded *matching.SupersededError
		if err := a.matcher.Fail(a.Context(), task.Token, errors.Runtimef("no"), false); !errors.As(err, &superseded) {
			a.Errorf("another end is answered with %v", err)
		}
		a.expect(a.wait(i).Output, 1)
	})
}

// TestReportOfAnActivityThatHasChanged: the knowledge of this process about an activity may be outdated. Then the store decides.
func TestReportOfAnActivityThatHasChanged(t *testing.T) {
	withOutsideWorkers(t, true, func(a *activities) {
		i := a.start(sequence(1), client.StartOptions{})
		task := a.poll()
		elsewhere := matching.New(matching.Config{Store: a.store})
		_, err := elsewhere.Heartbeat(a.Context(), task.Token, &interpreter.Value{V: "half"})
		a.must(err)
		a.must(a.matcher.Complete(a.Context(), task.Token, 1))
		a.expect(a.wait(i).Output, 1)
	})
}
