package runtime_test

import (
	"context"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/presence"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// TestWorkersAnnounceThemselves: the announcement contains their work, their start, and when they were last seen. A worker that left or
// hangs is not present.
func TestWorkersAnnounceThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = func(ctx context.Context, _ interpreter.Request) (any, error) {
			<-ctx.Done()
			time.Sleep(time.Second)
			return nil, context.Cause(ctx)
		}
		list := func() []presence.Worker {
			all, err := presence.Workers(t.Context(), h.store)
			h.must(err)
			return all
		}
		began := time.Now().UTC()
		stop := h.work(worker.Config{Name: "first", Concurrency: 3, Drain: time.Millisecond})
		time.Sleep(5 * time.Second)
		i := h.start("do: [{a: "+task+"}]", client.StartOptions{})
		stopOther := h.work(worker.Config{Name: "other", Concurrency: -1, About: presence.Worker{Runs: []store.Instance{{Namespace: "test", ID: "elsewhere"}}}})
		time.Sleep(presence.AnnounceEvery)
		all := list()
		if len(all) != 2 || all[0].Name != "first" || all[1].Name != "other" {
			t.Fatalf("there are %+v", all)
		}
		first, other := all[0], all[1]
		if !first.Since.Equal(began) || !first.Seen.Equal(began.Add(presence.AnnounceEvery)) || !reflect.DeepEqual(first.Load, presence.Load{Held: 1, Performing: 1, PerQueue: map[string]int{"default": 1}}) || first.Concurrency != 3 {
			t.Errorf("the first is %+v", first)
		}
		if other.Held != 0 || other.Concurrency != 0 || other.Serves(i) || !other.Serves(i, other.Runs[0]) || !first.Serves(i) || len(presence.Serving(all, i)) != 1 {
			t.Errorf("the other is %+v", other)
		}
		stopOther()
		if all := list(); len(all) != 1 {
			t.Errorf("when one has left, there are %+v", all)
		}
		go func() { time.Sleep(100 * time.Millisecond); stop() }()
		time.Sleep(200 * time.Millisecond)
		if all := list(); len(all) != 1 || !all[0].Draining {
			t.Errorf("while it stops, there are %+v", all)
		}
		time.Sleep(time.Minute)
		if all := list(); len(all) != 0 {
			t.Errorf("in the end there are %+v", all)
		}
		defer h.store.Attend(t.Context(), "still")() // it does not announce itself any more
		_, err := h.store.Register(t.Context(), store.Registration{Kind: store.RegistryWorkers, Key: "still", Value: []byte("1 {}"), For: time.Second})
		h.must(err)
		if all := list(); len(all) != 1 {
			t.Errorf("there are %+v", all)
		}
		time.Sleep(time.Second)
		if all := list(); len(all) != 0 {
			t.Errorf("of one that stands still, there are %+v", all)
		}
	})
}
