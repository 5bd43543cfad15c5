package runtime_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// requests are the requests to a performer, in their order.
type requests struct {
	mu  sync.Mutex
	all []interpreter.Request
	// fails selects the requests that fail; nil for none.
	fails func(interpreter.Request) bool
}

func (r *requests) perform(_ context.Context, request interpreter.Request) (any, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, request)
	if r.fails != nil && r.fails(request) {
		return nil, errors.Communicationf("broken")
	}
	return "done", nil
}

// fail has requests fail from now on that a function names.
func (r *requests) fail(fails func(interpreter.Request) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fails = fails
}

// take returns the names of the tasks of all requests, with the numbers of their attempts and of their keys, and forgets them.
func (r *requests) take(keys *[]string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, request := range r.all {
		if !slices.Contains(*keys, request.Key) {
			*keys = append(*keys, request.Key)
		}
		name := request.Pointer[strings.LastIndexByte(string(request.Pointer), '/')+1:]
		all = append(all, fmt.Sprintf("%s%d/%d", name, request.Attempt, slices.Index(*keys, request.Key)))
	}
	r.all = nil
	return strings.Join(all, " ")
}

func everything(interpreter.Request) bool { return true }

func named(name string) func(interpreter.Request) bool {
	return func(r interpreter.Request) bool { return strings.HasSuffix(string(r.Pointer), "/"+name) }
}

// TestARunGoesOnOnce: a second fork is refused, and names the first; of many at a time one starts.
func TestARunGoesOnOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, sent, keys := newHost(t), &requests{fails: everything}, []string{}
		h.perform = sent.perform
		defer h.work(worker.Config{})()
		i := h.start("do: [{c: "+task+"}]", client.StartOptions{})
		h.wait(i)
		sent.take(&keys)
		var began atomic.Int64
		var group sync.WaitGroup
		for range 16 {
			group.Go(func() {
				_, err := h.asker().Fork(t.Context(), i, client.ForkOptions{})
				var continued *client.ContinuedError
				switch {
				case err == nil:
					began.Add(1)
				case !errors.As(err, &continued):
					t.Error(err)
				}
			})
		}
		group.Wait()
		fork := store.Instance{Namespace: i.Namespace, ID: i.ID + "~1"}
		h.wait(fork)
		if got := sent.take(&keys); began.Load() != 1 || got != "c2/0" {
			t.Errorf("%d forks began, with the requests %s", began.Load(), got)
		}
		refusals := map[string]client.ForkOptions{"another id": {ID: "other"}, "another task": {From: "/do/0/c"}, "dry": {Dry: true}, "any": {}}
		for name, o := range refusals {
			_, err := h.asker().Fork(t.Context(), i, o)
			var continued *client.ContinuedError
			if !errors.As(err, &continued) || continued.Fork != fork || continued.Status != "faulted" || !strings.Contains(continued.Help(), "retry "+fork.String()) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if retried, err := h.asker().Retry(t.Context(), fork, client.RetryOptions{}); err != nil || h.wait(retried.Instance).Fault == nil {
			t.Errorf("the fork that failed cannot be retried: %v", err)
		}
		sent.fail(nil)
		again := h.mustFork(i, client.ForkOptions{Again: true})
		h.wait(again.Instance)
		if got := sent.take(&keys); got != "c3/0 c1/1" || h.record(i).Continuation != again.Instance.ID {
			t.Errorf("the requests are %s, the record is %+v", got, h.record(i))
		}
	})
}

// TestForksKeepKeys: a call that did not succeed keeps its key, and the count of its attempts continues. A call that succeeded gets another
// key.
func TestForksKeepKeys(t *testing.T) {
	tries := "{try: [{a: " + task + "}, {b: " + task + "}], catch: {retry: {delay: PT1S, limit: {attempt: {count: 2}}}}}"
	for name, c := range map[string]struct {
		document     string
		from         dsl.Pointer
		first, forks string
	}{
		"all attempts":          {"do: [{t: " + tries + "}]", "", "a1/0 b1/1 a2/0 b2/1 a3/0 b3/1", "b4/1"},
		"a call that completed": {"do: [{a: " + task + "}, {b: " + task + "}]", "/do/0/a", "a1/0 b1/1", "a1/2 b2/1"},
		"in a loop":             {"do: [{l: {for: {in: '[1, 2]'}, do: [{a: " + task + "}]}}, {b: " + task + "}]", "", "a1/0 a1/1 b1/2", "b2/2"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, sent, keys := newHost(t), &requests{fails: named("b")}, []string{}
				h.perform = sent.perform
				defer h.work(worker.Config{})()
				i := h.start(c.document, client.StartOptions{})
				h.wait(i)
				if got := sent.take(&keys); got != c.first {
					t.Errorf("the requests are %s, not %s", got, c.first)
				}
				sent.fail(nil)
				forked := h.mustFork(i, client.ForkOptions{From: c.from})
				if o := h.wait(forked.Instance); o.Fault != nil {
					t.Error(o.Fault)
				}
				if got := sent.take(&keys); got != c.forks {
					t.Errorf("the requests of the fork are %s, not %s", got, c.forks)
				}
				for _, r := range forked.Repeats {
					if r.SameKey != (r.Outcome != client.OutcomeSucceeded) || r.Attempts == 0 {
						t.Errorf("it repeats %+v", r)
					}
				}
			})
		})
	}
}

// TestForksKeepBranches: completed tasks of other branches remain completed, at whatever time they completed.
func TestForksKeepBranches(t *testing.T) {
	late := "{do: [{w: {wait: PT5S}}, {c: " + task + "}]}"
	both := "{do: [{x: " + task + "}, {y: " + task + "}, {s: {set: {n: 1}}}]}"
	tried := "{try: [{c: " + task + "}], catch: {retry: {delay: PT1S, limit: {attempt: {count: 1}}}}}"
	fork := func(branches ...string) string {
		for n, b := range branches {
			branches[n] = fmt.Sprintf("{b%d: %s}", n, b)
		}
		return "{fork: {branches: [" + strings.Join(branches, ", ") + "]}}"
	}
	for name, c := range map[string]struct {
		task  string
		from  dsl.Pointer
		forks string // the tasks that are performed again
		want  string // the output
	}{
		"another branch":           {fork(both, late), "", "c", "[map[n:1] done]"},
		"after its retries":        {fork(both, tried), "", "c", "[map[n:1] done]"},
		"in a fork in it":          {fork(both, fork(both, late)), "", "c", "[map[n:1] [map[n:1] done]]"},
		"beside a fork":            {fork(fork(both, both), late), "", "c", "[[map[n:1] map[n:1]] done]"},
		"it goes on":               {fork("{do: [{x: "+task+"}, {w: {wait: PT10S}}, {y: "+task+"}]}", late), "", "c y", "[done done]"},
		"the fork is tried":        {"{try: [{f: " + fork(both, late) + "}], catch: {retry: {delay: PT1S, limit: {attempt: {count: 1}}}}}", "", "c", "[map[n:1] done]"},
		"from an earlier one":      {fork(both, "{do: [{v: "+task+"}, {w: {wait: PT5S}}, {c: "+task+"}]}"), "/do/0/f/fork/branches/1/b1/do/0/v", "v c", "[map[n:1] done]"},
		"of a fork that has ended": {"{do: [{g: " + fork(both, "{do: [{v: "+task+"}]}") + "}, {c: " + task + "}]}", "/do/0/f/do/0/g/fork/branches/1/b1/do/0/v", "v c", "done"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, sent := newHost(t), &requests{fails: named("c")}
				h.perform = sent.perform
				defer h.work(worker.Config{})()
				i := h.start("do: [{f: "+c.task+"}]", client.StartOptions{})
				h.wait(i)
				sent.fail(nil)
				sent.take(new([]string))
				forked := h.mustFork(i, client.ForkOptions{From: c.from})
				o := h.wait(forked.Instance)
				if got := fmt.Sprint(o.Output); got != c.want {
					t.Errorf("its output is %s, not %s: %v", got, c.want, o.Fault)
				}
				var names, told []string
				for _, name := range strings.Fields(sent.take(new([]string))) {
					names = append(names, name[:1])
				}
				for _, r := range forked.Repeats {
					told = append(told, string(r.Pointer[len(r.Pointer)-1:]))
				}
				if got := strings.Join(names, " "); got != c.forks {
					t.Errorf("it performs %s again, not %s", got, c.forks)
				}
				if name != "it goes on" && strings.Join(told, " ") != c.forks {
					t.Errorf("it says that it repeats %s", told)
				}
				h.verifyReplay(forked.Instance)
			})
		})
	}
}

// TestForksKeepWaits: a waiting branch keeps the remaining time of the fork's position; time that passed since does not count.
func TestForksKeepWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, sent := newHost(t), &requests{fails: named("c")}
		h.perform = sent.perform
		defer h.work(worker.Config{})()
		i := h.start("do: [{f: {fork: {branches: [{a: {wait: PT10S}}, {b: {do: [{w: {wait: PT4S}}, {c: "+task+"}]}}]}}}]", client.StartOptions{})
		h.wait(i)
		time.Sleep(time.Hour)
		sent.fail(nil)
		if o := h.wait(h.mustFork(i, client.ForkOptions{}).Instance); o.Fault != nil || took(o) != 6*time.Second {
			t.Errorf("it took %s: %v", took(o), o.Fault)
		}
	})
}
