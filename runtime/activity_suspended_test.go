package runtime_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/matching"
	"github.com/swrun/swrun/runtime/store"
)

// taken is the answer of a poll and its time.
type taken struct {
	tasks []matching.Task
	at    time.Time
}

// polls begins a poll of the queue default that waits for an hour.
func (a *activities) polls(limit int) chan taken {
	done := make(chan taken, 1)
	until := make(chan struct{})
	time.AfterFunc(time.Hour, func() { close(until) })
	go func() {
		tasks, err := a.matcher.Poll(a.Context(), matching.Poll{Queues: []string{"default"}, Limit: limit, Worker: "w1", Until: until})
		if err != nil {
			a.Error(err)
		}
		done <- taken{tasks, time.Now()}
	}()
	return done
}

func (a *activities) suspend(i store.Instance) {
	a.Helper()
	time.Sleep(time.Second) // the poll is waiting
	a.must(a.client.Suspend(a.Context(), i, ""))
	time.Sleep(10 * time.Second) // a worker has read it
}

func (a *activities) resume(i store.Instance) {
	a.Helper()
	a.must(a.client.Resume(a.Context(), i, ""))
}

// TestSuspendedRunsGiveNoActivities: a queued activity is not handed out while its run is suspended. When the run is resumed, a waiting
// poll gets it immediately (promises 236).
func TestSuspendedRunsGiveNoActivities(t *testing.T) {
	for _, waits := range []string{"before the suspension", "before the resume", "after the resume"} {
		t.Run(waits, func(t *testing.T) {
			withActivities(t, func(a *activities) {
				i := a.activity("timeouts: {scheduleToStart: PT2H}")
				a.suspend(i)
				first := a.polls(1)
				time.Sleep(time.Minute)
				if why := a.described(i, false).Why; waits != "after the resume" && !strings.Contains(why, "suspended") {
					t.Errorf("it is described so: %s", why)
				}
				if waits == "after the resume" {
					if got := <-first; len(got.tasks) > 0 {
						t.Errorf("%v is handed out while the run is suspended", got.tasks)
					}
				}
				select {
				case got := <-first:
					t.Fatalf("the poll answers %v while the run is suspended", got.tasks)
				default:
				}
				resumed := time.Now()
				a.resume(i)
				if waits == "after the resume" {
					time.Sleep(10 * time.Second)
					resumed = time.Now()
					first = a.polls(1)
				}
				got := <-first
				if len(got.tasks) != 1 || got.at.Sub(resumed) > time.Second {
					t.Fatalf("the poll answers %v, %s after the resume", got.tasks, got.at.Sub(resumed))
				}
				a.must(a.matcher.Complete(a.Context(), got.tasks[0].Token, "done"))
				a.expect(a.wait(i).Output, "done")
			})
		})
	}
}

// TestDeadlinesOfParkedActivities: deadlines of activities still run while their run is suspended. They count from the time at which the
// activity became available, also after the resume.
func TestDeadlinesOfParkedActivities(t *testing.T) {
	for kind, with := range map[string]string{
		interpreter.DeadlineScheduleToStart: "timeouts: {scheduleToStart: PT10M}", interpreter.DeadlineScheduleToClose: "timeouts: {scheduleToClose: PT10M}",
	} {
		for _, resumes := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, resumed=%v", kind, resumes), func(t *testing.T) {
				withActivities(t, func(a *activities) {
					i := a.activity(with + ", queue: other, retry: {maxAttempts: 1}")
					a.suspend(i)
					if got := a.pollOther(time.Minute); len(got) > 0 {
						t.Fatalf("the poll answers %v while the run is suspended", got)
					}
					deadlines := a.described(i, false).Deadlines
					if len(deadlines) != 1 || deadlines[0].Kind != kind || deadlines[0].At.Sub(a.record(i).Created).Round(time.Second) != 10*time.Minute {
						t.Errorf("it is described with the deadlines %+v", deadlines)
					}
					if !resumes {
						time.Sleep(10 * time.Minute)
					}
					a.resume(i)
					caught, took := a.caught(i)
					a.expect(caught["kind"], kind)
					if resumes && took.Round(time.Second) != 10*time.Minute {
						t.Errorf("it took %s", took)
					}
					a.expect(strings.Count(strings.Join(a.records(i), " "), "effect.finished"), 1)
				})
			})
		}
	}
}

// pollOther returns the answer of a poll of the queue other that waits at most for the given time.
func (a *activities) pollOther(wait time.Duration) []matching.Task {
	until := make(chan struct{})
	time.AfterFunc(wait, func() { close(until) })
	tasks, err := a.matcher.Poll(a.Context(), matching.Poll{Queues: []string{"other"}, Limit: 1, Worker: "w1", Until: until})
	a.must(err)
	return tasks
}

// TestTakenActivitiesOfSuspendedRuns continue: heartbeats request no cancellation, results are kept, and activities that are given back or
// retried are not handed out before the resume.
func TestTakenActivitiesOfSuspendedRuns(t *testing.T) {
	reports := map[string]func(*activities, matching.Task) error{
		"completed": func(a *activities, task matching.Task) error {
			return a.matcher.Complete(a.Context(), task.Token, "done")
		},
		"failed": func(a *activities, task matching.Task) error {
			return a.matcher.Fail(a.Context(), task.Token, errors.Communicationf("busy"), false)
		},
		"given back": func(a *activities, task matching.Task) error { return a.matcher.Return(a.Context(), task.Token) },
	}
	for name, report := range reports {
		t.Run(name, func(t *testing.T) {
			withActivities(t, func(a *activities) {
				i := a.activity("retry: {backoff: [PT5S]}")
				task := a.poll()
				a.suspend(i)
				cancel, err := a.matcher.Heartbeat(a.Context(), task.Token, nil)
				a.expect(fmt.Sprint(cancel, err), "false <nil>")
				a.must(report(a, task))
				again := a.polls(1)
				time.Sleep(time.Minute)
				select {
				case got := <-again:
					t.Fatalf("the poll answers %v while the run is suspended", got.tasks)
				default:
				}
				a.resume(i)
				if name != "completed" {
					got := <-again
					if len(got.tasks) != 1 {
						t.Fatalf("the poll answers %v after the resume", got.tasks)
					}
					a.must(a.matcher.Complete(a.Context(), got.tasks[0].Token, "done"))
				}
				a.expect(a.wait(i).Output, "done")
			})
		})
	}
}

// TestSuspendedRunsHideNoOthers: a poll for one activity finds the activities behind any number of activities of suspended runs in the
// queue, also in a queue with a limit.
func TestSuspendedRunsHideNoOthers(t *testing.T) {
	withActivities(t, func(a *activities) {
		var suspended []store.Instance
		for range 30 {
			i := a.activity("")
			time.Sleep(time.Second)
			a.must(a.client.Suspend(t.Context(), i, ""))
			suspended = append(suspended, i)
		}
		time.Sleep(10 * time.Second)
		goes := a.start("do: [{work: {call: 'activity:1.0.0@default', with: {type: x}}}]", client.StartOptions{})
		time.Sleep(time.Second)
		began := time.Now()
		got := <-a.polls(1)
		if len(got.tasks) != 1 || got.tasks[0].ID.Run != goes || got.at.Sub(began) > time.Second {
			t.Fatalf("the poll answers %v after %s", got.tasks, got.at.Sub(began))
		}
		for _, i := range suspended {
			a.resume(i)
		}
		for range suspended {
			if got := <-a.polls(1); len(got.tasks) != 1 {
				t.Fatalf("the poll answers %v after the resume", got.tasks)
			}
		}
	})
}
