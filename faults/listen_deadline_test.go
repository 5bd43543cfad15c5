package faults

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/events"
	"github.com/swrun/swrun/runtime/store"
)

// approving is a workflow that waits for its event, and finally continues without it.
const approving = `do:
- t:
    try:
    - l:
        listen:
          to:
            any:
            - {with: {type: paid}, correlate: {order: {from: .data.order, expect: .order}}}
            - {with: {type: news}}
        timeout: {after: PT4S}
    catch: {errors: {with: {status: 408}}, do: [{late: {set: {late: true}}}]}
`

// approval contains the times of publishing the event of a run.
type approval struct {
	deadline           time.Time // of the run
	sent, acknowledged time.Time
}

// approvals starts runs, and returns their deadlines when all of them listen.
func (p *plant) approvals(n int) (all []approval) {
	p.Helper()
	p.startEach(n, approving)
	p.awaitListening(n, "news")
	for _, i := range p.runs {
		if _, err := p.client.History(p.Context(), i, 0, func(e client.HistoryEntry) error {
			for _, r := range e.Events {
				if r.Type == interpreter.TaskStarted && r.Pointer == "/do/0/t/try/0/l" {
					all = append(all, approval{deadline: r.Until})
				}
			}
			return nil
		}); err != nil {
			p.Fatal(err)
		}
	}
	return all
}

// approve publishes each run's event near its deadline: some well before it, most within some milliseconds.
func (p *plant) approve(all []approval, publish func(event)) *sync.WaitGroup {
	var publishing sync.WaitGroup
	for order := range all {
		before := rand.N(30*time.Millisecond) - 5*time.Millisecond
		if order%4 == 0 {
			before += 300 * time.Millisecond
		}
		publishing.Go(func() {
			a := &all[order]
			time.Sleep(time.Until(a.deadline.Add(-before)))
			a.sent = time.Now()
			publish(newEvent("paid", fmt.Sprintf("paid-%d", order), map[string]any{"order": order}))
			a.acknowledged = time.Now()
		})
	}
	return &publishing
}

// precision is the maximum difference between the clock of the test and the clock of the store, which counts milliseconds.
const precision = 2 * time.Millisecond

// verifyApprovals checks each run and its event: an event that was acknowledged before the deadline counts, an event that was sent afterwards does
// not, and each run has either the event or the timeout.
func (p *plant) verifyApprovals(all []approval) (counted int) {
	p.Helper()
	p.settle(pacetest.Patience)
	order := 0
	p.audit(interpreter.StatusCompleted, func(i store.Instance, entries []client.HistoryEntry) {
		a := all[order]
		order++
		ids, output := consumed(entries)
		list, _ := output.([]any)
		late := output != nil && len(list) == 0
		switch {
		case late == (len(ids) == 1):
			p.Errorf("%s has consumed %v, and has the output %v", i, ids, output)
		case late && a.acknowledged.Add(precision).Before(a.deadline):
			p.Errorf("%s has timed out: its event was acknowledged %s before its deadline", i, a.deadline.Sub(a.acknowledged))
		case !late && a.sent.After(a.deadline.Add(precision)):
			p.Errorf("%s has consumed an event that was sent %s after its deadline", i, a.sent.Sub(a.deadline))
		}
		counted += len(ids)
		for _, e := range entries {
			for _, r := range e.Events {
				if came := cmp.Or(r.Until, e.At); r.Type == interpreter.EventConsumed && !came.Before(a.deadline) {
					p.Errorf("%s has consumed what came at %s; its deadline was %s", i, came, a.deadline)
				}
			}
		}
	})
	p.Logf("%d of %d events counted", counted, len(all))
	return counted
}

// TestDeadAtDeadline (F34): events arrive near the deadlines of their listeners, while no process is running. An event in time counts, however late a
// process sees it.
func TestDeadAtDeadline(t *testing.T) {
	t.Parallel()
	for n := range of(1) {
		t.Run(fmt.Sprint(n), deadAtDeadline)
	}
}

func deadAtDeadline(t *testing.T) {
	p := newPlant(newWorld(t, 0))
	all := p.approvals(80)
	bus := events.NewBus(p.store, func(context.Context, events.Event, events.Audience) (events.Started, error) {
		return events.Started{}, nil
	}, limits.Set{})
	publishing := p.approve(all, func(e event) {
		if _, err := bus.Publish(t.Context(), e, nil); err != nil {
			t.Error(err)
		}
	})
	time.Sleep(time.Until(all[0].deadline.Add(-500 * time.Millisecond)))
	p.killAll(true, true)
	if n := p.closed(); n == int64(len(all)) {
		t.Error("all runs have ended before: nothing was tested")
	}
	publishing.Wait()
	time.Sleep(time.Until(all[len(all)-1].deadline))
	p.revive()
	if p.verifyApprovals(all) == 0 {
		t.Error("no event was in time: nothing was tested")
	}
}

// TestKillAtDeadline (F34): workers and servers are killed while events arrive near the deadlines of their listeners.
func TestKillAtDeadline(t *testing.T) {
	t.Parallel()
	for n := range of(1) {
		t.Run(fmt.Sprint(n), killAtDeadline)
	}
}

func killAtDeadline(t *testing.T) {
	p := newPlant(newWorld(t, 0))
	all := p.approvals(80)
	publishing := p.approve(all, p.publish)
	time.Sleep(time.Until(all[0].deadline.Add(-400 * time.Millisecond)))
	for n := range 8 {
		p.running[n%2].kill()
		if n%3 == 1 {
			p.sites[n/2%2].server.kill()
		}
		p.revive()
		time.Sleep(100 * time.Millisecond)
	}
	publishing.Wait()
	p.verifyApprovals(all)
}

// correlating is a workflow that waits for two events of the same payment, in any order.
const correlating = `do:
- l:
    listen:
      to:
        all:
        - with: {type: ordered}
          correlate: {run: {from: .data.run, expect: .order}, payment: {from: .data.payment}}
        - with: {type: paid}
          correlate: {run: {from: .data.run, expect: .order}, payment: {from: .data.payment}}
        - with: {type: news}
`

// TestKillBetweenEvents (F34): all processes are killed between the beginning of a listen and its first event, when an event was acknowledged, and
// between events. The correlation of the first event stays valid.
func TestKillBetweenEvents(t *testing.T) {
	t.Parallel()
	p := newPlant(newWorld(t, 0))
	p.startEach(of(20), correlating)
	p.awaitListening(len(p.runs), "news")
	again := func() {
		p.killAll(true, true)
		p.revive()
	}
	again()
	for _, step := range []struct {
		kind    string
		payment int
	}{{"ordered", 1000}, {"paid", 2000}, {"paid", 1000}} {
		var all []event
		for run := range p.runs {
			id := fmt.Sprintf("%s-%d-%d", step.kind, step.payment, run)
			all = append(all, newEvent(step.kind, id, map[string]any{"run": run, "payment": step.payment + run}))
		}
		p.publishAll(all, nil)
		again()
	}
	if n := p.closed(); n > 0 {
		t.Errorf("%d runs have ended before everything came", n)
	}
	p.publish(newEvent("news", "news", nil))
	p.settle(pacetest.Patience)
	run := 0
	p.audit(interpreter.StatusCompleted, func(i store.Instance, entries []client.HistoryEntry) {
		ids, _ := consumed(entries)
		if want := []string{"news", fmt.Sprintf("ordered-1000-%d", run), fmt.Sprintf("paid-1000-%d", run)}; fmt.Sprint(ids) != fmt.Sprint(want) {
			t.Errorf("%s has consumed %v, want %v", i, ids, want)
		}
		run++
	})
}

// TestKillDelivering (F34): a server is killed when an event has reached some of its listeners, and not all. Its publisher publishes it again, and
// each listener receives it once.
func TestKillDelivering(t *testing.T) {
	p := newPlant(newWorld(t, 0))
	const most = 30 // rounds, until the event had reached some listeners and not all
	rounds, inBetween := of(3), 0
	for round := 0; round < rounds || inBetween == 0 && round < most; round++ {
		rounds = max(rounds, round+1)
		if p.killDelivering(round) {
			inBetween++
		}
	}
	t.Logf("%d of %d events had reached some", inBetween, rounds)
	if inBetween == 0 {
		t.Error("every event had reached all when its server was killed: nothing was tested")
	}
	p.publish(newEvent("last", "last", nil))
	p.settle(pacetest.Patience)
	p.audit(interpreter.StatusCompleted, func(i store.Instance, entries []client.HistoryEntry) {
		if ids, _ := consumed(entries); len(slices.DeleteFunc(ids, func(id string) bool { return id == "last" })) != 1 {
			t.Errorf("%s has consumed %v", i, ids)
		}
	})
}

// killDelivering kills a server as soon as a run has received an event that the server delivers, and reports whether the event was not acknowledged yet.
func (p *plant) killDelivering(round int) (unanswered bool) {
	const n, most = 200, 160
	kind := fmt.Sprintf("news%d", round)
	p.startEach(most, "do:\n- l: {listen: {to: {any: [{with: {type: "+kind+"}}], until: {one: {with: {type: last}}}}}}\n")
	p.startEach(n-most, "do:\n- l: {listen: {to: {one: {with: {type: "+kind+"}}}}}\n") // they stop listening after the event
	p.awaitListening(n, kind)
	e, victim := newEvent(kind, kind, map[string]any{"n": round}), p.sites[round%2]
	var publishing sync.WaitGroup
	publishing.Go(func() {
		status, _ := p.post(victim, e)
		unanswered = status == 0
		p.publish(e)
	})
	p.await("somebody has it", func() bool { return p.listening(kind) < n })
	victim.server.kill()
	publishing.Wait()
	p.revive()
	return unanswered
}
