package runtime_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// retries returns the events of a type in the history: the position, the attempt, the delay, and the status of the error.
func (h *host) retries(i store.Instance, of interpreter.HistoryEventType) (all []string) {
	h.Helper()
	_, err := h.client.History(h.Context(), i, 0, func(e client.HistoryEntry) error {
		for _, r := range e.Events {
			if r.Type == of {
				status := 0
				if r.Error != nil {
					status = r.Error.Status
				}
				all = append(all, fmt.Sprint(r.Pointer, " ", r.Attempt, " ", r.Until.Sub(r.At).Round(time.Second), " ", status))
			}
		}
		return nil
	})
	h.must(err)
	return all
}

// TestPromise206 and 208: a retried failure is an event of its own, which contains the attempt and the delay, and therefore the time of the
// next attempt. For a try it contains the next attempt, for an activity the failed attempt.
func TestPromise206(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		defer h.work(worker.Config{})()
		i := h.start("do: [{t: {try: [{a: {raise: {error: {type: about:blank, status: 503}}}}], catch: {retry: {delay: PT5S, backoff: {exponential: {}}, limit: {attempt: {count: 2}}}}}}]", client.StartOptions{})
		h.wait(i)
		if got, want := fmt.Sprint(h.retries(i, interpreter.RetryScheduled)), "[/do/0/t 2 10s 0 /do/0/t 3 20s 0]"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
	withActivities(t, func(a *activities) {
		i := a.activity("timeouts: {startToClose: PT1S}, retry: {backoff: [PT5S, PT20S]}")
		e := errors.Runtimef("no")
		e.Status = 503
		a.must(a.matcher.Fail(a.Context(), a.poll().Token, e, false))
		a.poll()
		a.poll()
		a.caught(i)
		a.expect(a.retries(i, interpreter.EffectRetried), "[/do/0/outer/try/0/work 1 5s 503 /do/0/outer/try/0/work 2 20s 408]")
	})
}

// TestNoTimeoutOfItsOwn is promise 78: where neither the document nor the start nor a setting has a timeout, nothing ends.
func TestNoTimeoutOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		const long = 90 * time.Minute
		h.perform = func(ctx context.Context, _ interpreter.Request) (any, error) {
			select {
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			case <-time.After(long):
				return "done", nil
			}
		}
		defer h.work(worker.Config{})()
		h.deploy("child", "do: [{w: {wait: PT2H}}]")
		i := h.start("do: [{f: {fork: {branches: [{e: "+task+"}, {w: {wait: PT2H}}, {c: {run: {workflow: {namespace: test, name: child, version: latest}}}}]}}}]", client.StartOptions{})
		if o := h.wait(i); o.Status != interpreter.StatusCompleted || took(o).Round(time.Minute) != 2*time.Hour {
			t.Errorf("got %+v after %s", o, took(o))
		}
	})
}
