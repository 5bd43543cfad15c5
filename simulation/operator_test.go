package simulation

import (
	"context"
	"fmt"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// Operators migrate runs, fork them, import copies of them, move their deadlines and make them retry immediately. Such work needs several requests to
// the store. The world continues between them, and each request or its answer may get lost. The operator then repeats the whole work.

// distant is the store as an operator sees it.
type distant struct {
	store.Store
	w *world
}

// command is a command that the store accepted.
type command struct {
	id   string
	verb store.Verb
}

// copied is an imported run, with its state at the import.
type copied struct {
	archive *client.Archive
	run     *run
}

// forked is a run that was forked from another one.
type forked struct {
	from, run *run
	record    string // of the other run, if that run was over
	// unanswered reports that an answer to the request for the fork was lost.
	unanswered bool
}

const (
	operateAgain = 200 * time.Millisecond
	operateLate  = 3000 // the last millisecond at which an operator begins
)

// pass lets the world continue for a while.
func (w *world) pass(d time.Duration) {
	until := w.now + d
	for len(w.events) > 0 && w.events[0].at <= until && len(w.problems) == 0 {
		w.next()
	}
	w.now = max(w.now, until)
}

// roundTrip makes a request of an operator, which takes time.
func roundTrip[T any](d distant, ask func() (T, error)) (answer T, err error) {
	var none T
	latency := func() time.Duration { return time.Duration(d.w.rng.ExpFloat64() * float64(d.w.knobs.latency)) }
	d.w.pass(latency())
	if d.w.lose() {
		return none, errNoAnswer
	}
	answer, err = ask()
	d.w.pass(latency())
	if d.w.lose() {
		return none, errNoAnswer
	}
	return answer, err
}

func send(d distant, ask func() error) error {
	_, err := roundTrip(d, func() (struct{}, error) { return struct{}{}, ask() })
	return err
}

func (d distant) Load(ctx context.Context, i store.Instance) (store.Loaded, error) {
	return roundTrip(d, func() (store.Loaded, error) { return d.Store.Load(ctx, i) })
}

func (d distant) History(ctx context.Context, i store.Instance, from, n int) ([]store.StoredEntry, error) {
	return roundTrip(d, func() ([]store.StoredEntry, error) { return d.Store.History(ctx, i, from, n) })
}

func (d distant) Inbox(ctx context.Context, i store.Instance, n int) ([]store.Message, error) {
	return roundTrip(d, func() ([]store.Message, error) { return d.Store.Inbox(ctx, i, n) })
}

func (d distant) Start(ctx context.Context, s store.Start) (store.Started, error) {
	return roundTrip(d, func() (store.Started, error) { return d.Store.Start(ctx, s) })
}

func (d distant) Register(ctx context.Context, r store.Registration) (store.Registered, error) {
	return roundTrip(d, func() (store.Registered, error) { return d.Store.Register(ctx, r) })
}

func (d distant) Define(ctx context.Context, key string, data []byte) error {
	return send(d, func() error { return d.Store.Define(ctx, key, data) })
}

// Command notes the accepted command, even if the operator does not get the answer. Sometimes the command arrives twice.
func (d distant) Command(ctx context.Context, c store.Command) error {
	return send(d, func() error {
		err := d.Store.Command(ctx, c)
		if err != nil {
			return err
		}
		d.w.commands[c.To] = append(d.w.commands[c.To], command{c.ID, c.Verb})
		if d.w.faulty && d.w.rng.Float64() < d.w.knobs.double {
			d.w.after(4*d.w.knobs.latency, "command again", func() {
				if err := d.Store.Command(ctx, c); err != nil {
					d.w.note("command again: %s", err)
				}
			})
		}
		return nil
	})
}

// operate has an operator do something repeatedly until it is done.
func (w *world) operate(what string, at time.Duration, do func() (done bool, err error)) {
	w.operating++
	var try func()
	try = func() {
		done, err := do()
		if w.note("the operator: %s: %v", what, err); done {
			w.operating--
			return
		}
		w.after(operateAgain, what, try)
	}
	w.after(at, what, try)
}

// beginOperators starts the work of operators on a run, as its workload specifies.
func (w *world) beginOperators(r *run) {
	k := r.kind
	at := func() time.Duration { return time.Duration(w.rng.IntN(operateLate)) * time.Millisecond }
	if k.migrates && w.rng.IntN(4) > 0 {
		w.operate("migrate "+r.id, at(), func() (bool, error) { return w.migrate(r) })
	}
	if k.extends && w.rng.IntN(4) > 0 {
		w.operate("extend "+r.id, at(), func() (bool, error) { return w.extend(r) })
	}
	if k.hurries {
		w.operate("hurry "+r.id, at(), func() (bool, error) { return w.hurry(r) })
	}
	if k.imports && w.rng.IntN(2) == 0 {
		w.export(r, at())
	}
	if k.forks != nil {
		f := &forked{from: r, run: &run{id: r.id + "-fork", kind: k}}
		f.run.kind.status, f.run.kind.output = "completed", k.mended
		w.operate("fork "+r.id, at(), func() (bool, error) { return w.fork(f) })
	}
}

// lost reports whether the result of an operator's request is unknown.
func lost(err error) bool { return errors.Is(err, errNoAnswer) }

func (w *world) ended(r *run) bool {
	l, err := w.memory.Load(context.Background(), r.instance)
	return err == nil && l.Lifecycle.Status.Final()
}

func (w *world) migrate(r *run) (done bool, err error) {
	_, err = w.operator.Migrate(context.Background(), r.instance, client.Migration{To: "2.0.0", Map: r.kind.moved, Reason: "by the simulation"})
	return err == nil && w.rng.IntN(3) > 0 || w.version(r) == "2.0.0" || w.ended(r), err
}

// version returns the version of a run's workflow.
func (w *world) version(r *run) string {
	d, err := w.client.Describe(context.Background(), r.instance)
	if err != nil {
		w.problem("describe %s: %s", r.id, err)
		return ""
	}
	return d.Invocation.Workflow.Version
}

func (w *world) extend(r *run) (done bool, err error) {
	by := time.Duration(w.rng.IntN(9000)-1500) * time.Millisecond
	_, err = w.operator.SetDeadline(context.Background(), r.instance, client.DeadlineChange{By: by, Reason: "by the simulation"})
	return err == nil || w.ended(r), err
}

// hurry makes a run retry until it no longer waits.
func (w *world) hurry(r *run) (done bool, err error) {
	err = w.operator.RetryNow(context.Background(), r.instance, "by the simulation")
	return w.ended(r), err
}

// export exports a run, and imports it under another id after a while.
func (w *world) export(r *run, at time.Duration) {
	w.operate("export "+r.id, at, func() (bool, error) {
		a, err := w.operator.Archive(context.Background(), r.instance)
		if err != nil {
			return false, err
		}
		c := &copied{archive: a, run: &run{kind: r.kind, id: r.id + "-copy"}}
		a.ID = c.run.id
		w.operate("import "+r.id, time.Duration(w.rng.IntN(2000))*time.Millisecond, func() (bool, error) { return w.importCopy(c) })
		return true, nil
	})
}

func (w *world) importCopy(c *copied) (done bool, err error) {
	i, err := w.operator.Import(context.Background(), c.archive)
	if lost(err) {
		c.run.asked = true
		return false, err
	}
	if err != nil && !(c.run.asked && store.RefusedAs(err) == store.Conflict) {
		w.problem("import %s: %s", c.run.id, err)
		return true, err
	}
	w.copies = append(w.copies, c)
	w.goesOn(c.run, i)
	w.operate("resume "+c.run.id, operateAgain, func() (bool, error) { return w.resume(c.run) })
	return true, err
}

// resume resumes a run that was suspended at the time of its copy, or that had a suspend command in its inbox. Other runs have to continue without
// help.
func (w *world) resume(r *run) (done bool, err error) {
	l, err := w.memory.Load(context.Background(), r.instance)
	if err == nil && l.Lifecycle.Status == interpreter.StatusSuspended {
		err = w.operator.Resume(context.Background(), r.instance, "by the simulation")
	}
	return w.ended(r), err
}

func (w *world) fork(f *forked) (done bool, err error) {
	o := *f.from.kind.forks
	switch ended := w.ended(f.from); {
	case o.From == "" && !ended:
		return false, nil
	case o.From != "" && w.history(f.from.instance).begun[o.From] == 0:
		return ended, nil
	}
	o.ID = f.run.id
	got, err := w.operator.Fork(context.Background(), f.from.instance, o)
	var begun *client.ContinuedError
	switch {
	case lost(err):
		f.unanswered = true
		return false, err
	case f.unanswered && errors.As(err, &begun) && begun.Fork.ID == f.run.id: // the fork whose answer was lost
		got.Instance = begun.Fork
	case err != nil:
		w.problem("I21: fork %s: %s", f.from.id, err)
		return true, err
	}
	if l, err := w.memory.Load(context.Background(), f.from.instance); err == nil && l.Lifecycle.Status.Final() {
		f.record = l.Lifecycle.String()
	}
	w.forks = append(w.forks, f)
	w.goesOn(f.run, got.Instance)
	return true, nil
}

// goesOn adds a run that an operator made to the runs of the world.
func (w *world) goesOn(r *run, i store.Instance) {
	if i.ID != r.id {
		w.problem("%s is called %s", r.id, i)
	}
	r.instance = i
	w.runs = append(w.runs, r)
	if r.kind.hurries {
		w.operate(fmt.Sprint("hurry ", r.id), operateAgain, func() (bool, error) { return w.hurry(r) })
	}
}
