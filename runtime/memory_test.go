package runtime_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime"
)

// TestMemoryOfEffects: what effects read together stays below the worker's bound, whatever each of them wants; all come to
// their turn, those too that want more than there is.
func TestMemoryOfEffects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		var held, most atomic.Int64
		wants := []int64{40, 60, 30, 1000, 1, 100}
		var next atomic.Int64
		h.perform = func(ctx context.Context, r interpreter.Request) (any, error) {
			want := wants[int(next.Add(1))%len(wants)]
			if err := r.Memory.Reserve(ctx, want); err != nil {
				return nil, err
			}
			for now, before := held.Add(min(want, 100)), most.Load(); now > before && !most.CompareAndSwap(before, now); before = most.Load() {
			}
			time.Sleep(time.Second) // of virtual time
			held.Add(-min(want, 100))
			if want == 60 {
				r.Memory.Keep(5)
			}
			return int(want), nil
		}
		defer h.work(runtime.WorkerConfig{Memory: 100})()
		var runs []runtime.Instance
		for range 12 {
			runs = append(runs, h.start("do: [{f: {fork: {branches: [{a: "+task+"}, {b: "+task+"}, {c: "+task+"}]}}}]", runtime.StartOptions{}))
		}
		for _, i := range runs {
			if o := h.wait(i); o.Status != interpreter.StatusCompleted {
				t.Errorf("got %+v", o)
			}
		}
		if most.Load() > 100 || most.Load() < 90 {
			t.Errorf("%d bytes of 100 were held together", most.Load())
		}
	})
}

// TestDeadlineOfWhatWaitsForMemory: a timeout ends it in time, and the memory goes to whoever is next.
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
		defer h.work(runtime.WorkerConfig{Memory: 100})()
		first := h.start("do: [{a: "+task+"}]", runtime.StartOptions{})
		time.Sleep(time.Second)
		i := h.start("do: [{a: "+task+"}]", runtime.StartOptions{ExecutionTimeout: 5 * time.Second})
		last := h.start("do: [{a: "+task+"}]", runtime.StartOptions{})
		o := h.wait(i)
		if took := o.EndedAt.Sub(o.StartedAt).Round(time.Second); !o.TimedOut || took != 5*time.Second {
			t.Errorf("got %+v after %s", o, took)
		}
		for _, i := range []runtime.Instance{first, last} {
			if o := h.wait(i); o.Status != interpreter.StatusCompleted {
				t.Errorf("got %+v", o)
			}
		}
	})
}

// TestMemoryAfterErrors: what fails, panics or asks twice keeps nothing.
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
			}
			return nil, nil
		}
		defer h.work(runtime.WorkerConfig{Memory: 100})()
		for range 4 {
			h.wait(h.start("do: [{t: {try: [{a: "+task+"}], catch: {}}}]", runtime.StartOptions{}))
		}
	})
}
