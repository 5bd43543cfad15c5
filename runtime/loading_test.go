package runtime_test

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// TestDefinitionsAreNotAnswered: a run is given back in time, also while the question is still open.
func TestDefinitionsAreNotAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = effortless
		i := h.start("do: [{w: {wait: PT3S}}, {a: "+task+"}]", client.StartOptions{})
		stop := h.work(worker.Config{})
		time.Sleep(time.Second)
		stop()
		h.store = &unanswering{Store: h.store, until: time.Now().Add(time.Minute), takes: 5 * time.Second}
		defer h.work(worker.Config{})()
		time.Sleep(50 * time.Second)
		if r := h.record(i); r.Deaths > 0 || r.Reason != "" {
			t.Errorf("the record is %+v", r)
		}
		if o := h.wait(i); o.Status != interpreter.StatusCompleted {
			t.Errorf("got %+v", o)
		}
	})
}

// TestCompilingPanics: it is a fault of the definition, and not of the worker.
func TestCompilingPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		i := h.start("do: [{a: "+task+"}]", client.StartOptions{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			compile := func(definition.Definition) (*interpreter.Program, error) { panic("it is broken") }
			worker.New(worker.Config{Store: h.store, Compile: compile}).Run(ctx)
		}()
		time.Sleep(10 * time.Minute)
		cancel()
		<-ended
		if r := h.record(i); r.Reason != store.Quarantined {
			t.Errorf("the record is %+v", r)
		}
	})
}

// unanswering is a store that takes its time to answer about definitions, and fails to before a moment.
type unanswering struct {
	store.Store
	until time.Time
	takes time.Duration
}

func (m *unanswering) Definition(ctx context.Context, key string) ([]byte, error) {
	early := time.Now().Before(m.until)
	time.Sleep(m.takes)
	if early {
		return nil, io.ErrUnexpectedEOF
	}
	return m.Store.Definition(ctx, key)
}

// TestDefinitionsOutOfReach: that definitions cannot be read for a while is no fault of a run. Its owner gives it
// back before it seems to hang, also if something is due.
func TestDefinitionsOutOfReach(t *testing.T) {
	for name, before := range map[string]time.Duration{"new": 0, "due": 10 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				h.perform = effortless
				i := h.start("do: [{w: {wait: PT1M}}, {a: "+task+"}]", client.StartOptions{})
				if before > 0 {
					stop := h.work(worker.Config{})
					time.Sleep(before)
					stop()
				}
				h.store = &unanswering{Store: h.store, until: time.Now().Add(5 * time.Minute)}
				defer h.work(worker.Config{})()
				time.Sleep(4 * time.Minute)
				if r := h.record(i); r.Deaths > 0 || r.Reason != "" {
					t.Errorf("the record is %+v", r)
				}
				if o := h.wait(i); o.Status != interpreter.StatusCompleted {
					t.Errorf("got %+v", o)
				}
			})
		})
	}
}
