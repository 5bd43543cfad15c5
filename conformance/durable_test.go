package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/activity"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/events"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// bench is a store under test, and its clock.
type bench struct {
	store   store.Store
	now     func() time.Time
	advance func(time.Duration)
}

// durable runs a case on a store, as a worker does, but on one goroutine and on virtual time: effects take no time, and time jumps when nothing else
// is left to do. It can lose the worker, or an answer, at a chosen commit.
type durable struct {
	t       *testing.T
	c       testCase
	outside *outside
	bench   bench
	client  *client.Client
	relay   worker.Relay
	bus     *events.Bus
	arrival *arrival
	root    store.Instance

	began   time.Time
	crashAt int // the worker is lost after this number of commits; 0 for never
	loseAt  int // the answer to this commit is lost; 0 for none
	commits int
	nonces  int

	outsider *outsider // performs activities; nil if the case has no worker outside

	held  []*executor
	calls map[string]int // effects that were begun, by idempotency key
	lost  int            // number of lost workers

	programs map[string]*interpreter.Program // compiled by the worker, by digest
}

// executor is a run that the worker holds.
type executor struct {
	*execution.Execution
	performing []interpreter.Effect
}

// leaseTime is longer than the worker holds any run: leases end when the worker is lost.
const leaseTime = 1000 * time.Hour

func newDurable(t *testing.T, c testCase, b bench) *durable {
	t.Helper()
	d := &durable{t: t, c: c, outside: newOutside(c.files), bench: b, calls: map[string]int{}, programs: map[string]*interpreter.Program{}}
	d.client = client.New(client.Config{Store: b.store})
	d.bus, d.arrival = events.NewBus(b.store, noStarts, nil), newArrival(t, c)
	d.relay = worker.Relay{Store: b.store, Publish: func(ctx context.Context, e worker.Emitted) error {
		attributes := mustDecode(t, string(e.Event)).(map[string]any)
		if _, err := d.bus.Publish(ctx, attributes, nil); err != nil {
			return err
		}
		return d.outside.publish(ctx, attributes)
	}}
	for name, text := range c.files {
		if strings.HasSuffix(name, ".child.yaml") {
			d.deploy(text)
		}
	}
	d.deploy(c.files["workflow.yaml"])
	var err error
	d.began = b.now()
	d.root, err = d.client.StartDefinition(t.Context(), definition.Definition{Document: c.files["workflow.yaml"]}, c.input(t),
		client.StartOptions{ID: "case"})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// deploy stores a document; it omits an invalid one, as a server would refuse it.
func (d *durable) deploy(text string) {
	if _, err := d.client.Deploy(d.t.Context(), definition.Definition{Document: text}); err != nil && d.t.Context().Err() != nil {
		d.t.Fatal(err)
	}
}

// run runs the case until nothing is left to do.
func (d *durable) run() {
	d.t.Helper()
	for range 200_000 {
		if d.pollAll() || d.tick() || d.perform() || d.publish() || d.outsider.work(d) {
			continue
		}
		if !d.wait() {
			return
		}
	}
	d.t.Fatal("the case does not come to an end")
}

// pollAll does all available work in the store, and reports whether there was any.
func (d *durable) pollAll() (busy bool) {
	for p := range d.bench.store.Layout().Partitions {
		work, err := d.bench.store.Poll(d.t.Context(), p, 100, false)
		d.must(err)
		for _, entry := range work.Outbox {
			d.must(d.relay.Deliver(d.t.Context(), entry))
			d.must(d.bench.store.Relay(d.t.Context(), p, []string{entry.ID}))
			busy = true
		}
		if len(work.Due) > 0 {
			_, err := d.bench.store.Promote(d.t.Context(), store.Promote{Partition: p, Instances: work.Due})
			d.must(err)
			busy = true
		}
		if len(work.Activities) > 0 {
			_, err := d.bench.store.ChangeActivities(d.t.Context(), store.ChangeActivities{Partition: p, Activities: work.Activities, Operation: activity.Expire{}})
			d.must(err)
			busy = true
		}
		for _, ended := range work.Ended {
			_, err := d.bench.store.Promote(d.t.Context(), store.Promote{Partition: p, Instances: ended.Instances, Gone: []string{ended.Worker}})
			d.must(err)
			busy = true
		}
		if ready := slices.Concat(work.Begun, work.New); len(ready) > 0 {
			d.claim(p, ready)
			busy = true
		}
		d.mail()
	}
	return busy
}

// mail reports to executions that their runs have messages; a real worker learns that from hints.
func (d *durable) mail() {
	lost := d.lost
	for _, h := range slices.Clone(d.held) {
		if d.lost > lost {
			return
		}
		l, err := d.bench.store.Load(d.t.Context(), h.Instance())
		d.must(err)
		if l.Lifecycle.Mail > l.Lifecycle.Read {
			h.MailArrived()
			d.act(h)
		}
	}
}

func (d *durable) claim(partition int, ready []store.Instance) {
	d.nonces++
	claimed, err := d.bench.store.Claim(d.t.Context(), store.Claim{
		Partition: partition, Instances: ready, Worker: d.worker(), Nonce: fmt.Sprintf("nonce%d", d.nonces), Lease: leaseTime,
	})
	d.must(err)
	lost := d.lost
	for _, c := range claimed {
		if d.lost > lost {
			return // and so are the other claimed runs
		}
		x, err := execution.New(d.config(), &c)
		d.must(err)
		h := &executor{Execution: x}
		d.held = append(d.held, h)
		d.act(h)
	}
}

func (d *durable) config() execution.Config {
	return execution.Config{Clock: func() time.Time { return d.bench.now() }, ParkAfter: time.Second, CheckpointAfter: 50 * time.Millisecond}
}

func (d *durable) program(digest string) *interpreter.Program {
	if p := d.programs[digest]; p != nil {
		return p
	}
	deployed, err := definition.Load(d.t.Context(), d.bench.store, digest)
	d.must(err)
	p, found := load("workflow.yaml", deployed.Document, d.outside.config)
	d.must(found.Err())
	d.programs[digest] = p
	return p
}

// act carries out the actions of an execution.
func (d *durable) act(h *executor) {
	for {
		a := h.Actions()
		for _, id := range a.Cancel {
			h.performing = slices.DeleteFunc(h.performing, func(e interpreter.Effect) bool { return e.ID == id })
		}
		h.performing = append(h.performing, a.Perform...)
		a.Cancel, a.Perform = nil, nil
		switch {
		case a.AskSlot:
			h.SlotFree()
		case a.Done:
			d.must(a.Failed)
			d.held = slices.DeleteFunc(d.held, func(other *executor) bool { return other == h })
			return
		case a.Load != "":
			d.must(h.Loaded(d.program(a.Load)))
		case a.Reload:
			d.must(h.Reloaded(d.again(h)))
		case a.Commit != nil:
			if d.commit(h) {
				return
			}
		case a.Fetch:
			a.Fetch = false
			d.must(h.Fetched(d.again(h).Inbox))
		default:
			return
		}
	}
}

func (d *durable) again(h *executor) *store.Claimed {
	i := h.Instance()
	claimed, err := d.bench.store.Claim(d.t.Context(), store.Claim{
		Partition: i.Partition(d.bench.store.Layout().Partitions), Instances: []store.Instance{i}, Worker: d.worker(), Nonce: h.Token().Nonce, Lease: leaseTime,
	})
	d.must(err)
	if len(claimed) != 1 {
		d.t.Fatalf("%s is not held any more", i)
	}
	return &claimed[0]
}

// commit stores the decision of an execution, and reports whether the worker was lost at it.
func (d *durable) commit(h *executor) (lost bool) {
	c := *h.Actions().Commit
	done, err := d.bench.store.Commit(d.t.Context(), c)
	if err == nil {
		d.commits++
	}
	if err == nil && d.commits == d.loseAt {
		again, err := d.bench.store.Commit(d.t.Context(), c)
		if err != nil || again.Mail != done.Mail {
			d.t.Errorf("the same commit again: %+v, %v; it was %+v", again, err, done)
		}
	}
	if err == nil && d.commits == d.crashAt {
		d.crash()
		return true
	}
	h.Committed(done, err)
	return false
}

// crash loses the worker with everything that it holds; another worker takes over immediately.
func (d *durable) crash() {
	d.held, d.programs = nil, map[string]*interpreter.Program{}
	d.lost++
	d.outside.lose()
	for p := range d.bench.store.Layout().Partitions {
		_, err := d.bench.store.Scrub(d.t.Context(), store.Scrub{Partition: p, N: 1000, Adopt: true})
		d.must(err)
	}
}

// publish publishes the next event of the case, if there is one.
func (d *durable) publish() bool {
	event, comes := d.arrival.next(epoch().Add(d.bench.now().Sub(d.began)), d.listens())
	if comes {
		_, err := d.bus.Publish(d.t.Context(), event, nil)
		d.must(err)
	}
	return comes
}

// listens reports whether the case's run listens, according to the store.
func (d *durable) listens() bool {
	l, err := d.bench.store.Load(d.t.Context(), d.root)
	d.must(err)
	return l.Lifecycle.Listens != ""
}

// tick calls an execution whose time has come.
func (d *durable) tick() bool {
	for _, h := range d.held {
		if at := h.Actions().CallAt; !at.IsZero() && !d.bench.now().Before(at) {
			h.TimePassed()
			d.act(h)
			return true
		}
	}
	return false
}

// perform ends one effect, if an effect can end.
func (d *durable) perform() bool {
	for _, h := range d.held {
		at := slices.IndexFunc(h.performing, func(e interpreter.Effect) bool { return !d.c.endless(e) })
		if at < 0 {
			continue
		}
		e := h.performing[at]
		h.performing = slices.Delete(h.performing, at, at+1)
		if d.c.files["messages.json"] == "" { // the number of messages that arrive with one effect is unknown
			d.calls[e.Request.Key]++
		}
		result, err := h.Program().Performer(e.Kind)(d.t.Context(), e.Request)
		d.bench.advance(0) // starting a broker takes seconds, in which the time of the store advanced
		fault := errors.AsError(err)
		if fault == nil {
			d.must(err)
		}
		if !e.Detached {
			h.Finished(interpreter.Finished{Effect: e.ID, Result: result, Error: fault})
			d.act(h)
		}
		return true
	}
	return false
}

// wait advances the time until something is due, and reports whether anything is.
func (d *durable) wait() bool {
	var next time.Time
	earlier := func(at time.Time) {
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	if at := d.arrival.at(); !at.IsZero() {
		earlier(d.began.Add(at.Sub(epoch())))
	}
	for _, h := range d.held {
		earlier(h.Actions().CallAt)
	}
	for p := range d.bench.store.Layout().Partitions {
		work, err := d.bench.store.Poll(d.t.Context(), p, 100, false)
		d.must(err)
		earlier(work.Next)
		earlier(work.Lease)
		earlier(d.outsider.next(d, p))
	}
	if next.IsZero() || next.Sub(d.bench.now()) > leaseTime/2 && d.finished() {
		return false
	}
	d.bench.advance(max(next.Sub(d.bench.now()), time.Millisecond))
	return true
}

// worker returns the name of the worker that is not lost.
func (d *durable) worker() string { return fmt.Sprintf("w%d", d.lost) }

func (d *durable) finished() bool {
	_, done, err := d.client.Outcome(d.t.Context(), d.root)
	d.must(err)
	return done && len(d.held) == 0
}

func (d *durable) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// noStarts is for deployments in which events start no runs.
func noStarts(context.Context, events.Event, events.Audience) (events.Started, error) {
	return events.Started{}, nil
}
