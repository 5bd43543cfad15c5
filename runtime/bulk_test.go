package runtime_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/memstore"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// removals counts the calls of Remove.
type removals struct {
	store.Store
	calls atomic.Int64
}

func (r *removals) Remove(ctx context.Context, c store.Remove) (int, error) {
	r.calls.Add(1)
	return r.Store.Remove(ctx, c)
}

// TestDeleteAll: many runs are removed in one call. A run in progress is refused, and the others are removed anyway.
func TestDeleteAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		counted := &removals{Store: memstore.New(memstore.Config{Partitions: 4})}
		h.store, h.client = counted, client.New(client.Config{Store: counted})
		defer h.work(worker.Config{})()
		var all []store.Instance
		for range 1000 {
			all = append(all, h.start("do: [{a: {set: {x: 1}}}]", client.StartOptions{}))
		}
		for _, i := range all {
			h.wait(i)
		}
		if failed := slices.DeleteFunc(h.client.DeleteAll(t.Context(), all[:900]), isNil); len(failed) > 0 || counted.calls.Load() > 14 {
			t.Errorf("900 took %d calls, and failed with %v", counted.calls.Load(), failed)
		}
		waiting := h.start("do: [{w: {wait: PT1H}}]", client.StartOptions{})
		rest := append(slices.Clone(all[890:]), waiting)
		for n, err := range h.client.DeleteAll(t.Context(), rest) {
			if refused := store.RefusedAs(err) == store.Conflict; refused != (rest[n] == waiting) || err != nil && !refused {
				t.Errorf("%s: %v", rest[n], err)
			}
		}
		for _, i := range all {
			if _, err := h.store.Load(t.Context(), i); store.RefusedAs(err) != store.NoSuch {
				t.Fatalf("%s is still there: %v", i, err)
			}
		}
	})
}

func isNil(err error) bool { return err == nil }

// TestTerminateMany: runs that are cancelled in one call all end, and their retention then removes them all.
func TestTerminateMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		defer h.work(worker.Config{Retention: 1})()
		var all []store.Instance
		for n := range pacetest.Fewer(2500, 5) {
			all = append(all, h.start("do: [{w: {wait: PT1H}}]", client.StartOptions{ID: fmt.Sprint("r", n)}))
		}
		refused := client.ForEach(all, func(i store.Instance) error {
			if o := h.record(i); o.Status == interpreter.StatusCompleted {
				return fmt.Errorf("%s has ended", i)
			}
			return h.client.Terminate(t.Context(), i, "")
		})
		if refused = slices.DeleteFunc(refused, isNil); len(refused) > 0 {
			t.Fatal(refused)
		}
		synctest.Wait()
		for _, i := range all {
			if _, err := h.client.Wait(t.Context(), i); store.RefusedAs(err) != store.NoSuch && err != nil {
				t.Fatal(err)
			}
		}
	})
}
