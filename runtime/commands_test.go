package runtime_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// TestBranchesEndWhileSuspended: the order in which branches continue does not depend on whether the state was stored in between.
func TestBranchesEndWhileSuspended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = func(_ context.Context, r interpreter.Request) (any, error) {
			d := 10 * time.Second
			if strings.Contains(string(r.Path), "/slow/") {
				d = 20 * time.Second
			}
			time.Sleep(d)
			return string(r.Path), nil
		}
		defer h.work(worker.Config{})()
		branch := "{do: [{first: " + task + "}, {second: " + task + "}]}"
		i := h.start("do: [{f: {fork: {branches: [{slow: "+branch+"}, {fast: "+branch+"}]}}}]", client.StartOptions{})
		time.Sleep(5 * time.Second)
		for _, command := range []func(context.Context, store.Instance, string) error{h.client.Suspend, h.client.Resume} {
			if err := command(t.Context(), i, ""); err != nil {
				t.Fatal(err)
			}
			time.Sleep(30 * time.Second)
		}
		h.wait(i)
		l, err := h.store.Load(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		info, err := execution.ParseInvocation(l.Invocation)
		if err != nil {
			t.Fatal(err)
		}
		d, err := client.New(client.Config{Store: h.store, Compile: h.compile}).Describe(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		var entries []interpreter.HistoryStep
		if _, err := h.client.History(t.Context(), i, 0, func(e client.HistoryEntry) error {
			entries = append(entries, e.HistoryStep)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		folded, err := interpreter.Replay(interpreter.Past{Program: d.Program, New: info.NewState(i), Start: info.Start(d.Program, l.Lifecycle), Steps: entries})
		if err != nil {
			t.Fatal(err)
		}
		stored, _ := d.State.MarshalJSON()
		if again, _ := folded.MarshalJSON(); string(again) != string(stored) {
			t.Errorf("stored %s\nfolded %s", stored, again)
		}
	})
}

// TestSuspend is semantics 16.2: no task starts, running tasks continue, deadlines apply.
func TestSuspend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		var performed atomic.Int64
		h.perform = func(context.Context, interpreter.Request) (any, error) {
			performed.Add(1)
			time.Sleep(10 * time.Second)
			return "done", nil
		}
		defer h.work(worker.Config{})()
		i := h.start("do: [{a: "+task+"}, {b: "+task+"}]", client.StartOptions{})
		time.Sleep(time.Second)
		if err := h.client.Suspend(t.Context(), i, "lunch"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if r := h.record(i); performed.Load() != 1 || r.Status != interpreter.StatusSuspended || r.Held() {
			t.Errorf("%d effects were performed; the record is %+v", performed.Load(), r)
		}
		if err := h.client.Resume(t.Context(), i, ""); err != nil {
			t.Fatal(err)
		}
		if o := h.wait(i); o.Status != interpreter.StatusCompleted || performed.Load() != 2 {
			t.Errorf("got %+v", o)
		}
		timed := h.start("timeout: {after: PT1M}\ndo: [{a: {wait: PT10M}}]", client.StartOptions{})
		time.Sleep(time.Second)
		if err := h.client.Suspend(t.Context(), timed, ""); err != nil {
			t.Fatal(err)
		}
		if o := h.wait(timed); o.Status != interpreter.StatusFaulted || took(o) != time.Minute {
			t.Errorf("suspended, it ended as %+v after %s", o, took(o))
		}
	})
}
