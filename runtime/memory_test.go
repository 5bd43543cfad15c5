package runtime_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// TestMemoryOfEffects: everything that effects read, and the values that they decode from it, stay below the worker's bound, whatever
// each of them needs; all come to their turn, those too that need more than there is.
func TestMemoryOfEffects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		var read, values level
		sizes := []int64{40, 60, 30, 1000, 1, 100}
		var next atomic.Int64
		h.perform = func(ctx context.Context, r interpreter.Request) (any, error) {
			size := sizes[int(next.Add(1))%len(sizes)]
			if err := r.Memory.Reserve(ctx, size); err != nil {
				return nil, err
			}
			lower := read.raise(min(size, 100))
			time.Sleep(time.Second) // of virtual time
			lower()
			if size == 60 {
				r.Memory.Keep(5)
			}
			if err := r.Memory.ReserveValues(ctx, 2*size); err != nil {
				return nil, err
			}
			defer values.raise(min(2*size, 100))()
			time.Sleep(time.Second)
			return int(size), nil
		}
		defer h.work(worker.Config{Memory: 200})()
		var runs []store.Instance
		for range 12 {
			runs = append(runs, h.start("do: [{f: {fork: {branches: [{a: "+task+"}, {b: "+task+"}, {c: "+task+"}]}}}]", client.StartOptions{}))
		}
		for _, i := range runs {
			if o := h.wait(i); o.Status != interpreter.StatusCompleted {
				t.Errorf("got %+v", o)
			}
		}
		for what, l := range map[string]*level{"read": &read, "values": &values} {
			if most := l.most.Load(); most > 100 || most < 90 {
				t.Errorf("%s: %d bytes of 100 were held at once", what, most)
			}
		}
	})
}

// level is how much of something is held, and the most that was.
type level struct{ now, most atomic.Int64 }

func (l *level) raise(by int64) (lower func()) {
	for now, most := l.now.Add(by), l.most.Load(); now > most && !l.most.CompareAndSwap(most, now); most = l.most.Load() {
	}
	return func() { l.now.Add(-by) }
}

// TestDeadlineOfWhatWaitsForMemory: a timeout ends the wait in time, and the memory is given to the next waiter.
func TestDeadlineOfWhatWaitsForMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = func(ctx context.Context, r interpreter.Request) (any, error) {
			if err := r.Memory.Reserve(ctx, 100); err != nil {
				return nil, err
			}
			time.Sleep(time.Minute)
			return nil, ctx.Err()
		}
		defer h.work(worker.Config{Memory: 100})()
		first := h.start("do: [{a: "+task+"}]", client.StartOptions{})
		time.Sleep(time.Second)
		i := h.start("do: [{a: "+task+"}]", client.StartOptions{ExecutionTimeout: 5 * time.Second})
		last := h.start("do: [{a: "+task+"}]", client.StartOptions{})
		o := h.wait(i)
		if took := o.EndedAt.Sub(o.StartedAt).Round(time.Second); !o.TimedOut || took != 5*time.Second {
			t.Errorf("got %+v after %s", o, took)
		}
		for _, i := range []store.Instance{first, last} {
			if o := h.wait(i); o.Status != interpreter.StatusCompleted {
				t.Errorf("got %+v", o)
			}
		}
	})
}

// TestMemoryAfterErrors: an effect that fails, panics or asks twice keeps no memory.
func TestMemoryAfterErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		var calls atomic.Int64
		h.perform = func(ctx context.Context, r interpreter.Request) (any, error) {
			if err := r.Memory.Reserve(ctx, 100); err != nil {
				return nil, err
			}
			switch calls.Add(1) {
			case 1:
				return nil, errors.Communicationf("broken")
			case 2:
				if r.Memory.Reserve(ctx, 1) == nil {
					t.Error("it may wait for itself")
				}
			case 3:
				if err := r.Memory.ReserveValues(ctx, 100); err != nil {
					return nil, err
				}
				if r.Memory.ReserveValues(ctx, 1) == nil || r.Memory.Reserve(ctx, 1) == nil {
					t.Error("it may wait for itself")
				}
				panic("after it")
			}
			return nil, nil
		}
		defer h.work(worker.Config{Memory: 100})()
		for range 5 {
			h.wait(h.start("do: [{t: {try: [{a: "+task+"}], catch: {}}}]", client.StartOptions{}))
		}
	})
}
