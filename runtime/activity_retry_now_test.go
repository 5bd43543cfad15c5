package runtime_test

import (
	"testing"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/store"
)

// TestRetryNowOfAnActivity is promise 199 for activities: the delay before the next attempt ends immediately, and not before the command.
func TestRetryNowOfAnActivity(t *testing.T) {
	withActivities(t, func(a *activities) {
		i := a.activity("retry: {maxAttempts: 3, backoff: [PT1H]}")
		task := a.poll()
		if err := a.asker().RetryNow(a.Context(), i, ""); store.RefusedAs(err) != store.Conflict {
			a.Errorf("while an attempt is made: %v", err)
		}
		a.must(a.matcher.Fail(a.Context(), task.Token, errors.Runtimef("busy"), false))
		time.Sleep(time.Minute)
		a.must(a.asker().RetryNow(a.Context(), i, "the bank is back"))
		began := time.Now()
		task = a.poll()
		if waited := time.Since(began); waited > 2*time.Second || task.Activity.Attempt != 2 {
			a.Errorf("attempt %d came after %s", task.Activity.Attempt, waited)
		}
		a.must(a.matcher.Complete(a.Context(), task.Token, "done"))
		a.expect(a.wait(i).Output, "done")
	})
}
