package runtime_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// TestLateWithoutWorker: describe names the soft deadlines that pass while no worker runs, and the next worker notes them: before the records of a
// deadline that passed later, and in their order. No other scope becomes late. The history can be repeated.
func TestLateWithoutWorker(t *testing.T) {
	const seeds = 400 // with which each kind of scope becomes late
	noted, tried := map[string]int{}, pacetest.Fewer(seeds, 5)
	for seed := range uint64(tried) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scopes{Rand: rand.New(rand.NewPCG(seed, 4)), soft: true}
				document := s.document()
				h := newHost(t)
				h.perform = func(ctx context.Context, _ interpreter.Request) (any, error) {
					<-ctx.Done()
					return nil, context.Cause(ctx)
				}
				h.deploy("child", "do: [{w: {listen: {to: {one: {with: {type: never}}}}}}]")
				h.passAlone(s, h.start(document, client.StartOptions{TimeoutsFromAccept: true}), noted)
				if t.Failed() {
					t.Logf("the document is\n%s", document)
				}
			})
		})
	}
	for _, kind := range []string{"run", "task", "never begun", "before a timeout", "several"} {
		if noted[kind] == 0 && tried == seeds {
			t.Errorf("nothing of this kind: %s; %v", kind, noted)
		}
	}
}

// passAlone lets time pass without a worker, and compares the description before with the history after it.
func (h *host) passAlone(s *scopes, i store.Instance, noted map[string]int) {
	h.Helper()
	if s.IntN(4) > 0 {
		stop := h.work(worker.Config{})
		time.Sleep(time.Second)
		stop()
	}
	d := h.described(i, false)
	time.Sleep(time.Duration(s.IntN(150_000)) * time.Millisecond)
	until := time.Now()
	defer h.work(worker.Config{})()
	time.Sleep(100 * time.Millisecond)
	got := h.lateSince(i, d.At)
	for n, r := range got {
		if n > 0 && got[n-1].Seq == r.Seq-1 && r.Until.Before(got[n-1].Until) {
			h.Errorf("%q is noted after %q, and passed before it", r.Pointer, got[n-1].Pointer)
		}
		if !slices.ContainsFunc(d.Soft, r.isOf) {
			h.Errorf("%q became late at %s, and describe named %v", r.Pointer, r.Until, d.Soft)
		}
	}
	var want int
	for _, soft := range d.Soft {
		if soft.Late || soft.At.After(until) || len(d.Deadlines) > 0 && !soft.At.Before(d.Deadlines[0].At) {
			continue
		}
		if want++; !slices.ContainsFunc(got, func(r lateRecord) bool { return r.isOf(soft) }) {
			h.Errorf("%q was to become late at %s: %v did", soft.Pointer, soft.At, got)
		}
	}
	count(noted, d, got, want)
	if !h.record(i).Status.Final() {
		h.must(h.client.Terminate(h.Context(), i, ""))
		h.wait(i)
	}
	h.verifyReplay(i)
}

// count notes which kinds of scopes became late.
func count(noted map[string]int, d *client.Description, got []lateRecord, want int) {
	for _, r := range got {
		noted[map[bool]string{true: "run", false: "task"}[r.Pointer == ""]]++
		if r.Timed {
			noted["before a timeout"]++
		}
	}
	if want > 1 {
		noted["several"]++
	}
	if len(got) > 0 && d.Lifecycle.Status == interpreter.StatusPending {
		noted["never begun"]++
	}
}

// lateRecord is a record that a scope became late.
type lateRecord struct {
	interpreter.HistoryEvent
	Timed bool // the record of a timeout follows in the same step
}

func (r lateRecord) isOf(soft interpreter.ActiveSoftDeadline) bool {
	return r.Pointer == soft.Pointer && r.Until.Equal(soft.At)
}

// lateSince returns the records of scopes that became late, of the steps since a time.
func (h *host) lateSince(i store.Instance, since time.Time) (all []lateRecord) {
	h.Helper()
	_, err := h.client.History(h.Context(), i, 0, func(e client.HistoryEntry) error {
		for n, r := range e.Events {
			if is := r.Type == interpreter.WorkflowLate || r.Type == interpreter.TaskLate; is && !e.At.Before(since) {
				timed := slices.ContainsFunc(e.Events[n:], interpreter.HistoryEvent.TimedOut)
				all = append(all, lateRecord{r, timed})
			}
		}
		return nil
	})
	h.must(err)
	return all
}
