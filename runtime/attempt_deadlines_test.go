package runtime_test

import (
	"testing"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
)

// TestWindowsOfAttempts: which timeouts count anew for each attempt, and which never does (promises 29, 32, 34, 36 to 39 and 41).
func TestWindowsOfAttempts(t *testing.T) {
	take := func(n int) func(*activities) {
		return func(a *activities) {
			for range n {
				a.poll()
			}
		}
	}
	for name, c := range map[string]struct {
		with   string
		worker func(*activities)
		after  time.Duration
		kind   string
		events string
	}{
		"each attempt has its own time": {
			"timeouts: {startToClose: PT1S}, retry: {maxAttempts: 2, backoff: [PT5S]}", take(2), 7 * time.Second,
			interpreter.DeadlineStartToClose, "effect.retried 1 start_to_close by w1, effect.finished 2 start_to_close by w1"},
		"each attempt has its own heartbeats": {
			"timeouts: {heartbeat: PT2S}, retry: {maxAttempts: 2, backoff: [PT5S]}", take(2), 9 * time.Second,
			interpreter.DeadlineHeartbeat, "effect.retried 1 heartbeat by w1, effect.finished 2 heartbeat by w1"},
		"all have the same end, in a delay too": {
			"timeouts: {startToClose: PT1S, scheduleToClose: PT1M}, retry: {maxAttempts: 9, backoff: [PT1H]}", take(1), time.Minute,
			interpreter.DeadlineScheduleToClose, "effect.retried 1 start_to_close by w1, effect.finished 2 schedule_to_close"},
		"and while an attempt is made": {
			"timeouts: {startToClose: PT20S, scheduleToClose: PT30S}, retry: {maxAttempts: 9, backoff: [PT1S]}", take(2), 30 * time.Second,
			interpreter.DeadlineScheduleToClose, "effect.retried 1 start_to_close by w1, effect.finished 2 schedule_to_close by w1"},
		"the window to be taken begins when the next attempt is available": {
			"timeouts: {scheduleToStart: PT10S, heartbeat: PT3S}, retry: {maxAttempts: 2, backoff: [PT5S]}", take(1), 18 * time.Second,
			interpreter.DeadlineScheduleToStart, "effect.retried 1 heartbeat by w1, effect.finished 2 schedule_to_start"},
		"or is given back": {
			"timeouts: {scheduleToStart: PT10S}", func(a *activities) {
				time.Sleep(8 * time.Second)
				task := a.poll()
				time.Sleep(time.Second)
				a.must(a.matcher.Return(a.Context(), task.Token))
			}, 19 * time.Second, interpreter.DeadlineScheduleToStart, "effect.finished 1 schedule_to_start"},
		"a failure in time does not give more": {
			"timeouts: {scheduleToClose: PT9S}, retry: {maxAttempts: 9, backoff: [PT5S]}", func(a *activities) {
				time.Sleep(time.Second)
				a.must(a.matcher.Fail(a.Context(), a.poll().Token, errors.Runtimef("no"), false))
			}, 9 * time.Second, interpreter.DeadlineScheduleToClose, "effect.retried 1 by w1, effect.finished 2 schedule_to_close"},
	} {
		t.Run(name, func(t *testing.T) {
			withActivities(t, func(a *activities) {
				i := a.activity(c.with)
				c.worker(a)
				caught, took := a.caught(i)
				a.expect([]any{caught["status"], caught["kind"]}, []any{408, c.kind})
				a.expect(a.events(i), c.events)
				if took < c.after || took > c.after+30*time.Millisecond {
					a.Errorf("it took %s, want %s", took, c.after)
				}
			})
		})
	}
}
