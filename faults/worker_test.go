package faults

import (
	"math/rand/v2"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// TestKill (F1 to F7): workers are killed at random under load. Nothing is lost, nothing is committed twice, and no effect is repeated except effects
// in flight.
func TestKill(t *testing.T) {
	w := newWorld(t, 40*time.Millisecond)
	const each = 20
	w.start(of(150), calls(each))
	alive := []*worker{w.work(), w.work()}
	kills := 0
	for w.closed() < int64(len(w.runs)) && kills < of(6) {
		time.Sleep(100*time.Millisecond + rand.N(200*time.Millisecond))
		victim := rand.IntN(len(alive))
		if alive[victim].kill() && w.closed() < int64(len(w.runs)) {
			kills++
		}
		alive[victim] = w.work()
	}
	w.settle(pacetest.Patience)
	if kills == 0 {
		t.Fatal("no worker was killed while there was work: nothing was tested")
	}
	taken := 0
	w.audit(interpreter.StatusCompleted, func(_ store.Instance, entries []client.HistoryEntry) {
		if takenOver(entries) {
			taken++
		}
	})
	keys, again := w.sink.counts()
	if keys != len(w.runs)*each {
		t.Errorf("%d different effects, want %d", keys, len(w.runs)*each)
	}
	t.Logf("%d kills, %d runs taken over, %d effects repeated", kills, taken, again)
	if again > kills*len(w.runs) {
		t.Errorf("%d effects were repeated by %d kills", again, kills)
	}
}

// TestStop (F9): a worker stops longer than its lease, and continues. Its further writes are refused.
func TestStop(t *testing.T) {
	w := newWorld(t, 50*time.Millisecond)
	w.start(20, calls(8))
	zombie := w.work()
	for w.progressed() < 60 { // each run has committed something
		time.Sleep(5 * time.Millisecond)
	}
	w.sink.hold()
	w.reach(w.progressed() + 1) // a call is in flight
	w.signal(zombie, syscall.SIGSTOP)
	stopped := time.Now()
	w.work()
	time.Sleep(lease + time.Second)
	w.sink.release()
	w.signal(zombie, syscall.SIGCONT)
	w.settle(pacetest.Patience)
	taken := 0
	w.audit(interpreter.StatusCompleted, func(_ store.Instance, entries []client.HistoryEntry) {
		if takenOver(entries) {
			taken++
		}
	})
	if taken == 0 {
		t.Errorf("nothing was taken over in %s: nothing was tested", time.Since(stopped))
	}
	if keys, again := w.sink.counts(); keys != 160 || again > 2*taken {
		t.Errorf("%d effects, %d repeated; %d runs were taken over", keys, again, taken)
	}
}

// progressed returns the number of effects that reached the sink.
func (w *world) progressed() int {
	keys, _ := w.sink.counts()
	return keys
}

// TestDrain (F11): SIGTERM hands over idle runs within a second, and lets effects in flight end.
func TestDrain(t *testing.T) {
	w := newWorld(t, 300*time.Millisecond)
	w.start(20, calls(4))
	first := w.work()
	for w.progressed() < 20 {
		time.Sleep(5 * time.Millisecond)
	}
	w.work()
	began := time.Now()
	w.signal(first, syscall.SIGTERM)
	if err := first.command.Wait(); err != nil {
		t.Errorf("the worker ended with %v", err)
	}
	if took := time.Since(began); took > soon {
		t.Errorf("the worker took %s to hand over", took)
	}
	w.settle(pacetest.Patience)
	w.audit(interpreter.StatusCompleted, nil)
	if keys, again := w.sink.counts(); keys != 80 || again != 0 {
		t.Errorf("%d effects, %d repeated: handing over repeats nothing", keys, again)
	}
}

// TestAllDown (F19): the deadlines of many runs pass while no worker is there. The next worker enforces them immediately, and nothing else happens in
// those runs.
func TestAllDown(t *testing.T) {
	w := newWorld(t, time.Minute)
	n := min(of(500), 3000) // all of them must begin before the first is over
	w.start(n, "timeout: {after: PT12S}\ndo:\n- slow: {call: http, with: {method: get, endpoint: '@SINK/slow'}}\n- after: {call: http, with: {method: get, endpoint: '@SINK/after'}}\n")
	first := w.work("--concurrency", strconv.Itoa(n))
	for w.progressed() < n {
		time.Sleep(5 * time.Millisecond)
	}
	time.Sleep(200 * time.Millisecond) // until all data in flight is stored
	first.kill()
	time.Sleep(13 * time.Second)
	if w.closed() != 0 {
		t.Fatalf("%d runs have ended before the outage: nothing was tested", w.closed())
	}
	back := time.Now()
	w.work()
	w.settle(pacetest.Patience)
	w.audit(interpreter.StatusFaulted, func(i store.Instance, entries []client.HistoryEntry) {
		last := entries[len(entries)-1]
		if late := last.CommittedAt.Sub(back); late > soon {
			t.Errorf("%s was decided %s after the worker was back", i, late)
		}
	})
	for key, all := range w.sink.requests {
		if all[0].path != "/slow" || len(all) > 1 {
			t.Errorf("the effect %s happened after its run had timed out: %v", key, all)
		}
	}
}

// TestRace (F16): results arrive within two milliseconds of their deadline, before and after. Each has one outcome, and
// a result counts only if it was committed in time.
func TestRace(t *testing.T) {
	w := newWorld(t, 100*time.Millisecond)
	w.start(of(500), "do:\n- t: {try: [{a: {call: http, with: {method: get, endpoint: '@SINK/a'}, timeout: {after: PT0.103S}}}], catch: {do: [{late: {set: {late: true}}}]}}\n")
	w.work("--concurrency", "8")
	w.settle(pacetest.Patience)
	late := 0
	w.audit(interpreter.StatusCompleted, func(i store.Instance, entries []client.HistoryEntry) {
		for _, e := range entries {
			for _, r := range e.Events {
				if r.Type == interpreter.TaskStarted && r.Pointer == "/do/0/t/try/0/a" {
					w.verifyInTime(i, entries, r.Until)
				}
				if r.Pointer == "/do/0/t/catch/do/0/late" && r.Type == interpreter.TaskCompleted {
					late++
				}
			}
		}
	})
	t.Logf("%d of %d were late", late, len(w.runs))
	if late == 0 || late == len(w.runs) {
		t.Log("all on one side: the race was not close on this machine")
	}
}

// verifyInTime checks that a result counts only if it was committed before the deadline.
func (w *world) verifyInTime(i store.Instance, entries []client.HistoryEntry, deadline time.Time) {
	for _, e := range entries {
		for _, r := range e.Events {
			if r.Type == interpreter.TaskCompleted && r.Pointer == "/do/0/t/try/0/a" && !e.CommittedAt.Before(deadline) {
				w.Errorf("%s: a result was committed at %s, the deadline was %s", i, e.CommittedAt, deadline)
			}
		}
	}
}
