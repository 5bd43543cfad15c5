package runtime_test

import (
	"context"
	"strings"
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

const receives = "{run: {shell: {command: receive}}}"

// post is a performer: tasks called m wait until something comes for them, which it counts, and others take a second.
type post struct {
	waiting atomic.Int64
	comes   chan struct{}
	left    func(why error)
}

func (p *post) perform(ctx context.Context, r interpreter.Request) (any, error) {
	if !strings.HasSuffix(string(r.Path), "/m") {
		time.Sleep(time.Second)
		return "done", nil
	}
	p.waiting.Add(1)
	defer p.waiting.Add(-1)
	select {
	case <-p.comes:
		return "come", nil
	case <-ctx.Done():
		if p.left != nil {
			p.left(context.Cause(ctx))
		}
		return nil, context.Cause(ctx)
	}
}

// TestWaitingTakesNoSlot: a worker with few slots holds many runs that wait for messages from others, and makes progress with everything
// else: new runs, effects, deadlines. The messages reach all waiting runs. A worker that takes them over has no more slots.
func TestWaitingTakesNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, p := newHost(t), &post{comes: make(chan struct{})}
		h.perform = p.perform
		stop := h.work(worker.Config{Concurrency: 2, NamespaceConcurrency: 1})
		const many = 200
		var all []store.Instance
		for n := range many {
			document := "do: [{m: " + receives + "}, {a: " + task + "}]"
			if n%2 == 1 { // it begins before it waits
				document = "do: [{w: {wait: PT2S}}, {m: " + receives + "}]"
			}
			all = append(all, h.start(document, client.StartOptions{}))
		}
		for range 2 {
			for range 60 { // the runs begin two by two, at polls
				time.Sleep(time.Second)
				if p.waiting.Load() == many {
					break
				}
			}
			if n := p.waiting.Load(); n != many {
				t.Fatalf("%d wait, want %d", n, many)
			}
			began := time.Now()
			i := h.start("do: [{a: "+task+"}]", client.StartOptions{})
			if o := h.wait(i); o.Status != interpreter.StatusCompleted || time.Since(began) > 3*time.Second {
				t.Errorf("another run took %s: %+v", time.Since(began), o)
			}
			i = h.start("timeout: {after: PT3S}\ndo: [{m: "+receives+"}]", client.StartOptions{})
			if o := h.wait(i); !o.TimedOut || o.EndedAt.Sub(o.StartedAt) > 3500*time.Millisecond {
				t.Errorf("a deadline: %+v", o)
			}
			began = time.Now()
			stop()
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("what only waits keeps a worker from stopping for %s", took)
			}
			stop = h.work(worker.Config{Concurrency: 2, NamespaceConcurrency: 1})
		}
		time.Sleep(5 * time.Second)
		defer stop()
		close(p.comes)
		for _, i := range all {
			if o := h.wait(i); o.Status != interpreter.StatusCompleted {
				t.Fatalf("%s: %+v", i, o)
			}
		}
	})
}

// TestWaitingElsewhere: a waiting effect learns whether its task ended, or continues at another worker. Only in the latter case the awaited
// message is kept.
func TestWaitingElsewhere(t *testing.T) {
	for name, unwanted := range map[string]bool{"the worker stops": false, "the worker is out of time": false, "the run is cancelled": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var told atomic.Int64
				h, p := newHost(t), &post{comes: make(chan struct{})}
				p.left = func(why error) {
					if told.Add(1); errors.Is(why, interpreter.ErrUnwanted) != unwanted {
						t.Errorf("it is told: %v", why)
					}
				}
				h.perform = p.perform
				stop := h.work(worker.Config{Drain: 2 * time.Second})
				once := ""
				if name == "the worker is out of time" {
					once = ", metadata: {swrun: {delivery: at-most-once}}" // that ends where it began, if it does in time
				}
				i := h.start("do: [{m: {run: {shell: {command: receive}}"+once+"}}]", client.StartOptions{})
				time.Sleep(5 * time.Second)
				if unwanted {
					if err := h.client.Cancel(t.Context(), i, ""); err != nil {
						t.Fatal(err)
					}
					h.wait(i)
				}
				stop()
				if told.Load() != 1 {
					t.Errorf("it is told %d times", told.Load())
				}
			})
		})
	}
}
