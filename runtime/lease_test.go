package runtime_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// cut is a store that can be out of reach.
type cut struct {
	store.Store
	off      atomic.Bool
	unleased atomic.Bool // leases cannot be renewed
}

var errOff = errors.New("connection refused")

func (c *cut) Poll(ctx context.Context, partition, n int, expired bool) (store.Work, error) {
	if c.off.Load() {
		return store.Work{}, errOff
	}
	return c.Store.Poll(ctx, partition, n, expired)
}

func (c *cut) Written(ctx context.Context) ([]store.Written, error) {
	if c.off.Load() {
		return nil, errOff
	}
	return c.Store.Written(ctx)
}

func (c *cut) Renew(ctx context.Context, r store.Renew) ([]store.Renewed, error) {
	if c.off.Load() || c.unleased.Load() {
		return nil, errOff
	}
	return c.Store.Renew(ctx, r)
}

func (c *cut) Commit(ctx context.Context, commit store.Commit) (store.Committed, error) {
	if c.off.Load() {
		return store.Committed{}, errOff
	}
	return c.Store.Commit(ctx, commit)
}

// TestOutageCountsNoDeaths: a store outage that is longer than the leases does not count as the death of a worker. Effects in flight
// continue, and are performed once.
func TestOutageCountsNoDeaths(t *testing.T) {
	for name, outage := range map[string]time.Duration{"longer than a lease": 5 * time.Second, "much longer": time.Minute} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				var performed atomic.Int64
				h.perform = func(ctx context.Context, _ interpreter.Request) (any, error) {
					performed.Add(1)
					select {
					case <-time.After(8 * time.Second):
						return "done", nil
					case <-ctx.Done():
						return nil, context.Cause(ctx)
					}
				}
				line := &cut{Store: h.store}
				h.store = line
				for range 2 {
					defer h.work(worker.Config{})()
				}
				var all []store.Instance
				for range 20 {
					all = append(all, h.start("do: [{a: "+task+"}, {b: "+task+"}]", client.StartOptions{}))
				}
				time.Sleep(4 * time.Second)
				line.off.Store(true)
				time.Sleep(outage)
				line.unleased.Store(true) // the first poller finds all leases expired
				line.off.Store(false)
				time.Sleep(time.Second)
				line.unleased.Store(false)
				time.Sleep(5 * time.Second)
				for _, i := range all {
					if r := h.record(i); r.Deaths > 0 {
						t.Errorf("%s has killed %d owners", i, r.Deaths)
					}
				}
				for _, i := range all {
					if o := h.wait(i); o.Status != interpreter.StatusCompleted {
						t.Errorf("%s ended as %s", i, o.Status)
					}
				}
				if n := performed.Load(); outage < 10*time.Second && n != 40 {
					t.Errorf("%d effects were performed", n)
				}
			})
		})
	}
}

// forgetful is a store that does not answer some claims that it has made.
type forgetful struct {
	store.Store
	left atomic.Int64
}

func (f *forgetful) Claim(ctx context.Context, c store.Claim) ([]store.Claimed, error) {
	claimed, err := f.Store.Claim(ctx, c)
	if len(claimed) > 0 && f.left.Add(-1) >= 0 {
		return nil, errOff
	}
	return claimed, err
}

// TestClaimWithoutAnswer: runs of a claim without an answer are held by no process, although the worker's lease continues. They are found
// soon, and do not count as deaths.
func TestClaimWithoutAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = hanging // so that the lease continues
		lossy := &forgetful{Store: h.store}
		h.store = lossy
		defer h.work(worker.Config{})()
		h.start("do: [{a: "+task+"}]", client.StartOptions{})
		h.start("do: [{a: "+task+"}]", client.StartOptions{})
		time.Sleep(10 * time.Second)
		lossy.left.Store(1)
		i := h.start("do: [{a: {set: {x: 1}}}]", client.StartOptions{})
		began := time.Now()
		if o := h.wait(i); o.Status != interpreter.StatusCompleted || time.Since(began) > 5*time.Second {
			t.Errorf("it ended as %s after %s", o.Status, time.Since(began))
		}
		if r := h.record(i); r.Deaths > 0 || r.Epoch != 2 {
			t.Errorf("the record is %+v", r)
		}
	})
}

// TestDeadWorker: the runs of a dead worker continue when its lease expires, and not earlier. The runs of other workers stay with them.
func TestDeadWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = hanging
		i := h.start("do: [{a: "+task+"}]", client.StartOptions{})
		h.claim(i, 3*time.Second) // by a worker that then dies
		defer h.work(worker.Config{})()
		other := h.start("do: [{a: "+task+"}]", client.StartOptions{})
		time.Sleep(2900 * time.Millisecond)
		if r := h.record(i); r.Owner != "dead" || r.Epoch != 1 {
			t.Errorf("it was taken over early: %+v", r)
		}
		time.Sleep(500 * time.Millisecond)
		if r := h.record(i); !r.Held() || r.Owner == "dead" || r.Deaths != 1 {
			t.Errorf("it was not taken over: %+v", r)
		}
		if r := h.record(other); r.Epoch != 1 {
			t.Errorf("the other was taken over: %+v", r)
		}
	})
}
