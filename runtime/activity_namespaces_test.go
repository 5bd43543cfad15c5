package runtime_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
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

// watched runs a test with a matcher that a worker informs about writes, as in a server: without this information its polls look only once
// a minute.
func watched(t *testing.T, test func(*activities)) {
	synctest.Test(t, func(t *testing.T) {
		a := &activities{host: newHost(t)}
		var w *worker.Worker
		a.matcher = matching.New(matching.Config{Store: a.store, Due: func(partition int, at time.Time) { w.Expect(partition, at) }})
		ctx, stop := context.WithCancel(t.Context())
		w = worker.New(worker.Config{Store: a.store, Compile: a.compile, Changed: a.matcher.Changed, Watched: a.matcher.Watched})
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.Run(ctx)
		}()
		defer func() { stop(); <-done }()
		time.Sleep(5 * time.Second) // from now on the worker watches for writes
		test(a)
	})
}

// work starts a run of a namespace that has one activity in the queue q.
func (a *activities) workOf(namespace, with string) store.Instance {
	return a.startIn(namespace, "do: [{work: {call: 'activity:1.0.0@default', with: {type: x, queue: q, "+with+"}}}]")
}

// take returns how many activities of the queue q a poll for some namespaces answers with; nil is all. The poll waits for so long.
func (a *activities) take(namespaces []string, limit int, wait time.Duration) []matching.Task {
	a.Helper()
	ctx, cancel := context.WithTimeout(a.Context(), time.Hour)
	defer cancel()
	waiting, stop := context.WithTimeout(ctx, wait)
	defer stop()
	tasks, err := a.matcher.Poll(ctx, matching.Poll{Queues: []string{"q"}, Namespaces: namespaces, Limit: limit, Worker: "w", Until: waiting.Done()})
	a.must(err)
	return tasks
}

// TestPollsOfNamespacesHideNothing: a poll finds a waiting activity immediately, even after other polls of the queue for other namespaces.
func TestPollsOfNamespacesHideNothing(t *testing.T) {
	hiders := map[string][]string{"other": {"beta"}, "others": {"beta", "gamma"}, "nobody": {"nowhere"}, "none": {}}
	missers := map[string][]string{"own": {"alpha"}, "all": nil, "own and other": {"beta", "alpha"}, "the same twice": {"alpha", "alpha"}}
	for hider, hides := range hiders {
		for misser, misses := range missers {
			for _, limited := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s hides from %s, limited=%v", hider, misser, limited), func(t *testing.T) {
					watched(t, func(a *activities) {
						if limited {
							a.rule("q", func(r *queue.Rules) { r.Concurrency = 5 })
						}
						a.expect(len(a.take(misses, 1, 0)), 0) // it is known that nothing is there
						a.workOf("alpha", "")
						synctest.Wait()
						for range 3 {
							a.expect(len(a.take(hides, 1, 0)), 0)
						}
						began := time.Now()
						a.expect(len(a.take(misses, 1, 0)), 1)
						a.expect(time.Since(began), time.Duration(0))
					})
				})
			}
		}
	}
}

// TestPollsOfNamespacesHideNoRetry: the same of an attempt whose delay ends while a poll for it waits.
func TestPollsOfNamespacesHideNoRetry(t *testing.T) {
	watched(t, func(a *activities) {
		i := a.workOf("alpha", "retry: {maxAttempts: 2, backoff: [PT20S]}")
		synctest.Wait()
		a.must(a.matcher.Fail(a.Context(), a.take([]string{"alpha"}, 1, 0)[0].Token, errors.Runtimef("no"), false))
		a.expect(len(a.take([]string{"alpha"}, 1, 0)), 0) // it sees when the next attempt begins
		a.expect(len(a.take([]string{"beta"}, 1, 0)), 0)
		began := time.Now()
		tasks := a.take([]string{"alpha"}, 1, time.Minute)
		a.expect(len(tasks), 1)
		if took := time.Since(began); took > 21*time.Second {
			a.Errorf("the second attempt was found after %s", took)
		}
		a.must(a.matcher.Complete(a.Context(), tasks[0].Token, "done"))
		a.expect(a.wait(i).Output, "done")
	})
}

// TestPollersOfNamespacesStarveNobody: many long polls for one namespace, and for all, keep no activity of another one from its worker.
func TestPollersOfNamespacesStarveNobody(t *testing.T) {
	watched(t, func(a *activities) {
		ctx, stop := context.WithCancel(a.Context())
		var pollers sync.WaitGroup
		for n, namespaces := range [][]string{{"beta"}, {"beta"}, {"beta"}, {"gamma"}, {"beta", "gamma"}, {"alpha"}} {
			pollers.Go(func() {
				for ctx.Err() == nil {
					waiting, done := context.WithTimeout(ctx, 7*time.Second)
					tasks, _ := a.matcher.Poll(ctx, matching.Poll{Queues: []string{"q"}, Namespaces: namespaces, Limit: 1, Worker: fmt.Sprint(n), Until: waiting.Done()})
					done()
					for _, one := range tasks {
						_ = a.matcher.Complete(a.Context(), one.Token, one.ID.Run.Namespace)
					}
				}
			})
		}
		var all []store.Instance
		for range 40 {
			all = append(all, a.workOf("alpha", "timeouts: {scheduleToStart: PT1S}"))
			time.Sleep(500 * time.Millisecond)
		}
		for _, i := range all {
			if o := a.wait(i); o.Status != interpreter.StatusCompleted {
				a.Errorf("%s ends as %v", i, o.Fault)
			}
		}
		stop()
		pollers.Wait()
	})
}

// TestPollsOfManyQueues: polls for very many queues keep no news from a poll that waits.
func TestPollsOfManyQueues(t *testing.T) {
	watched(t, func(a *activities) {
		var waits sync.WaitGroup
		var took time.Duration
		waits.Go(func() {
			began := time.Now()
			a.expect(len(a.take([]string{"alpha"}, 1, time.Hour)), 1)
			took = time.Since(began)
		})
		synctest.Wait()
		closed := make(chan struct{})
		close(closed)
		for n := range 103 {
			var names []string
			for k := range 100 {
				names = append(names, fmt.Sprintf("q%d", n*100+k))
			}
			_, err := a.matcher.Poll(a.Context(), matching.Poll{Queues: names, Limit: 1, Worker: "many", Until: closed})
			a.must(err)
		}
		a.workOf("alpha", "")
		waits.Wait()
		if took > 2*time.Second {
			a.Errorf("it was found after %s", took)
		}
	})
}

// TestPollsAreToldOfTheNamespace: the description of a waiting activity contains the last poll that could take it, and ignores polls for
// other namespaces.
func TestPollsAreToldOfTheNamespace(t *testing.T) {
	withActivities(t, func(a *activities) {
		a.expect(len(a.take([]string{"beta", "gamma"}, 1, time.Second)), 0)
		time.Sleep(time.Minute)
		i, j := a.workOf("alpha", ""), a.workOf("beta", "")
		time.Sleep(time.Minute)
		for run, want := range map[store.Instance]string{i: "no worker has polled it yet", j: "polled last 2m"} {
			if d := a.describedBy(run); !strings.Contains(d.Why, want) {
				a.Errorf("%s is described so: %q, want %q", run, d.Why, want)
			}
		}
		a.expect(len(a.take(nil, 2, time.Second)), 2)
		for _, run := range []store.Instance{i, j} {
			a.must(a.client.Cancel(a.Context(), run, ""))
			a.wait(run)
		}
	})
}
