package runtime_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/matching"
	"github.com/swrun/swrun/runtime/store"
)

// TestActivityIsDescribed: the description has the worker and the start of the attempt, the last heartbeat, the end and its effect
// (promises 40, 46).
func TestActivityIsDescribed(t *testing.T) {
	withActivities(t, func(a *activities) {
		i := a.activity("queue: images, timeouts: {scheduleToStart: PT1M, startToClose: PT5M, heartbeat: PT30S}, retry: {maxAttempts: 2, backoff: [PT10S]}")
		described := func(why, then string) {
			a.Helper()
			synctest.Wait()
			d, err := client.New(client.Config{Store: a.store, Compile: a.compile}).Describe(a.Context(), i)
			if err != nil {
				a.Fatal(err)
			}
			if !strings.Contains(d.Why, why) || !strings.Contains(d.Then, then) {
				a.Errorf("described is %q, %q\nwant %q, %q", d.Why, d.Then, why, then)
			}
		}
		time.Sleep(5 * time.Second)
		described("the activity resize of /do/0/outer/try/0/work (test.yaml:5) waits for an outside worker of the queue images, since 5s (attempt 1 of 2).", "")
		ctx, cancel := context.WithTimeout(a.Context(), time.Minute)
		defer cancel()
		tasks, err := a.matcher.Poll(ctx, matching.Poll{Queues: []string{"images"}, Limit: 1, Worker: "ada"})
		if err != nil || len(tasks) != 1 {
			a.Fatal(tasks, err)
		}
		time.Sleep(2 * time.Second)
		described("ada performs the activity resize of /do/0/outer/try/0/work (test.yaml:5), since 2s (attempt 1 of 2).", "")
		if err := a.matcher.Fail(a.Context(), tasks[0].Token, errors.Runtimef("no memory"), false); err != nil {
			a.Fatal(err)
		}
		time.Sleep(4 * time.Second)
		described("in 6s (attempt 2 of 2), after: no memory.", "")
		time.Sleep(10 * time.Second)
		described("since 4s (attempt 2 of 2), after: no memory.", "the catch of /do/0/outer (test.yaml:4) takes it")
	})
}

// events returns the records of the history about attempts of activities.
func (a *activities) events(i store.Instance) string {
	a.Helper()
	var all []string
	_, err := a.client.History(a.Context(), i, 0, func(e client.HistoryEntry) error {
		for _, r := range e.Events {
			switch r.Type {
			case interpreter.EffectRetried, interpreter.EffectFinished, interpreter.ResultLate:
				text := fmt.Sprintf("%s %d", r.Type, r.Attempt)
				if r.Timeout != "" {
					text += " " + r.Timeout
				}
				if r.Worker != "" {
					text += " by " + r.Worker
				}
				all = append(all, text)
			}
		}
		return nil
	})
	if err != nil {
		a.Fatal(err)
	}
	return strings.Join(all, ", ")
}
