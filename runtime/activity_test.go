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
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/matching"
	"github.com/swrun/swrun/runtime/queue"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// activities is a host with a worker, and outside workers.
type activities struct {
	*host
	matcher *matching.Matcher
	calls   *counted
	figures *worker.Figures
	token   string // of the attempt that was taken last, for tests that continue with it
}

// withActivities runs a test in a bubble of virtual time, twice: the ends of activities reach runs by way of the store, or directly.
func withActivities(t *testing.T, test func(*activities)) {
	for _, direct := range []bool{false, true} {
		t.Run(fmt.Sprintf("direct=%v", direct), func(t *testing.T) { withOutsideWorkers(t, direct, test) })
	}
}

func withOutsideWorkers(t *testing.T, direct bool, test func(*activities)) {
	synctest.Test(t, func(t *testing.T) {
		a := &activities{host: newHost(t), figures: worker.NewFigures()}
		a.calls = &counted{Store: a.store}
		a.store = a.calls
		var w *worker.Worker
		gate := queue.NewGate(a.store, time.Now)
		c := matching.Config{Store: a.store, Gate: gate, Due: func(partition int, at time.Time) { w.Expect(partition, at) }}
		if direct {
			c.Report = func(ctx context.Context, r matching.Report) bool { return w.Report(ctx, r.ID, r.Activity, r.Operation) }
		}
		a.matcher = matching.New(c)
		ctx, stop := context.WithCancel(t.Context())
		w = worker.New(worker.Config{Store: a.store, Compile: a.compile, Gate: gate, Changed: a.matcher.Changed, Figures: a.figures})
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.Run(ctx)
		}()
		defer func() { stop(); <-done }()
		test(a)
	})
}

// activity is a run of one activity with some arguments, whose error a try catches.
func (a *activities) activity(with string) store.Instance {
	a.Helper()
	return a.start(`
do:
  - outer:
      try: [{work: {call: 'activity:1.0.0@default', with: {type: resize, input: {n: 1}, `+with+`}}}]
      catch: {as: e, do: [{caught: {set: {type: '${ $e.type }', status: '${ $e.status }', instance: '${ $e.instance }', kind: '${ $e.timeoutKind }', detail: '${ $e.detail }'}}}]}`,
		client.StartOptions{})
}

// poll returns the next activity.
func (a *activities) poll() matching.Task {
	a.Helper()
	ctx, cancel := context.WithTimeout(a.Context(), time.Hour)
	defer cancel()
	tasks, err := a.matcher.Poll(ctx, matching.Poll{Queues: []string{"default"}, Limit: 1, Worker: "w1"})
	if err != nil || len(tasks) != 1 {
		a.Fatalf("the poll answers %v, %v", tasks, err)
	}
	return tasks[0]
}

// caught returns the error that the run has caught, and how long the run has taken.
func (a *activities) caught(i store.Instance) (caught map[string]any, took time.Duration) {
	a.Helper()
	o := a.wait(i)
	caught, ok := o.Output.(map[string]any)
	if !ok {
		a.Fatalf("the run has caught nothing: %+v", o)
	}
	return caught, o.EndedAt.Sub(o.StartedAt)
}

func (a *activities) expect(got, want any) {
	a.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		a.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestActivityIsPerformed(t *testing.T) {
	withActivities(t, func(a *activities) {
		i := a.activity("")
		task := a.poll()
		a.expect(fmt.Sprintln(task.ID.Run == i, task.Activity.Type, task.Input.V, task.Activity.Attempt, task.Activity.Pointer), "true resize map[n:1] 1 /do/0/outer/try/0/work\n")
		if err := a.matcher.Complete(a.Context(), task.Token, map[string]any{"done": true}); err != nil {
			a.Fatal(err)
		}
		a.expect(a.wait(i).Output, map[string]any{"done": true})
		a.expect(a.events(i), "effect.finished 1 by w1")
	})
}

// TestActivityTimeouts: promises 27, 31, 32, 35, 37, 38, 41, 43, 45 and 219, for each of the four timeouts.
func TestActivityTimeouts(t *testing.T) {
	for _, c := range []struct {
		name, with string
		take       bool
		after      time.Duration
		kind       string
	}{
		{"schedule to start", "timeouts: {scheduleToStart: PT10S}", false, 10 * time.Second, interpreter.DeadlineScheduleToStart},
		{"start to close", "timeouts: {startToClose: PT0.25S}", true, 250 * time.Millisecond, interpreter.DeadlineStartToClose},
		{"schedule to close", "timeouts: {scheduleToClose: PT5M}, retry: {maxAttempts: 0}", true, 5 * time.Minute, interpreter.DeadlineScheduleToClose},
		{"heartbeat", "timeouts: {heartbeat: PT30S}", true, 30 * time.Second, interpreter.DeadlineHeartbeat},
		{"the first of several", "timeouts: {scheduleToStart: PT1S, startToClose: PT3S, scheduleToClose: PT2S, heartbeat: PT4S}", true, 2 * time.Second, interpreter.DeadlineScheduleToClose},
	} {
		t.Run(c.name, func(t *testing.T) {
			withActivities(t, func(a *activities) {
				i := a.activity(c.with)
				if c.take {
					a.poll()
				}
				caught, took := a.caught(i)
				a.expect([]any{caught["status"], caught["instance"], caught["kind"]}, []any{408, "/do/0/outer/try/0/work", c.kind})
				if took < c.after || took > c.after+10*time.Millisecond {
					a.Errorf("it took %s", took)
				}
				want := "effect.finished 1 " + c.kind
				if c.take {
					want += " by w1"
				}
				a.expect(a.events(i), want)
			})
		})
	}
}

// TestActivityTimeoutsUncaught: a run that ends by an uncaught timeout of an activity counts as timed out (promises 21, 203).
func TestActivityTimeoutsUncaught(t *testing.T) {
	withActivities(t, func(a *activities) {
		i := a.start("do: [{work: {call: 'activity:1.0.0@default', with: {type: x, timeouts: {scheduleToStart: PT1S}}}}]", client.StartOptions{})
		if o := a.wait(i); !o.TimedOut || o.Fault.Extensions["timeoutKind"] != interpreter.DeadlineScheduleToStart || o.Fault.Instance != "/do/0/work" {
			t.Errorf("got %+v", o)
		}
		if f := a.record(i).Failure; f.TimeoutKind != interpreter.DeadlineScheduleToStart {
			t.Errorf("lists say %+v", f)
		}
		if got, want := a.review(i), "/do/0/work: timeout schedule_to_start uncaught\nfrom "; !strings.HasPrefix(got, want) {
			t.Errorf("the review is %q", got)
		}
	})
}

// TestScheduleToStartOfRetries: each attempt has its own schedule-to-start window, which begins when the attempt is available; without the
// timeout there is no window (promises 28, 29, 30, 34, 36, 206, 207).
func TestScheduleToStartOfRetries(t *testing.T) {
	withActivities(t, func(a *activities) {
		i := a.activity("timeouts: {scheduleToStart: PT10S}, retry: {backoff: [PT5S, PT20S]}")
		caught, took := a.caught(i)
		a.expect(caught["kind"], interpreter.DeadlineScheduleToStart)
		if want := 10*time.Second + 5*time.Second + 10*time.Second + 20*time.Second + 10*time.Second; took < want || took > want+20*time.Millisecond {
			a.Errorf("it took %s, want %s", took, want)
		}
		a.expect(a.events(i), "effect.retried 1 schedule_to_start, effect.retried 2 schedule_to_start, effect.finished 3 schedule_to_start")
	})
	withActivities(t, func(a *activities) {
		i := a.activity("timeouts: {startToClose: PT1S}, retry: {maxAttempts: 2, backoff: {initial: PT2S}}")
		a.poll()
		time.Sleep(time.Hour) // no worker takes the second attempt, and it has no deadline
		a.expect(a.events(i), "effect.retried 1 start_to_close by w1")
		task := a.poll()
		a.expect(task.Activity.Attempt, 2)
		if err := a.matcher.Complete(a.Context(), task.Token, "late but well"); err != nil {
			a.Error(err)
		}
		a.expect(a.wait(i).Output, "late but well")
	})
}

// TestHeartbeats: each heartbeat prolongs the attempt (promises 39), and its details are passed to the next attempt (40).
func TestHeartbeats(t *testing.T) {
	withActivities(t, func(a *activities) {
		i := a.activity("timeouts: {heartbeat: PT10S}, retry: {maxAttempts: 2, backoff: [PT1S]}")
		task := a.poll()
		for n := range 10 {
			time.Sleep(9 * time.Second)
			stop, err := a.matcher.Heartbeat(a.Context(), task.Token, &interpreter.Value{V: n})
			if stop || err != nil {
				a.Fatal(stop, err)
			}
		}
		_, tooLarge := a.matcher.Heartbeat(a.Context(), task.Token, &interpreter.Value{V: strings.Repeat("x", 100_000)})
		if e := errors.AsError(tooLarge); e == nil || e.Type != errors.Limit || !above(e, limits.Set{}.Max(limits.Progress)) {
			a.Errorf("a heartbeat with much progress: %v", tooLarge)
		}
		began := time.Now()
		again := a.poll()
		if waited := time.Since(began); waited < 11*time.Second || waited > 11*time.Second+10*time.Millisecond {
			a.Errorf("the second attempt is there after %s", waited)
		}
		a.expect([]any{again.Activity.Attempt, again.Activity.Progress.V}, []any{2, 9})
		_, err := a.matcher.Heartbeat(a.Context(), task.Token, nil)
		var superseded *matching.SupersededError
		if !errors.As(err, &superseded) {
			a.Errorf("a heartbeat of the first attempt: %v", err)
		}
		if err := a.matcher.Complete(a.Context(), again.Token, nil); err != nil {
			a.Error(err)
		}
		a.wait(i)
	})
}

// TestFailures: which errors lead to another attempt (promises 195 to 198, 215 to 218).
func TestFailures(t *testing.T) {
	fail := func(a *activities, typ string, final bool) {
		a.Helper()
		e := errors.Runtimef("it broke")
		e.Type = typ
		if err := a.matcher.Fail(a.Context(), a.poll().Token, e, final); err != nil {
			a.Fatal(err)
		}
	}
	withActivities(t, func(a *activities) {
		i := a.activity("retry: {maxAttempts: 3, backoff: [PT1S], nonRetryable: [https://example.com/bad, validation]}")
		fail(a, "https://example.com/broken", false)
		fail(a, "https://example.com/bad", false)
		caught, _ := a.caught(i)
		a.expect(caught["type"], "https://example.com/bad")
		a.expect(a.events(i), "effect.retried 1 by w1, effect.finished 2 by w1")
		a.expect([]int64{a.figures.AttemptsFailed.Load(), a.figures.Retries.Load()}, "[2 1]") // promises 210
	})
	withActivities(t, func(a *activities) {
		i := a.activity("retry: {maxAttempts: 3, nonRetryable: [validation]}")
		fail(a, errors.Validation, false)
		a.caught(i)
		a.expect(a.events(i), "effect.finished 1 by w1")
	})
	withActivities(t, func(a *activities) { // a type that an alias maps to the type in the policy
		a.aliases = errors.Aliases{"https://example.com/refused": errors.Validation, "https://example.com/bad": "https://example.com/worse"}
		i := a.activity("retry: {maxAttempts: 3, nonRetryable: [validation]}")
		fail(a, "https://example.com/refused", false)
		a.caught(i)
		a.expect(a.events(i), "effect.finished 1 by w1")
		i = a.activity("retry: {maxAttempts: 3, nonRetryable: ['https://example.com/bad']}")
		fail(a, "https://example.com/worse", false)
		a.caught(i)
		a.expect(a.events(i), "effect.finished 1 by w1")
	})
	withActivities(t, func(a *activities) {
		i := a.activity("retry: {maxAttempts: 0}")
		for range 9 {
			fail(a, errors.Runtime, false)
		}
		fail(a, errors.Runtime, true)
		_, took := a.caught(i)
		if want := (1 + 2 + 4 + 8 + 16 + 32 + 64 + 120 + 120) * time.Second; took < want || took > want+100*time.Millisecond { // promises 81
			a.Errorf("it took %s, want %s", took, want)
		}
	})
	withActivities(t, func(a *activities) { // one attempt unless the policy allows more (promises 74)
		i := a.activity("")
		fail(a, errors.Runtime, false)
		a.caught(i)
		a.expect(a.events(i), "effect.finished 1 by w1")
	})
}

// TestNobodyWaitsForAnActivity: the end of an enclosing scope ends the activity too, and its worker is informed (promises 18, 19).
func TestNobodyWaitsForAnActivity(t *testing.T) {
	for _, taken := range []bool{false, true} {
		withActivities(t, func(a *activities) {
			i := a.start("do: [{work: {call: 'activity:1.0.0@default', with: {type: x}, timeout: {after: PT1S}}}]", client.StartOptions{})
			token := ""
			if taken {
				token = a.poll().Token
			}
			if o := a.wait(i); o.Status != interpreter.StatusFaulted || !o.TimedOut {
				t.Errorf("got %+v", o)
			}
			if taken {
				stop, err := a.matcher.Heartbeat(a.Context(), token, nil)
				a.expect([]any{stop, err}, []any{true, nil})
				var superseded *matching.SupersededError
				if err := a.matcher.Complete(a.Context(), token, nil); !errors.As(err, &superseded) {
					t.Errorf("completed: %v", err)
				}
			}
			ctx, cancel := context.WithTimeout(a.Context(), time.Second)
			defer cancel()
			if tasks, err := a.matcher.Poll(ctx, matching.Poll{Queues: []string{"default"}, Limit: 10}); len(tasks) > 0 || err != nil {
				t.Errorf("polled %v, %v", tasks, err)
			}
		})
	}
}

// TestTokensAreChecked: whatever comes as a token is refused by its own error.
func TestTokensAreChecked(t *testing.T) {
	withActivities(t, func(a *activities) {
		for _, token := range []string{"", "x", "!", strings.Repeat("A", 100_000), "YSBi", "Li4vLi4gMSBu"} {
			var wrong *matching.TokenError
			if err := a.matcher.Complete(a.Context(), token, nil); !errors.As(err, &wrong) {
				t.Errorf("%.20q: %v", token, err)
			}
		}
	})
}

// TestManyActivitiesAtOnce: branches have their own activities, which several workers share.
func TestManyActivitiesAtOnce(t *testing.T) {
	withActivities(t, func(a *activities) {
		branch := func(n int) string {
			return fmt.Sprintf("{b%d: {call: 'activity:1.0.0@default', with: {type: x, queue: q%d, input: %d}}}", n, n%3, n)
		}
		var branches []string
		for n := range 30 {
			branches = append(branches, branch(n))
		}
		i := a.start("do: [{f: {fork: {branches: ["+strings.Join(branches, ", ")+"]}}}]", client.StartOptions{})
		done := make(chan int)
		for n := range 3 {
			go func() {
				count := 0
				for count < 10 {
					tasks, err := a.matcher.Poll(a.Context(), matching.Poll{Queues: []string{fmt.Sprint("q", n), "none"}, Limit: 4})
					if err != nil {
						a.Error(err)
						break
					}
					for _, task := range tasks {
						if err := a.matcher.Complete(a.Context(), task.Token, task.Input.V); err != nil {
							a.Error(err)
						}
						count++
					}
				}
				done <- count
			}()
		}
		for range 3 {
			a.expect(<-done, 10)
		}
		o := a.wait(i)
		if all, _ := o.Output.([]any); len(all) != 30 || fmt.Sprint(all[29]) != "29" {
			t.Errorf("got %+v", o)
		}
	})
}
