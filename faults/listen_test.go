package faults

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/filter"
	"github.com/swrun/swrun/runtime/store"
)

// collecting is a workflow that collects the events of its order, and the events for all orders, until its order is over.
const collecting = `do:
- l:
    listen:
      to:
        any:
        - {with: {type: paid}, correlate: {order: {from: .data.order, expect: .order}}}
        - {with: {type: news}}
        until: {one: {with: {type: over}, correlate: {order: {from: .data.order, expect: .order}}}}
`

// beginning returns workflows that events start: each event of a type, and pairs of events of two types.
func beginning() []string {
	return []string{
		"document: {dsl: 1.0.3, namespace: test, name: begun, version: 0.1.0}\nschedule: {on: {one: {with: {type: begin}}}}\n" +
			"do: [{a: {set: {begun: '${ \"begin \\(.[0].n)\" }'}}}]\n",
		"document: {dsl: 1.0.3, namespace: test, name: paired, version: 0.1.0}\n" +
			"schedule: {on: {all: [{with: {type: left}, correlate: {n: {from: .data.n}}}, {with: {type: right}, correlate: {n: {from: .data.n}}}]}}\n" +
			"do: [{a: {set: {begun: '${ \"both \\(.[0].n + .[1].n | . / 2)\" }'}}}]\n",
	}
}

// crowd is runs that listen, and all events that are published for them.
type crowd struct {
	*plant
	events []event          // including repeated events, in random order
	want   map[int][]string // the ids of the events for each run
	begun  []string         // results of the runs that the events start, by their outputs
}

// newCrowd starts a number of runs, and makes a number of events for each; one of twenty events is repeated.
func newCrowd(t *testing.T, runs, each int) *crowd {
	t.Helper()
	c := &crowd{plant: &plant{world: newWorld(t, 0)}, want: map[int][]string{}}
	c.startEach(runs, collecting)
	for _, document := range beginning() {
		if _, err := c.client.Deploy(t.Context(), definition.Definition{Document: document}); err != nil {
			t.Fatal(err)
		}
	}
	c.plant = newPlant(c.world)
	c.awaitListening(runs, "news")
	c.await("what is deployed is scheduled", func() bool {
		all, err := c.store.ListRegistered(t.Context(), store.RegistryList{Kind: store.RegistrySchedules, Prefix: "test/"})
		return err == nil && len(all) == len(beginning())
	})
	for order := range runs {
		for n := range each {
			id := fmt.Sprintf("paid-%d-%d", order, n)
			c.want[order] = append(c.want[order], id)
			c.events = append(c.events, newEvent("paid", id, map[string]any{"order": order, "n": n}))
		}
	}
	for n := range each / 5 {
		id := fmt.Sprintf("news-%d", n)
		for order := range runs {
			c.want[order] = append(c.want[order], id)
		}
		c.events = append(c.events, newEvent("news", id, map[string]any{"n": n}))
	}
	for n := range runs {
		c.begun = append(c.begun, fmt.Sprintf("begin %d", n), fmt.Sprintf("both %d", n))
		for _, kind := range []string{"begin", "left", "right"} {
			c.events = append(c.events, newEvent(kind, fmt.Sprintf("%s-%d", kind, n), map[string]any{"n": n}))
		}
	}
	for range len(c.events) / 20 {
		c.events = append(c.events, c.events[rand.IntN(len(c.events))])
	}
	rand.Shuffle(len(c.events), func(i, j int) { c.events[i], c.events[j] = c.events[j], c.events[i] })
	return c
}

// over publishes twice that all orders are over.
func (c *crowd) over() {
	var all []event
	for order := range c.want {
		e := newEvent("over", fmt.Sprintf("over-%d", order), map[string]any{"order": order})
		all = append(all, e, e)
		c.want[order] = append(c.want[order], e["id"].(string))
	}
	c.publishAll(all, nil)
}

// verify checks the events of each run: it has consumed each of its events once, and no other event; and each event that starts a run has started one run.
func (c *crowd) verify() {
	c.Helper()
	c.settleAll(int64(len(c.runs)+len(c.begun)), pacetest.Patience)
	order := 0
	c.audit(interpreter.StatusCompleted, func(i store.Instance, entries []client.HistoryEntry) {
		ids, output := consumed(entries)
		slices.Sort(c.want[order])
		if diff := cmp.Diff(c.want[order], ids); diff != "" {
			c.Errorf("%s has not consumed what was published for it (-want +got):\n%s", i, diff)
		}
		if all, _ := output.([]any); len(all) != len(ids)-1 {
			c.Errorf("%s has the output %v", i, output)
		}
		order++
	})
	for id, n := range c.started() {
		if n != 1 {
			c.Errorf("%s has started %d times", id, n)
		}
	}
}

// started returns the number of started runs, by their outputs.
func (c *crowd) started() map[string]int {
	c.Helper()
	started := map[string]int{}
	for _, id := range c.begun {
		started[id] = 0
	}
	err := c.client.Each(c.Context(), filter.Filter{}, func(r *filter.Run) bool {
		if slices.Contains(c.runs, r.Instance) {
			return true
		}
		_, err := c.client.History(c.Context(), r.Instance, 0, func(e client.HistoryEntry) error {
			if _, output := consumed([]client.HistoryEntry{e}); output != nil {
				started[fmt.Sprint(output.(map[string]any)["begun"])]++
			}
			return nil
		})
		if err != nil {
			c.Error(err)
		}
		return true
	})
	if err != nil {
		c.Fatal(err)
	}
	return started
}

// TestKillListening (F33): events arrive in random order, some repeatedly, from several publishers that repeat unacknowledged events, while workers
// and servers are killed at random. Each run consumes exactly its events, and each event that starts a run starts one.
func TestKillListening(t *testing.T) {
	c := newCrowd(t, of(40), 24)
	kills, kind := of(5), rand.IntN(6)
	for some := range slices.Chunk(c.events, (len(c.events)+kills-1)/kills) {
		harm := c.aim(kind)
		c.publishAll(some, func(acknowledged func() int) {
			harm()
			c.revive()
		})
		kind++
	}
	if c.again.Load() == 0 {
		t.Error("everything was acknowledged at once: nothing was tested")
	}
	other := newEvent("paid", "paid-0-0", map[string]any{"order": 0, "n": "another"})
	c.await("another event under the same id is refused", func() bool {
		status, _ := c.post(c.sites[0], other)
		if status == http.StatusAccepted {
			t.Fatal("another event under the same id is accepted")
		}
		return status == http.StatusUnprocessableEntity
	})
	c.over()
	c.verify()
	t.Logf("%d events for %d runs, %d kills, %d published again since they were not acknowledged", len(c.events), len(c.runs), kills, c.again.Load())
}

// TestLostRepliesListening (F13, F33): replies of Redis are lost, connections to it break, and it is killed and started again, while events are
// published and consumed. Each run consumes exactly its events anyway.
func TestLostRepliesListening(t *testing.T) {
	c := newCrowd(t, of(20), 24)
	c.proxy.drop.Store(41)
	restarts := of(1)
	c.publishAll(c.events, func(acknowledged func() int) {
		for n := range restarts {
			c.await("more is acknowledged", func() bool {
				c.proxy.reset()
				time.Sleep(50 * time.Millisecond)
				return acknowledged() >= len(c.events)*(n+1)/(restarts+1)
			})
			c.redis.Kill()
			c.redis.Run()
		}
	})
	if c.proxy.dropped.Load() == 0 {
		t.Error("no reply was lost: nothing was tested")
	}
	c.over()
	c.proxy.drop.Store(0)
	c.verify()
	t.Logf("%d events for %d runs, %d replies lost, %d published again", len(c.events), len(c.runs), c.proxy.dropped.Load(), c.again.Load())
}

// emitting is a workflow that emits ten events for its order.
const emitting = `do:
- f:
    for: {each: n, in: '${ [range(10)] }'}
    do: [{e: {emit: {event: {with: {source: /faults, type: paid, data: {order: '${ $workflow.input.order }', n: '${ "\($workflow.id) \($n)" }'}}}}}}]
`

// TestKillEmitting (F6): all processes are killed when runs that emit events are ended, and other runs have not received the events yet. The emitted
// events reach them, once.
func TestKillEmitting(t *testing.T) {
	p := newPlant(newWorld(t, 0))
	n, rounds := 20, of(3)
	const most = 30 // rounds, until events were on their way when all were killed
	p.startEach(n, collecting)
	p.awaitListening(n, "news")
	listening := p.runs
	missing := 0
	for round := 0; round < rounds || missing <= 0 && round < most; round++ {
		rounds = max(rounds, round+1)
		ended := p.closed()
		p.startEach(n, emitting)
		p.await("one that emits has ended", func() bool { return p.closed() > ended })
		p.killAll(true, true)
		missing += 10*int(p.closed()) - p.consumption(listening)
		p.revive()
	}
	if missing <= 0 {
		t.Error("what was emitted had been consumed whenever all were killed: nothing was tested")
	}
	p.await("everything is consumed", func() bool { return p.consumption(listening) >= 10*n*rounds })
	for order := range n {
		p.publish(newEvent("over", fmt.Sprintf("over-%d", order), map[string]any{"order": order}))
	}
	p.settle(pacetest.Patience)
	p.audit(interpreter.StatusCompleted, func(i store.Instance, entries []client.HistoryEntry) {
		if !slices.Contains(listening, i) {
			return
		}
		ids, output := consumed(entries)
		got := map[any]bool{}
		for _, data := range output.([]any) {
			got[data.(map[string]any)["n"]] = true
		}
		if want := 10 * rounds; len(slices.Compact(ids)) != want+1 || len(got) != want || len(output.([]any)) != want {
			t.Errorf("%s has consumed %v, and has the output %v", i, ids, output)
		}
	})
	t.Logf("%d events had not come to those who listen when all processes were killed", missing)
}

// consumption returns the number of events that some runs have consumed.
func (w *world) consumption(runs []store.Instance) (n int) {
	w.Helper()
	for _, i := range runs {
		if _, err := w.client.History(w.Context(), i, 0, func(e client.HistoryEntry) error {
			ids, _ := consumed([]client.HistoryEntry{e})
			n += len(ids)
			return nil
		}); err != nil {
			w.Fatal(err)
		}
	}
	return n
}
