package runtime_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// stuck is a store whose polls return runs that cannot be claimed or promoted.
type stuck struct {
	store.Store
	found func(*store.Work)
	polls atomic.Int64
}

func (s *stuck) Poll(ctx context.Context, partition, n int, expired bool) (store.Work, error) {
	s.polls.Add(1)
	work, err := s.Store.Poll(ctx, partition, n, expired)
	s.found(&work)
	return work, err
}

// TestWhatCannotBeTakenIsLeft: runs that cannot be claimed or promoted keep no worker busy, and delay no other run.
func TestWhatCannotBeTakenIsLeft(t *testing.T) {
	ghost := []store.Instance{{Namespace: "test", ID: "ghost"}}
	for name, found := range map[string]func(*store.Work){
		"new":               func(w *store.Work) { w.New = append(w.New, ghost...) },
		"begun":             func(w *store.Work) { w.Begun = append(w.Begun, ghost...) },
		"due":               func(w *store.Work) { w.Due = append(w.Due, ghost...) },
		"more due than fit": func(w *store.Work) { w.Due, w.Next = append(w.Due, ghost...), w.At.Add(-time.Hour) },
		"an ended lease":    func(w *store.Work) { w.AddEnded("gone", ghost) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				s := &stuck{Store: h.store, found: found}
				h.store = s
				defer h.work(worker.Config{})()
				time.Sleep(time.Minute)
				if n := s.polls.Load(); n > 2*60*2 { // of each of two partitions
					t.Errorf("%d polls in a minute", n)
				}
				began := time.Now()
				if o := h.wait(h.start("do: [{a: {wait: PT1S}}]", client.StartOptions{})); o.Fault != nil {
					t.Error(o.Fault)
				}
				if took := time.Since(began); took > 2*time.Second {
					t.Errorf("another run of a second takes %s", took)
				}
			})
		})
	}
}
