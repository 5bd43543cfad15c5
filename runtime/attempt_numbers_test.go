package runtime_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// TestAttemptsOfLostWorkers: a request that is repeated because its worker was lost has another number, also if nothing was stored of the one
// before: at the start of a run, and after that.
func TestAttemptsOfLostWorkers(t *testing.T) {
	for name, document := range map[string]string{
		"at the start": "do: [{a: " + task + "}]",
		"after a wait": "do: [{w: {wait: PT1M}}, {a: " + task + "}]",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				var mu sync.Mutex
				var attempts []int
				began := make(chan struct{}, 10)
				h.perform = func(ctx context.Context, r interpreter.Request) (any, error) {
					mu.Lock()
					attempts = append(attempts, r.Attempt)
					last := len(attempts) == 4
					mu.Unlock()
					if last {
						return "done", nil
					}
					began <- struct{}{}
					return hanging(ctx, r)
				}
				whole := h.store
				i := h.start(document, client.StartOptions{})
				for range 3 {
					lost := &mortal{Store: whole, commits: &atomic.Int64{}, died: make(chan struct{})}
					h.store = buried{lost}
					defer h.work(worker.Config{})()
					h.store = whole
					<-began
					lost.dead.Store(true)
					time.Sleep(time.Minute) // its lease ends
				}
				defer h.work(worker.Config{})()
				if o := h.wait(i); o.Output != "done" {
					t.Errorf("got %+v", o)
				}
				mu.Lock()
				defer mu.Unlock()
				if !slices.Equal(attempts, []int{1, 2, 3, 4}) {
					t.Errorf("the attempts are %v", attempts)
				}
			})
		})
	}
}

// buried is a mortal store that a dead worker cannot even give runs back to.
type buried struct{ *mortal }

func (b buried) Promote(ctx context.Context, p store.Promote) (store.Promoted, error) {
	if b.dead.Load() {
		return store.Promoted{}, errDead
	}
	return b.mortal.Promote(ctx, p)
}
