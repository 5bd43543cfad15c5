package runtime_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// slowCommits is a store whose commits are answered late.
type slowCommits struct{ store.Store }

func (s slowCommits) Commit(ctx context.Context, c store.Commit) (store.Committed, error) {
	done, err := s.Store.Commit(ctx, c)
	if len(c.Entries) > 0 && c.Version > 0 {
		time.Sleep(500 * time.Millisecond)
	}
	return done, err
}

// TestDrainDuringACommit: an effect that would wait for a slot when the commit before it is answered is left to others.
func TestDrainDuringACommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = hanging
		h.store = slowCommits{h.store}
		stop := h.work(worker.Config{Concurrency: 1})
		i := h.start("do: [{w: {wait: PT5S}}, {a: "+task+"}]", client.StartOptions{})
		time.Sleep(time.Second)
		h.start("do: [{hog: "+task+"}]", client.StartOptions{})
		time.Sleep(4*time.Second + 200*time.Millisecond) // the wait is over, and that is being stored
		stopped := make(chan struct{})
		go func() { stop(); close(stopped) }()
		time.Sleep(2 * time.Second)
		if r := h.record(i); r.Held() {
			t.Errorf("it is held: %+v", r)
		}
		<-stopped
	})
}

// TestAtMostOnceIsHandedOver: a leaving worker hands over an at-most-once effect that it did not begin as not begun, and the next worker
// performs it.
func TestAtMostOnceIsHandedOver(t *testing.T) {
	t.Run("during the commit", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t)
			var performed atomic.Int64
			h.perform = func(_ context.Context, r interpreter.Request) (any, error) {
				if strings.HasSuffix(string(r.Path), "/b") {
					performed.Add(1)
				} else {
					time.Sleep(time.Second)
				}
				return "done", nil
			}
			plain := h.store
			h.store = slowCommits{plain}
			i := h.start("do: [{a: "+task+"}, {b: {run: {shell: {command: x}}, "+once+"}}]", client.StartOptions{})
			stop := h.work(worker.Config{Drain: 300 * time.Millisecond})
			time.Sleep(900 * time.Millisecond)
			stop()
			h.store = plain
			defer h.work(worker.Config{})()
			if o := h.wait(i); performed.Load() != 1 || o.Status != interpreter.StatusCompleted {
				t.Errorf("performed %d times: %+v", performed.Load(), o)
			}
		})
	})
	for n := range 20 { // two things happen in one instant, in either order
		t.Run("when a wait ends", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				var performed atomic.Int64
				h.perform = func(ctx context.Context, r interpreter.Request) (any, error) {
					if strings.HasSuffix(string(r.Path), "/b") {
						performed.Add(1)
						return "done", nil
					}
					select {
					case <-ctx.Done():
						return nil, context.Cause(ctx)
					case <-time.After(20 * time.Second):
						return "done", nil
					}
				}
				i := h.start("do: [{f: {fork: {branches: [{l: "+task+"}, {o: {do: [{w: {wait: PT5S}}, {b: {run: {shell: {command: x}}, "+once+"}}]}}]}}}]", client.StartOptions{})
				stop := h.work(worker.Config{Drain: 2 * time.Second})
				time.Sleep(time.Second)
				time.Sleep(time.Until(h.record(i).Wake) - 2*time.Second)
				stop()
				defer h.work(worker.Config{})()
				if o := h.wait(i); performed.Load() != 1 || o.Status != interpreter.StatusCompleted {
					t.Errorf("round %d: performed %d times: %+v", n, performed.Load(), o)
				}
			})
		})
	}
}

// TestDrainHandsOver: a stopping worker gives back the runs that it holds, and another worker continues them immediately, with the next
// attempt.
func TestDrainHandsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		attempts := make(chan int, 10)
		h.perform = func(ctx context.Context, r interpreter.Request) (any, error) {
			attempts <- r.Attempt
			if r.Attempt == 1 {
				return hanging(ctx, r)
			}
			return "done", nil
		}
		first := h.work(worker.Config{Drain: 2 * time.Second})
		i := h.start("do: [{a: "+task+"}]", client.StartOptions{})
		time.Sleep(time.Second)
		began := time.Now()
		first()
		if handed := time.Since(began); handed > 2100*time.Millisecond {
			t.Errorf("it took %s to hand over", handed)
		}
		defer h.work(worker.Config{})()
		o := h.wait(i)
		if o.Status != interpreter.StatusCompleted || time.Since(began) > 4*time.Second || <-attempts != 1 || <-attempts != 2 {
			t.Errorf("got %+v after %s", o, time.Since(began))
		}
		if r := h.record(i); r.Deaths != 0 {
			t.Errorf("handing over counts as %d deaths", r.Deaths)
		}
	})
}

// TestDrainIsQuiet: while a worker waits for effects in flight, it stores the past events once, and leaves the rest.
func TestDrainIsQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		var performed atomic.Int64
		h.perform = func(_ context.Context, r interpreter.Request) (any, error) {
			performed.Add(1)
			if strings.Contains(string(r.Path), "long") {
				time.Sleep(20 * time.Second)
			} else {
				time.Sleep(2 * time.Second)
			}
			return "done", nil
		}
		stop := h.work(worker.Config{})
		i := h.start("do: [{f: {fork: {branches: [{long: "+task+"}, {two: {do: [{a: "+task+"}, {b: "+task+"}]}}]}}}]", client.StartOptions{})
		time.Sleep(time.Second)
		stop()
		if r := h.record(i); r.Version > 5 || performed.Load() != 2 || r.Ready.IsZero() {
			t.Errorf("%d effects were performed; the record is %+v", performed.Load(), r)
		}
		defer h.work(worker.Config{})()
		if o := h.wait(i); o.Status != interpreter.StatusCompleted || performed.Load() != 3 {
			t.Errorf("got %+v after %d calls", o, performed.Load())
		}
	})
}

// TestDrainLosesNothing: an effect that must not be repeated is performed even by a stopping worker, since no later worker could perform
// it.
func TestDrainLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		var performed atomic.Int64
		h.perform = func(context.Context, interpreter.Request) (any, error) {
			performed.Add(1)
			time.Sleep(2 * time.Second)
			return "done", nil
		}
		stop := h.work(worker.Config{})
		i := h.start("do: [{a: "+task+"}, {b: {run: {shell: {command: x}}, metadata: {swrun: {delivery: at-most-once}}}}]", client.StartOptions{})
		time.Sleep(time.Second)
		stop()
		defer h.work(worker.Config{})()
		if o := h.wait(i); o.Status != interpreter.StatusCompleted || performed.Load() != 2 {
			t.Errorf("got %+v after %d calls", o, performed.Load())
		}
	})
}

// TestNobodyWaits: a detached effect is performed, also as the last action of a run.
func TestNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		var performed atomic.Int64
		h.perform = func(context.Context, interpreter.Request) (any, error) {
			time.Sleep(time.Second)
			performed.Add(1)
			return "done", nil
		}
		defer h.work(worker.Config{})()
		i := h.start("do: [{a: {run: {shell: {command: x}, await: false}}}]", client.StartOptions{})
		if o := h.wait(i); o.Status != interpreter.StatusCompleted {
			t.Errorf("got %+v", o)
		}
		time.Sleep(2 * time.Second)
		if performed.Load() != 1 {
			t.Errorf("it was performed %d times", performed.Load())
		}
	})
}
