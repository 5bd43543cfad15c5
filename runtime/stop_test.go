package runtime_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/memstore"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// TestOneExecutor: a worker that takes a run again, after its lease expired, gives up the effects that it held before.
func TestOneExecutor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		var active atomic.Int64
		h.perform = func(ctx context.Context, _ interpreter.Request) (any, error) {
			active.Add(1)
			defer active.Add(-1)
			return hanging(ctx, interpreter.Request{})
		}
		defer h.work(worker.Config{Drain: time.Millisecond})()
		h.start("do: [{a: "+task+"}]", client.StartOptions{})
		time.Sleep(time.Second)
		for p := range 2 {
			if _, err := h.store.Scrub(t.Context(), store.Scrub{Partition: p, N: 100, Adopt: true}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		if active.Load() != 1 {
			t.Errorf("an effect is performed %d times at once", active.Load())
		}
	})
}

// gone is a store that is out of reach for a while, from the first claim on.
type gone struct {
	store.Store
	is atomic.Bool
}

func (g *gone) Definition(ctx context.Context, key string) ([]byte, error) {
	if g.is.Load() {
		return nil, errors.New("connection refused")
	}
	return g.Store.Definition(ctx, key)
}

func (g *gone) Claim(ctx context.Context, c store.Claim) ([]store.Claimed, error) {
	if g.is.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	claimed, err := g.Store.Claim(ctx, c)
	g.is.Store(g.is.Load() || len(claimed) > 0)
	return claimed, err
}

func (g *gone) Renew(ctx context.Context, c store.Renew) ([]store.Renewed, error) {
	if g.is.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return g.Store.Renew(ctx, c)
}

func (g *gone) Commit(ctx context.Context, c store.Commit) (store.Committed, error) {
	for g.is.Load() { // stores repeat unanswered calls like this
		select {
		case <-ctx.Done():
			return store.Committed{}, ctx.Err()
		case <-time.After(time.Second):
		}
	}
	return g.Store.Commit(ctx, c)
}

// TestStopWithoutStore: a worker can be stopped while its store is out of reach.
func TestStopWithoutStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = effortless
		h.start("do: [{a: "+task+"}]", client.StartOptions{})
		h.store = &gone{Store: h.store}
		stop := h.work(worker.Config{})
		time.Sleep(2 * time.Second)
		began := time.Now()
		stop()
		if took := time.Since(began); took > time.Minute {
			t.Errorf("it took %s", took)
		}
	})
}

// slow is a store whose first claim is answered late, while the worker stops.
type slow struct {
	store.Store
	once atomic.Bool
	stop func()
}

func (s *slow) Claim(ctx context.Context, c store.Claim) ([]store.Claimed, error) {
	claimed, err := s.Store.Claim(context.WithoutCancel(ctx), c)
	if !s.once.CompareAndSwap(false, true) {
		return claimed, err
	}
	s.stop()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(time.Second):
	}
	return claimed, err
}

// TestClaimAtStop: runs that are claimed while a worker stops are handed over.
func TestClaimAtStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = effortless
		i := h.start("do: [{a: "+task+"}]", client.StartOptions{})
		ctx, cancel := context.WithCancel(t.Context())
		s := &slow{Store: h.store, stop: cancel}
		worker.New(worker.Config{Store: s, Compile: h.compile}).Run(ctx)
		defer h.work(worker.Config{})()
		began := time.Now()
		h.wait(i)
		if took := time.Since(began); took > time.Second {
			t.Errorf("it lay idle for %s", took)
		}
	})
}

// TestDetachedAtStop: a detached effect has as much time as all others when a worker stops.
func TestDetachedAtStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		var ended atomic.Int64
		h.perform = func(ctx context.Context, _ interpreter.Request) (any, error) {
			select {
			case <-ctx.Done():
			case <-time.After(5 * time.Second):
				ended.Add(1)
			}
			return nil, nil
		}
		stop := h.work(worker.Config{})
		h.start("do: [{a: {run: {shell: {command: x}, await: false}}}]", client.StartOptions{})
		time.Sleep(time.Second)
		stop()
		if ended.Load() != 1 {
			t.Error("it was cut off")
		}
	})
}

// late is a store that answers final commits of runs after the leases were renewed.
type late struct{ store.Store }

func (s *late) Commit(ctx context.Context, c store.Commit) (store.Committed, error) {
	done, err := s.Store.Commit(ctx, c)
	if c.Status.Final() {
		select {
		case <-time.After(6 * time.Second):
		case <-ctx.Done():
			return store.Committed{}, ctx.Err()
		}
	}
	return done, err
}

// TestRenewalDuringTheEnd: a run that is no longer held because it ended does not count as lost.
func TestRenewalDuringTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		var performed, observed atomic.Int64
		h.perform = func(context.Context, interpreter.Request) (any, error) {
			performed.Add(1)
			return nil, nil
		}
		i := h.start("do: [{a: {run: {shell: {command: x}, await: false}}}]", client.StartOptions{})
		h.store = &late{h.store}
		defer h.work(worker.Config{Observe: func(store.Instance, []interpreter.HistoryEvent) { observed.Add(1) }})()
		h.wait(i)
		time.Sleep(time.Minute)
		if performed.Load() != 1 || observed.Load() == 0 {
			t.Errorf("it was performed %d times, and %d commits were observed", performed.Load(), observed.Load())
		}
	})
}

// TestOnlyBehindOthers: a worker with a single run finds it behind many others.
func TestOnlyBehindOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := memstore.New(memstore.Config{Partitions: 1})
		h := &host{T: t, store: kept, client: client.New(client.Config{Store: kept})}
		for range 150 {
			h.start("do: [{b: {set: {x: 1}}}]", client.StartOptions{})
		}
		i := h.start("do: [{b: {set: {x: 1}}}]", client.StartOptions{})
		defer h.work(worker.Config{Only: func(other store.Instance) bool { return other == i }})()
		time.Sleep(time.Minute)
		if r := h.record(i); !r.Status.Final() {
			t.Errorf("after a minute it is %s", r.Status)
		}
	})
}

// noCommits is a store that takes no commits, but everything else.
type noCommits struct{ store.Store }

func (noCommits) Commit(context.Context, store.Commit) (store.Committed, error) {
	return store.Committed{}, errors.New("NOPERM")
}

// TestStopWhileNothingIsStored: a worker whose commits fail stops anyway.
func TestStopWhileNothingIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = effortless
		h.start("do: [{a: "+task+"}]", client.StartOptions{})
		h.store = noCommits{h.store}
		stop := h.work(worker.Config{})
		time.Sleep(2 * time.Second)
		began := time.Now()
		stop()
		if took := time.Since(began); took > time.Minute {
			t.Errorf("it took %s", took)
		}
	})
}

// TestCommitThatIsNeverTaken: a run whose commits fail while its lease is renewed is not held forever.
func TestCommitThatIsNeverTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = effortless
		i := h.start("do: [{a: "+task+"}]", client.StartOptions{})
		h.store = noCommits{h.store}
		defer h.work(worker.Config{})()
		time.Sleep(10 * time.Minute)
		if r := h.record(i); r.Reason != store.Quarantined {
			t.Errorf("the record is %+v", r)
		}
	})
}
