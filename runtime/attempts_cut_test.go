package runtime_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// cutAttempts returns the records of the history about attempts that were cut from outside: the record, the attempt, its worker, and the
// seconds since the start of the run.
func (a *activities) cutAttempts(i store.Instance) string {
	a.Helper()
	var all []string
	var begun time.Time
	_, err := a.client.History(a.Context(), i, 0, func(e client.HistoryEntry) error {
		for _, r := range e.Events {
			if begun.IsZero() {
				begun = r.At
			}
			if !r.Cut() {
				continue
			}
			text := fmt.Sprintf("%s %s %d", r.Type, r.Pointer, r.Attempt)
			if r.Worker != "" || !r.StartedAt.IsZero() {
				text += fmt.Sprintf(" by %s at %.0fs", r.Worker, r.StartedAt.Sub(begun).Seconds())
			}
			all = append(all, text)
		}
		return nil
	})
	a.must(err)
	return strings.Join(all, ", ")
}

// TestCutAttemptsHaveTheirWorker: the history of an attempt that is cut from outside contains its worker and the start, for every kind of
// cut. The worker has sent heartbeats before (promises 225).
func TestCutAttemptsHaveTheirWorker(t *testing.T) {
	const call = "call: 'activity:1.0.0@default', with: {type: resize, retry: {maxAttempts: 0, backoff: [PT1S]}}"
	const slow = "{work: {" + call + "}}"
	end := func(how func(*activities, store.Instance) error) func(*activities, store.Instance) {
		return func(a *activities, i store.Instance) { a.must(how(a, i)) }
	}
	cancel := end(func(a *activities, i store.Instance) error { return a.client.Cancel(a.Context(), i, "") })
	for name, c := range map[string]struct {
		document string
		then     func(*activities, store.Instance)
		want     string
	}{
		"the task's timeout":     {"do: [{work: {" + call + ", timeout: {after: PT10S}}}]", nil, "task.faulted /do/0/work 1 by w1 at 3s"},
		"the timeout around":     {"do: [{d: {timeout: {after: PT10S}, do: [" + slow + "]}}]", nil, "task.cancelled /do/0/d/do/0/work 1 by w1 at 3s"},
		"the workflow's timeout": {"timeout: {after: PT10S}\ndo: [" + slow + "]", nil, "task.cancelled /do/0/work 1 by w1 at 3s"},
		"a cancel":               {"do: [" + slow + "]", cancel, "task.cancelled /do/0/work 1 by w1 at 3s"},
		"a terminate": {"do: [" + slow + "]", end(func(a *activities, i store.Instance) error { return a.client.Terminate(a.Context(), i, "") }),
			"task.cancelled /do/0/work 1 by w1 at 3s"},
		"a cancel while suspended": {"do: [" + slow + "]", func(a *activities, i store.Instance) { a.suspend(i); cancel(a, i) }, "task.cancelled /do/0/work 1 by w1 at 3s"},
		"a race that is lost": {"do: [{f: {fork: {compete: true, branches: [" + slow + ", {w: {wait: PT10S}}]}}}]", nil,
			"task.cancelled /do/0/f/fork/branches/0/work 1 by w1 at 3s"},
		"a failure beside": {"do: [{f: {fork: {branches: [" + slow + ", {l: {do: [{w: {wait: PT10S}}, {r: {raise: {error: {type: about:blank, status: 500}}}}]}}]}}}]", nil,
			"task.cancelled /do/0/f/fork/branches/0/work 1 by w1 at 3s"},
		"the next run": {"do: [{once: {if: '$runtime.metadata.runNumber < 2', fork: {branches: [" + slow + ", {l: {do: [{w: {wait: PT10S}}, {n: {call: 'continue-as-new:1.0.0@default'}}]}}]}}}]", nil,
			"task.cancelled /do/0/once/fork/branches/0/work 1 by w1 at 3s"},
		"the second attempt": {"do: [" + slow + "]", func(a *activities, i store.Instance) { a.retake(); cancel(a, i) }, "task.cancelled /do/0/work 2 by w1 at 8s"},
		"between two attempts": {"do: [" + slow + "]", func(a *activities, i store.Instance) {
			a.must(a.matcher.Fail(a.Context(), a.token, errors.Runtimef("no"), false))
			cancel(a, i)
		}, "task.cancelled /do/0/work 2"},
		"an attempt that was given back": {"do: [" + slow + "]", func(a *activities, i store.Instance) { a.must(a.matcher.Return(a.Context(), a.token)); cancel(a, i) }, "task.cancelled /do/0/work 1"},
	} {
		t.Run(name, func(t *testing.T) {
			withActivities(t, func(a *activities) {
				i := a.start(c.document, client.StartOptions{})
				time.Sleep(3 * time.Second)
				a.token = a.poll().Token
				time.Sleep(time.Second)
				_, err := a.matcher.Heartbeat(a.Context(), a.token, &interpreter.Value{V: "half"})
				a.must(err)
				if c.then != nil {
					c.then(a, i)
				}
				a.wait(i)
				a.expect(a.cutAttempts(i), c.want)
			})
		})
	}
}

// retake has the attempt fail, and takes the next one.
func (a *activities) retake() {
	a.Helper()
	a.must(a.matcher.Fail(a.Context(), a.token, errors.Runtimef("no"), false))
	time.Sleep(4 * time.Second)
	a.token = a.poll().Token
}

// TestBusyWorkersKeepNoRunFromEnding: a worker with constant heartbeats changes the record of its activity between any two commits.
func TestBusyWorkersKeepNoRunFromEnding(t *testing.T) {
	withActivities(t, func(a *activities) {
		i := a.start("do: [{work: {call: 'activity:1.0.0@default', with: {type: resize}, timeout: {after: PT10S}}}]", client.StartOptions{})
		a.token = a.poll().Token
		stop := make(chan struct{})
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for {
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
					if _, err := a.matcher.Heartbeat(a.Context(), a.token, nil); err != nil {
						return
					}
				}
			}
		}()
		if o := a.wait(i); took(o) > 11*time.Second {
			a.Errorf("it ends after %s", took(o))
		}
		close(stop)
		<-ended
		a.expect(a.cutAttempts(i), "task.faulted /do/0/work 1 by w1 at 0s")
	})
}
