package runtime_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/local"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// endless returns a performer that ignores its context until the test ends.
func endless(t *testing.T) (perform interpreter.Performer, end func()) {
	t.Helper()
	ended := make(chan struct{})
	return func(context.Context, interpreter.Request) (any, error) {
		<-ended
		return "too late", nil
	}, func() { close(ended) }
}

// logged is a log that a test reads.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

const givenUp = "an effect is given up"

// TestEndlessEffectsAreGivenUp: a run in memory ends although its effects do not, with the timeout that fired.
func TestEndlessEffectsAreGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		perform, end := endless(t)
		defer end()
		h := newHost(t)
		h.perform = perform
		p := h.program(`do: [{f: {fork: {branches: [{a: {run: {shell: {command: x}}}}, {b: {run: {shell: {command: x}, await: false}}}]}, timeout: {after: PT1S}}}]`)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // ends the detached effect
		defer cancel()
		var log logged
		began := time.Now()
		o, err := local.Run(ctx, p, nil, local.Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil || o.Fault == nil || !errors.Same(o.Fault.Type, errors.Timeout) || o.EndedAt.Sub(o.StartedAt) > 2*time.Second {
			t.Errorf("got %+v, %v", o, err)
		}
		if took := time.Since(began); took > time.Minute+10*time.Second || log.count(givenUp) == 0 {
			t.Errorf("it took %s, and the log holds %q", took, log.text.String())
		}
	})
}

// TestEndlessEffectsFreeTheirSlots: five runs whose effects never end do not block a worker with five slots. Their timeouts fire, and the
// worker stops on request.
func TestEndlessEffectsFreeTheirSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		perform, end := endless(t)
		defer end()
		h.perform = func(ctx context.Context, r interpreter.Request) (any, error) {
			if strings.Contains(string(r.Path), "quick") {
				return "done", nil
			}
			return perform(ctx, r)
		}
		var log logged
		stop := h.work(worker.Config{Concurrency: 5, Drain: time.Second, Log: slog.New(slog.NewTextHandler(&log, nil))})
		var all []store.Instance
		for range 5 {
			all = append(all, h.start("do: [{a: {run: {shell: {command: x}}, timeout: {after: PT2S}}}]", client.StartOptions{}))
		}
		time.Sleep(time.Second)
		quick := h.start("do: [{quick: {run: {shell: {command: x}}}}]", client.StartOptions{})
		for _, i := range all {
			if o := h.wait(i); o.Fault == nil || !errors.Same(o.Fault.Type, errors.Timeout) || o.EndedAt.Sub(o.StartedAt) > 2100*time.Millisecond {
				t.Errorf("got %+v", o)
			}
		}
		began := time.Now()
		if o := h.wait(quick); o.Output != "done" || time.Since(began) > 20*time.Second {
			t.Errorf("got %+v after %s", o, time.Since(began))
		}
		if log.count(givenUp) != 5 {
			t.Errorf("the log holds %q", log.text.String())
		}
		h.start("do: [{a: {run: {shell: {command: x}}}}, {quick: {run: {shell: {command: x}}}}]", client.StartOptions{})
		h.start("do: [{b: {run: {shell: {command: x}, await: false}}}]", client.StartOptions{})
		time.Sleep(time.Second)
		began = time.Now()
		stop()
		if took := time.Since(began); took > 15*time.Second {
			t.Errorf("it stopped after %s", took)
		}
	})
}

// TestChildWithoutEnd: a child that never ends is cancelled with the task that waits for it.
func TestChildWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		perform, end := endless(t)
		defer end()
		h.perform = perform
		stop := h.work(worker.Config{Concurrency: 2, Drain: time.Second})
		defer stop()
		h.deploy("child", "do: [{a: {run: {shell: {command: x}}}}]")
		i := h.start("do: [{a: {run: {workflow: {namespace: test, name: child, version: latest}}, timeout: {after: PT2S}}}]", client.StartOptions{})
		if o := h.wait(i); o.Fault == nil || !errors.Same(o.Fault.Type, errors.Timeout) || o.EndedAt.Sub(o.StartedAt) > 2100*time.Millisecond {
			t.Errorf("got %+v", o)
		}
	})
}

// TestAtMostOnce: an effect that must not be repeated is not, and its outcome is reported as unknown.
func TestAtMostOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		var performed atomic.Int64
		h.perform = func(ctx context.Context, _ interpreter.Request) (any, error) {
			performed.Add(1)
			return hanging(ctx, interpreter.Request{})
		}
		first := h.work(worker.Config{Drain: time.Millisecond})
		i := h.start("do: [{t: {try: [{a: {run: {shell: {command: x}}, metadata: {swrun: {delivery: at-most-once}}}}], catch: {as: e, do: [{b: {set: '${ $e.outcome }'}}]}}}]", client.StartOptions{})
		time.Sleep(time.Second)
		first() // the effect is given up, and its result is unknown
		defer h.work(worker.Config{})()
		if o := h.wait(i); o.Output != "unknown" || performed.Load() != 1 {
			t.Errorf("got %+v after %d calls", o, performed.Load())
		}
	})
}

// TestResultIsSteppedAgain: a commit is refused because of the time, and the events are stepped again from the stored state. The result of
// an effect that must not be repeated is not lost.
func TestResultIsSteppedAgain(t *testing.T) {
	h := newHost(t)
	i := h.start("do: [{a: {run: {shell: {command: x}}, metadata: {swrun: {delivery: at-most-once}}}}]", client.StartOptions{})
	claim := func() *store.Claimed {
		claimed, err := h.store.Claim(t.Context(), store.Claim{
			Partition: i.Partition(2), Instances: []store.Instance{i}, Worker: "w", Nonce: "n", Lease: time.Hour,
		})
		if err != nil || len(claimed) != 1 {
			t.Fatal(claimed, err)
		}
		return &claimed[0]
	}
	c := claim()
	s, err := execution.New(execution.Config{Clock: func() time.Time { return c.At }, CheckpointAfter: time.Second}, c)
	if err != nil {
		t.Fatal(err)
	}
	s.SlotFree()
	if err := s.Loaded(h.program("do: [{a: {run: {shell: {command: x}}, metadata: {swrun: {delivery: at-most-once}}}}]")); err != nil {
		t.Fatal(err)
	}
	if len(s.Actions().Perform) > 0 || s.Actions().Commit == nil {
		t.Fatal("the effect begins before it is stored")
	}
	done, err := h.store.Commit(t.Context(), *s.Actions().Commit)
	s.Committed(done, err)
	s.Finished(interpreter.Finished{Effect: s.Actions().Perform[0].ID, Result: "sent"})
	s.Committed(store.Committed{}, store.Refuse(store.TooEarly, c.At, "the test"))
	if err := s.Reloaded(claim()); err != nil {
		t.Fatal(err)
	}
	done, err = h.store.Commit(t.Context(), *s.Actions().Commit)
	s.Committed(done, err)
	if o, ended, err := h.client.Outcome(t.Context(), i); !ended || o.Output != "sent" || err != nil {
		t.Errorf("got %+v, %v", o, err)
	}
}

// TestPanicsAreContained: a performer that panics takes only its instance down, which is quarantined in the end.
func TestPanicsAreContained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = func(_ context.Context, r interpreter.Request) (any, error) {
			if strings.Contains(string(r.Path), "bad") {
				panic("a bug")
			}
			return "done", nil
		}
		defer h.work(worker.Config{})()
		bad := h.start("do: [{bad: "+task+"}]", client.StartOptions{})
		good := h.start("do: [{a: "+task+"}]", client.StartOptions{})
		if o := h.wait(good); o.Status != interpreter.StatusCompleted {
			t.Errorf("got %+v", o)
		}
		time.Sleep(2 * time.Minute)
		if r := h.record(bad); r.Reason != store.Quarantined {
			t.Errorf("the record is %+v", r)
		}
		if err := h.client.Terminate(t.Context(), bad, ""); err != nil {
			t.Fatal(err)
		}
		if o := h.wait(bad); o.Status != interpreter.StatusCancelled {
			t.Errorf("got %+v", o)
		}
	})
}
