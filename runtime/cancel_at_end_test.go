package runtime_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// beforeEnds is a store that calls a function before each of the first commits that end a run.
type beforeEnds struct {
	store.Store
	left int
	call func(store.Instance)
}

func (b *beforeEnds) Commit(ctx context.Context, c store.Commit) (store.Committed, error) {
	if c.Status.Final() && b.left > 0 {
		b.left--
		b.call(c.Instance)
	}
	return b.Store.Commit(ctx, c)
}

// TestCancelJustBeforeTheEnd: a cancel that is accepted before the commit that ends the run is carried out. However many messages come then, the run ends. A
// run that begins and ends in one step does not begin.
func TestCancelJustBeforeTheEnd(t *testing.T) {
	for name, c := range map[string]struct {
		messages int
		body     string
		want     interpreter.Status
	}{
		"one":              {1, "do: [{a: " + task + "}]", interpreter.StatusCancelled},
		"many":             {100, "do: [{a: " + task + "}]", interpreter.StatusCancelled},
		"one step":         {1, "do: [{a: {set: {x: 1}}}]", interpreter.StatusCancelled},
		"many to one step": {100, "do: [{a: {set: {x: 1}}}]", interpreter.StatusCancelled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				h.perform = effortless
				i := h.start(c.body, client.StartOptions{})
				cancels := client.New(client.Config{Store: h.store})
				h.store = &beforeEnds{h.store, c.messages, func(i store.Instance) {
					if err := cancels.Cancel(t.Context(), i, "late"); err != nil {
						t.Error(err)
					}
				}}
				defer h.work(worker.Config{})()
				if o := h.wait(i); o.Status != c.want {
					t.Errorf("it is %s", o.Status)
				}
			})
		})
	}
}

// TestSuspendJustBeforeTheEnd: a run that begins and ends in one step, and is suspended before the commit of that step, is suspended, and completes when it is
// resumed.
func TestSuspendJustBeforeTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		i := h.start("do: [{a: {set: {x: 1}}}]", client.StartOptions{})
		commands := client.New(client.Config{Store: h.store})
		h.store = &beforeEnds{h.store, 1, func(i store.Instance) {
			if err := commands.Suspend(t.Context(), i, "late"); err != nil {
				t.Error(err)
			}
		}}
		defer h.work(worker.Config{})()
		time.Sleep(time.Minute)
		if d, err := h.client.Describe(t.Context(), i); err != nil || d.Lifecycle.Status != interpreter.StatusSuspended {
			t.Fatalf("it is %v: %v", d, err)
		}
		if err := commands.Resume(t.Context(), i, ""); err != nil {
			t.Error(err)
		}
		if o := h.wait(i); o.Status != interpreter.StatusCompleted {
			t.Errorf("it is %s", o.Status)
		}
	})
}
