package runtime_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/matching"
	"github.com/swrun/swrun/runtime/queue"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// polled returns the activities that polls answer with for a while.
func (a *activities) polled(d time.Duration, queues ...string) (all []matching.Task) {
	a.Helper()
	ctx, cancel := context.WithTimeout(a.Context(), time.Hour)
	defer cancel()
	waiting, stop := context.WithTimeout(ctx, d)
	defer stop()
	for {
		tasks, err := a.matcher.Poll(ctx, matching.Poll{Queues: queues, Limit: 10, Worker: "w", Until: waiting.Done()})
		a.must(err)
		if all = append(all, tasks...); len(tasks) == 0 {
			return all
		}
	}
}

// TestActivityQueueLimits: a queue with a limit hands out at most that number of activities at a time, for every kind of end of an attempt.
func TestActivityQueueLimits(t *testing.T) {
	withActivities(t, func(a *activities) {
		a.rule("gpu", func(r *queue.Rules) { r.Concurrency = 2 })
		var all []store.Instance
		for range 7 {
			all = append(all, a.activity("queue: gpu, timeouts: {startToClose: PT1M, scheduleToClose: PT1H}, retry: {maxAttempts: 1}"))
		}
		free := a.activity("queue: free")
		first := a.polled(time.Second, "gpu", "free")
		a.expect(len(first), 3) // two of gpu
		a.expect(len(a.polled(5*time.Second, "gpu", "free")), 0)
		describes := "waits for its turn in the queue gpu (at most 2 at a time), for "
		waits := slices.DeleteFunc(all, func(i store.Instance) bool {
			return slices.ContainsFunc(first, func(one matching.Task) bool { return one.ID.Run == i })
		})
		if d := a.describedBy(waits[0]); !strings.Contains(d.Why, describes) {
			a.Errorf("it is described so: %q", d.Why)
		}
		slices.SortFunc(first, func(a, b matching.Task) int { return strings.Compare(a.Activity.Queue, b.Activity.Queue) })
		for _, one := range first[:2] { // a report frees a place immediately
			a.must(a.matcher.Complete(a.Context(), one.Token, "done"))
		}
		a.wait(free)
		a.expect(len(a.polled(10*time.Millisecond, "gpu")), 1)
		time.Sleep(70 * time.Second) // the attempts time out
		second := a.polled(time.Second, "gpu")
		a.expect(len(second), 2)
		a.must(a.matcher.Return(a.Context(), second[0].Token))
		third := a.polled(time.Second, "gpu")
		a.expect(len(third), 1)
		a.must(a.matcher.Fail(a.Context(), third[0].Token, errors.Runtimef("no"), true))
		a.expect(len(a.polled(time.Second, "gpu")), 1)
		a.expect(len(a.polled(5*time.Second, "gpu")), 0)
	})
}

// TestActivityOfAQueueIsDismissed: a dismissed activity frees its place, and so does an activity whose end could not be recorded.
func TestActivityOfAQueueIsDismissed(t *testing.T) {
	withActivities(t, func(a *activities) {
		a.rule("gpu", func(r *queue.Rules) { r.Concurrency = 1 })
		i := a.activity("queue: gpu")
		a.expect(len(a.polled(time.Second, "gpu")), 1)
		j := a.activity("queue: gpu")
		a.must(a.client.Cancel(a.Context(), i, ""))
		a.expect(len(a.polled(time.Second, "gpu")), 1)
		a.must(a.client.Cancel(a.Context(), j, ""))
		a.wait(j)
		// Permits that a killed server could not return are recovered by the next process that wants a permit.
		_, err := a.store.Permit(a.Context(), store.Permit{Queue: "gpu", Wanted: []string{queue.ActivityHolder(store.ActivityID{Run: j, Effect: 9}, "n")}})
		a.must(err)
		a.activity("queue: gpu")
		a.expect(len(a.polled(10*time.Second, "gpu")), 0)
		a.expect(len(a.polled(10*time.Second, "gpu")), 1)
	})
}

// TestActivityQueueRate: a queue with a rate hands out at most that number of activities per interval.
func TestActivityQueueRate(t *testing.T) {
	withActivities(t, func(a *activities) {
		a.rule("mail", func(r *queue.Rules) { r.Rate, r.Per = 3, time.Minute })
		for range 7 {
			a.activity("queue: mail")
		}
		began := time.Now()
		var at []time.Duration
		for len(at) < 7 && time.Since(began) < time.Hour {
			for _, one := range a.polled(time.Second, "mail") {
				at = append(at, time.Since(began).Round(10*time.Second))
				a.must(a.matcher.Complete(a.Context(), one.Token, "done"))
			}
		}
		a.expect(at, "[0s 0s 0s 1m0s 1m0s 1m0s 2m0s]")
	})
}

// TestPausedActivityQueue: a paused queue hands out nothing, and activities that workers hold continue. When the pause ends, work is
// available immediately.
func TestPausedActivityQueue(t *testing.T) {
	withActivities(t, func(a *activities) {
		one := a.activity("queue: gpu")
		task := a.polled(time.Second, "gpu")[0]
		a.rule("gpu", func(r *queue.Rules) { r.Pause(queue.Decision{At: time.Now(), Actor: "ann"}) })
		time.Sleep(queue.MaxAge)
		two := a.activity("queue: gpu, timeouts: {scheduleToStart: PT2M}, retry: {maxAttempts: 1}")
		three := a.activity("queue: gpu")
		a.expect(len(a.polled(10*time.Minute, "gpu")), 0)
		if d := a.describedBy(three); !strings.Contains(d.Why, "waits: the queue gpu is paused since 2000-01-01 00:00:01Z by ann, for 10m") {
			a.Errorf("it is described so: %q", d.Why)
		}
		caught, _ := a.caught(two) // its deadline still runs
		a.expect(caught["kind"], "schedule_to_start")
		a.must(a.matcher.Complete(a.Context(), task.Token, "done"))
		if o := a.wait(one); o.Status != interpreter.StatusCompleted {
			a.Errorf("what had begun ends as %+v", o)
		}
		var answered sync.WaitGroup
		answered.Go(func() { a.expect(len(a.polled(10*time.Second, "gpu")), 1) })
		a.rule("gpu", (*queue.Rules).Resume)
		answered.Wait()
		a.must(a.client.Cancel(a.Context(), three, ""))
	})
}

// TestIdlePollsOfQueues: polls that may take nothing ask the store hardly anything.
func TestIdlePollsOfQueues(t *testing.T) {
	withActivities(t, func(a *activities) {
		calls := &asked{Store: a.store}
		a.matcher = matching.New(matching.Config{Store: calls})
		a.rule("full", func(r *queue.Rules) { r.Concurrency = 1 })
		a.rule("paused", func(r *queue.Rules) { r.Pause(queue.Decision{At: time.Now()}) })
		for _, name := range []string{"full", "full", "paused", "free"} {
			a.activity("queue: " + name)
		}
		synctest.Wait() // they are scheduled, and no hint informs this matcher
		a.expect(len(a.polled(time.Second, "free", "full", "paused")), 2)
		permits, lists := calls.permits.Load(), calls.lists.Load()
		a.expect(len(a.polled(time.Minute, "free", "full", "paused")), 0)
		if calls.permits.Load()-permits > 240 || calls.lists.Load()-lists > 31 {
			a.Errorf("in a minute there were %d calls for permits, and %d for rules", calls.permits.Load()-permits, calls.lists.Load()-lists)
		}
	})
}

// looked counts lookups of activities, and gives no hints.
type looked struct {
	counting
	looks atomic.Int64
}

func (c *looked) Available(ctx context.Context, a store.Available) (store.Offered, error) {
	c.looks.Add(1)
	return c.Store.Available(ctx, a)
}

// TestIdlePollsLookAtWhatWasWritten: while a worker of the process watches for writes, polls that find nothing look again only once a
// minute. They still find an activity without a hint within two seconds.
func TestIdlePollsLookAtWhatWasWritten(t *testing.T) {
	withActivities(t, func(a *activities) {
		calls := &looked{counting: counting{Store: a.store, lost: map[int]int{}}}
		a.matcher = matching.New(matching.Config{Store: calls})
		ctx, stop := context.WithCancel(a.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			worker.New(worker.Config{Store: calls, Compile: a.compile, Changed: a.matcher.Changed, Watched: a.matcher.Watched}).Run(ctx)
		}()
		defer func() { stop(); <-done }()
		a.expect(len(a.polled(2*time.Minute, "mail", "print")), 0)
		before, partitions := calls.looks.Load(), int64(a.store.Layout().Partitions)
		a.expect(len(a.polled(10*time.Minute, "mail", "print")), 0)
		if looks := calls.looks.Load() - before; looks > 40*partitions {
			a.Errorf("in ten minutes there were %d looks at %d partitions", looks, partitions)
		}
		began := time.Now()
		time.AfterFunc(5*time.Minute, func() { a.activity("queue: mail") })
		tasks, err := a.matcher.Poll(ctx, matching.Poll{Queues: []string{"mail", "print"}, Limit: 1, Worker: "w"})
		a.must(err)
		a.expect(len(tasks), 1)
		if took := time.Since(began) - 5*time.Minute; took > 2*time.Second {
			a.Errorf("it was found after %s", took)
		}
	})
}

// TestUnpolledQueues: the poller of a queue and the time are recorded at most every ten seconds, and outlive the poller. The description of
// an activity in a queue without pollers contains this fact and its start.
func TestUnpolledQueues(t *testing.T) {
	withActivities(t, func(a *activities) {
		calls := &asked{Store: a.store}
		a.matcher = matching.New(matching.Config{Store: calls})
		state := func(name string) queue.State {
			all, err := queue.States(a.Context(), a.store, nil)
			a.must(err)
			for _, one := range all {
				if one.Name == name {
					return one
				}
			}
			return queue.State{}
		}
		a.expect(len(a.polled(time.Minute, "mail", "other")), 0)
		if writes := calls.writes.Load(); writes < 12 || writes > 16 { // by queue, and by namespace and queue
			a.Errorf("in a minute it was noted %d times", writes)
		}
		time.Sleep(5 * time.Minute)
		i, j := a.activity("queue: mail"), a.activity("queue: unknown")
		time.Sleep(10 * time.Millisecond)
		if s := state("mail"); s.Activities != 1 || !s.Unpolled() || s.At.Sub(s.Polled["w"]).Round(time.Minute) != 5*time.Minute {
			a.Errorf("the queue is %+v", s)
		}
		time.Sleep(time.Minute)
		for run, want := range map[store.Instance]string{i: "since 1m (attempt 1 of 1); polled last 6m", j: "since 1m (attempt 1 of 1); no worker has polled it yet"} {
			if d := a.describedBy(run); !strings.Contains(d.Why, want) {
				a.Errorf("it is described so: %q, want %q", d.Why, want)
			}
		}
		a.expect(len(a.polled(time.Second, "mail")), 1)
		if s := state("mail"); s.Unpolled() || s.Oldest > 0 {
			a.Errorf("once it is polled, the queue is %+v", s)
		}
		a.must(a.client.Cancel(a.Context(), i, ""))
		a.must(a.client.Cancel(a.Context(), j, ""))
	})
}
