package runtime_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// slowly makes each step of h that begins an effect take a time, until the returned function is called. It counts these steps.
func (h *host) slowly(takes time.Duration) (steps *atomic.Int64, end func()) {
	steps = new(atomic.Int64)
	ended := make(chan struct{})
	h.perform, h.enter = effortless, func() {
		steps.Add(1)
		select {
		case <-time.After(takes):
		case <-ended:
		}
	}
	return steps, func() { close(ended) }
}

// TestBusyOwnersKeepRuns: a run stays with a worker that is alive, however long its step takes. The step is made once.
func TestBusyOwnersKeepRuns(t *testing.T) {
	for name, c := range map[string]struct {
		document string
		takes    time.Duration
	}{
		"a step after a wait":         {"do: [{w: {wait: PT0.5S}}, {slow: " + task + "}]", 50 * time.Second},
		"a step after a long wait":    {"do: [{w: {wait: PT5S}}, {slow: " + task + "}]", 50 * time.Second},
		"before a deadline":           {"timeout: {after: PT2M}\ndo: [{w: {wait: PT5S}}, {slow: " + task + "}]", 50 * time.Second},
		"of what a deadline leads to": {"do: [{t: {try: [{w: {wait: PT10S, timeout: {after: PT1S}}}], catch: {do: [{slow: " + task + "}]}}}]", 50 * time.Second},
		"several steps, a wait each":  {"do: [{w: {wait: PT0.5S}}, {slow: " + task + "}, {v: {wait: PT0.5S}}, {slow: " + task + "}]", 40 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				steps, end := h.slowly(c.takes)
				defer end()
				defer h.work(worker.Config{})()
				defer h.work(worker.Config{})()
				i := h.start(c.document, client.StartOptions{})
				lost := int64(0)
				for range 100 {
					time.Sleep(time.Second)
					lost = max(lost, h.record(i).Deaths)
				}
				if o := h.wait(i); o.Status != interpreter.StatusCompleted || lost > 0 || steps.Load() > 2 {
					t.Errorf("the run is %s; %d workers were lost and %d slow steps made", o.Status, lost, steps.Load())
				}
			})
		})
	}
}

// TestDeadlinesOfBusyOwners: a deadline is kept although the owner of the run makes a step that takes long.
func TestDeadlinesOfBusyOwners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		_, end := h.slowly(50 * time.Second)
		defer end()
		defer h.work(worker.Config{})()
		i := h.start("timeout: {after: PT10S}\ndo: [{w: {wait: PT5S}}, {slow: "+task+"}]", client.StartOptions{})
		o := h.wait(i)
		if took := o.EndedAt.Sub(o.StartedAt); o.Fault == nil || o.Fault.Type != errors.Timeout || took > 10*time.Second+store.HangTolerance+time.Second {
			t.Errorf("after %s the run ended with %+v", took, o.Fault)
		}
	})
}

// TestEndlessStepsAreQuarantined: a run whose step never ends is taken from its owner, and quarantined.
func TestEndlessStepsAreQuarantined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		steps, end := h.slowly(1000 * time.Hour)
		defer h.work(worker.Config{})()
		defer end()
		i := h.start("do: [{w: {wait: PT0.5S}}, {slow: "+task+"}]", client.StartOptions{})
		time.Sleep(20 * time.Minute)
		if r := h.record(i); r.Reason != store.Quarantined || steps.Load() != store.DefaultMaxDeaths {
			t.Errorf("%d steps were begun: %+v", steps.Load(), r)
		}
	})
}

// TestStepsWaitForTheirTurn: a run whose step waits for its turn to build much data does not count as one that hangs, however long that takes.
func TestStepsWaitForTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.places = expr.NewPlaces(1)
		taken := taker{h.places, make(chan struct{})}
		code, err := expr.Compile("[range(200000)] | now")
		if err != nil {
			t.Fatal(err)
		}
		var taking sync.WaitGroup
		taking.Go(func() { _, _ = code.Eval(taken, nil) })
		defer taking.Wait()
		synctest.Wait()
		defer h.work(worker.Config{})()
		i := h.start("do: [{w: {wait: PT0.5S}}, {a: {set: {n: '${ [range(100000)] | length }'}}}]", client.StartOptions{})
		time.Sleep(20 * time.Minute)
		if r := h.record(i); r.Deaths > 0 || r.Status.Final() {
			t.Errorf("the run is %+v", r)
		}
		close(taken.until)
		if o := h.wait(i); o.Status != interpreter.StatusCompleted {
			t.Errorf("the run is %s", o.Status)
		}
	})
}

// taker is the environment of an evaluation that keeps its place for a time.
type taker struct {
	places *expr.Places
	until  chan struct{}
}

func (t taker) Place() expr.Place { return expr.Place{Of: t.places} }

func (taker) Variable(string) any { return nil }

func (t taker) Now() time.Time {
	<-t.until
	return time.Time{}
}

// TestDeadlineOfBusyOwnersTask: the deadline of a task that the same owner began is kept, although the owner makes a long step of the task.
func TestDeadlineOfBusyOwnersTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		_, end := h.slowly(50 * time.Second)
		defer end()
		defer h.work(worker.Config{})()
		i := h.start("do: [{w: {wait: PT1S}}, {d: {do: [{v: {wait: PT0.5S}}, {slow: "+task+"}], timeout: {after: PT10S}}}]", client.StartOptions{})
		o := h.wait(i)
		if took := o.EndedAt.Sub(o.StartedAt); o.Fault == nil || o.Fault.Type != errors.Timeout || took > 11*time.Second+store.HangTolerance+time.Second {
			t.Errorf("after %s the run ended with %+v", took, o.Fault)
		}
	})
}

// hesitant is a store in which prolonging runs fails in one partition: every second call is refused. In the other one it never ends.
type hesitant struct {
	store.Store
	well  int
	calls atomic.Int64
}

func (s *hesitant) Promote(ctx context.Context, p store.Promote) (store.Promoted, error) {
	switch {
	case p.Busy && p.Partition != s.well:
		<-ctx.Done()
		return store.Promoted{}, ctx.Err()
	case p.Busy && s.calls.Add(1)%2 == 1:
		return store.Promoted{}, errors.New("not now")
	}
	return s.Store.Promote(ctx, p)
}

// TestBusyOwnersTryAgain: a call that fails, and a partition that does not answer, lose no run of another partition.
func TestBusyOwnersTryAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		_, end := h.slowly(40 * time.Second)
		defer end()
		const document = "do: [{w: {wait: PT5S}}, {slow: " + task + "}]"
		var all [2]store.Instance // one of each partition
		for all[0] == all[1] || all[0].Partition(2) == all[1].Partition(2) {
			all[0], all[1] = h.start(document, client.StartOptions{}), h.start(document, client.StartOptions{})
		}
		s := &hesitant{Store: h.store, well: all[0].Partition(2)}
		h.store = s
		defer h.work(worker.Config{Lease: 10 * time.Second})()
		time.Sleep(30 * time.Second)
		if r := h.record(all[0]); r.Deaths > 0 || s.calls.Load() < 10 {
			t.Errorf("after %d calls the run is %+v", s.calls.Load(), r)
		}
		if r := h.record(all[1]); r.Deaths == 0 {
			t.Errorf("the run of the partition that does not answer is %+v", r)
		}
	})
}
