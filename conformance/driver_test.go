package conformance

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/activity"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// driver runs a case step by step: effects take no time and happen one after the other, time jumps when nothing is in flight, and the test can
// replace the state between two steps.
type driver struct {
	t       *testing.T
	c       testCase
	outside *outside
	now     time.Time
	// between replaces the state after each step; nil keeps it.
	between func(*interpreter.Program, *interpreter.State) *interpreter.State
	cancel  time.Time // the time of a cancellation from outside; zero for never
	nudge   bool      // wake runs needlessly
	pause   bool      // suspend runs while something happens
	reverse bool      // of the effects in flight the newest ends first
	history bool      // keep the entries of each run's history

	live     []*caseRun
	all      []*caseRun
	inFlight []effectInFlight // effects to perform, in order

	arrival   *arrival
	cancelled bool // the run was cancelled before it ended
}

// caseRun is one run of a case.
type caseRun struct {
	programs []*interpreter.Program // of its definitions, in order; the last one is current
	state    *interpreter.State
	again    bool
	parent   *effectInFlight // the effect that waits for the run, or nil
	beside   *effectInFlight // the effect that started the run, if the run ends with the parent although no task waits for it
	waiting  map[interpreter.EffectID]*store.Activity

	steps   []step
	records []interpreter.HistoryEvent
	history []interpreter.HistoryStep
}

func (i *caseRun) program() *interpreter.Program { return i.programs[len(i.programs)-1] }

// step steps the run, and continues with another program after a migration.
func (i *caseRun) step(ev interpreter.Event, now time.Time) interpreter.Result {
	result := interpreter.Step(i.program(), i.state, ev, now)
	if f, ok := ev.(interpreter.Finished); ok && result.Migrated() {
		i.programs = append(i.programs, f.Successor.Program)
	}
	return result
}

// step is one call of interpreter.Step and its result.
type step struct {
	event interpreter.Event
	now   time.Time
	state string // as JSON
}

// effectInFlight is an effect in progress.
type effectInFlight struct {
	run    *caseRun
	effect interpreter.Effect
	child  *caseRun // the run that performs it, for run.workflow
}

func newDriver(t *testing.T, c testCase) *driver {
	return &driver{t: t, c: c, outside: newOutside(c.files), now: epoch(), arrival: newArrival(t, c)}
}

// run runs the case to its end and returns its runs, the case's own first.
func (d *driver) run() []*caseRun {
	d.t.Helper()
	root := d.start(d.c.mustProgram(d.t, d.outside), "case", nil)
	d.step(root, interpreter.Start{Input: d.c.input(d.t)})
	for range 10_000 {
		if len(d.live) == 0 && len(d.inFlight) == 0 {
			return d.all
		}
		d.advance()
	}
	d.t.Fatal("the run does not come to an end")
	return nil
}

// advance does the next step.
func (d *driver) advance() {
	if d.nudge && !d.due() {
		d.nudgeAll()
	}
	if len(d.live) > 0 && !d.cancel.IsZero() && !d.now.Before(d.cancel) {
		d.cancelled = d.cancelled || d.live[0] == d.all[0]
		d.step(d.live[0], interpreter.Cancel{Reason: "the test wants it"})
		return
	}
	wake := d.cancel
	for _, i := range d.live {
		next := i.state.NextWake()
		if i.again || !next.IsZero() && !d.now.Before(next) {
			d.step(i, interpreter.Due{})
			return
		}
		if !next.IsZero() && (wake.IsZero() || next.Before(wake)) {
			wake = next
		}
	}
	for _, i := range d.live {
		for effect, a := range i.waiting { // a case has one at a time
			if !a.Due.IsZero() && !d.now.Before(a.Due) {
				d.expire(i, effect, a)
				return
			}
			wake = interpreter.Earlier(wake, a.Due)
		}
	}
	if event, comes := d.arrival.next(d.now, d.listens()); comes {
		d.arrive(event)
		return
	}
	wake = interpreter.Earlier(wake, d.arrival.at())
	if at := d.nextToEnd(); at >= 0 {
		f := d.inFlight[at]
		d.inFlight = slices.Delete(d.inFlight, at, at+1)
		d.perform(f)
		return
	}
	if wake.IsZero() {
		d.t.Fatal("nothing can go on")
	}
	if d.nudge {
		d.now = d.now.Add(wake.Sub(d.now) / 2)
		d.nudgeAll()
	}
	d.now = wake
}

// nudgeAll wakes every run before its time.
func (d *driver) nudgeAll() {
	for _, i := range d.live {
		if !i.again {
			result := interpreter.Step(i.program(), i.state, interpreter.Due{}, d.now)
			if len(result.History) > 0 || len(result.Effects) > 0 || len(result.Cancels) > 0 || result.Again {
				d.t.Errorf("a needless wake-up at %s has consequences: %+v", d.now, result)
			}
		}
	}
}

// nextToEnd returns the index of the effect in flight that ends now, or -1.
func (d *driver) nextToEnd() int {
	if !d.reverse {
		return slices.IndexFunc(d.inFlight, d.ends)
	}
	for at := len(d.inFlight) - 1; at >= 0; at-- {
		if d.ends(d.inFlight[at]) {
			return at
		}
	}
	return -1
}

// due reports whether a run has something to do by now.
func (d *driver) due() bool {
	return slices.ContainsFunc(d.live, func(i *caseRun) bool {
		next := i.state.NextWake()
		return !next.IsZero() && !d.now.Before(next)
	})
}

// ends reports whether an effect ends on its own, and does not wait for a child.
func (d *driver) ends(f effectInFlight) bool {
	return f.child == nil && !d.c.endless(f.effect)
}

func (d *driver) start(p *interpreter.Program, id string, parent *effectInFlight) *caseRun {
	i := &caseRun{programs: []*interpreter.Program{p}, state: interpreter.NewState(p.Workflow.Document.Namespace, id), parent: parent}
	d.live, d.all = append(d.live, i), append(d.all, i)
	return i
}

func (d *driver) step(i *caseRun, ev interpreter.Event) {
	d.t.Helper()
	_, cancels := ev.(interpreter.Cancel)
	if !d.pause || cancels || i.again {
		d.take(i, ev)
		return
	}
	for _, ev := range []interpreter.Event{interpreter.Suspend{}, ev, interpreter.Resume{}} {
		if !i.state.Status.Final() {
			d.take(i, ev)
		}
	}
}

func (d *driver) take(i *caseRun, ev interpreter.Event) {
	d.t.Helper()
	result := i.step(ev, d.now)
	i.again = result.Again
	i.records = append(i.records, result.History...)
	i.steps = append(i.steps, step{ev, d.now, mustJSON(d.t, i.state)})
	if d.history {
		d.keep(i, interpreter.NewHistoryStep(ev, d.now, result), result.Withheld)
	}
	if d.between != nil {
		i.state = d.between(i.program(), i.state)
	}
	for _, id := range result.Cancels {
		d.drop(i, id)
	}
	for _, e := range result.Effects {
		d.inFlight = append(d.inFlight, effectInFlight{run: i, effect: e})
	}
	if i.state.Status.Final() {
		d.end(i)
	}
}

// keep adds a step to the history of its run.
func (d *driver) keep(i *caseRun, e interpreter.HistoryStep, withheld bool) {
	d.t.Helper()
	if withheld {
		state, err := i.state.Snapshot()
		if err != nil {
			d.t.Fatal(err)
		}
		e.State = &state
	}
	if len(e.Events) > 0 {
		i.history = append(i.history, e)
	}
}

// drop removes an effect, and with it the child that performs it.
func (d *driver) drop(i *caseRun, id interpreter.EffectID) {
	if i.waiting[id] != nil {
		delete(i.waiting, id)
		return
	}
	at := slices.IndexFunc(d.inFlight, func(f effectInFlight) bool { return f.run == i && f.effect.ID == id })
	if at < 0 && d.dropBeside(i, id) {
		return
	}
	if at < 0 {
		d.t.Errorf("an effect is cancelled that is not in flight: %d", id)
		return
	}
	f := d.inFlight[at]
	d.inFlight = slices.Delete(d.inFlight, at, at+1)
	if f.child != nil {
		f.child.parent = nil
		d.step(f.child, interpreter.Cancel{Reason: "the task has ended"})
	}
}

// end removes a run from the live runs and reports its end to its parent.
func (d *driver) end(i *caseRun) {
	d.live = slices.DeleteFunc(d.live, func(other *caseRun) bool { return other == i })
	if i.beside != nil {
		d.step(i.beside.run, interpreter.Finished{Effect: i.beside.effect.ID})
	}
	if i.parent == nil {
		return
	}
	d.inFlight = slices.DeleteFunc(d.inFlight, func(f effectInFlight) bool { return f.child == i })
	ev := interpreter.Finished{Effect: i.parent.effect.ID}
	if ev.Result, ev.Error = execution.NewOutcome(i.state, d.now).Result(); ev.Error != nil {
		ev.Error = ev.Error.With(interpreter.MemberRun, i.state.Namespace+"/"+i.state.ID)
	}
	d.step(i.parent.run, ev)
}

func (d *driver) perform(f effectInFlight) {
	d.t.Helper()
	switch f.effect.Route {
	case interpreter.RouteChild:
		d.performWorkflow(f)
		return
	case interpreter.RouteActivity:
		d.schedule(f)
		return
	case interpreter.RouteDefinition:
		d.findDefinition(f)
		return
	}
	result, err := f.run.program().Performer(f.effect.Kind)(context.Background(), f.effect.Request)
	fault := errors.AsError(err)
	if err != nil && fault == nil {
		d.t.Fatal(err)
	}
	if f.run.state.Status.Final() && !f.effect.Detached {
		d.t.Errorf("the effect of %s goes on after the run has ended", f.effect.Request.Path)
	}
	switch {
	case f.effect.Route == interpreter.RoutePublish && fault == nil:
		d.arrive(mustDecode(d.t, string(f.effect.Request.Body)).(map[string]any))
	case !f.effect.Detached:
		d.step(f.run, interpreter.Finished{Effect: f.effect.ID, Result: result, Error: fault})
	}
}

// findDefinition gives a run the definition of its next run.
func (d *driver) findDefinition(f effectInFlight) {
	d.t.Helper()
	request, err := interpreter.ReadDefinitionRequest(f.effect.Request.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	ev := interpreter.Finished{Effect: f.effect.ID}
	document := f.run.program().Workflow.Document
	p, unknown := d.c.workflows(d.outside)(document.Namespace, document.Name, request.Version)
	if ev.Error = unknown; unknown == nil {
		ev.Successor = &interpreter.Successor{
			From: interpreter.Version{Workflow: document.String()}, Of: interpreter.Version{Workflow: p.Workflow.Document.String()}, Program: p,
		}
	}
	d.step(f.run, ev)
}

// schedule lets an activity wait for a worker, which never comes.
func (d *driver) schedule(f effectInFlight) {
	d.t.Helper()
	request, err := interpreter.ReadActivityRequest(f.effect.Request.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	a, failed := activity.New(f.effect.Request, request, d.now).Record()
	if failed != nil {
		d.t.Fatal(failed)
	}
	if f.run.waiting == nil {
		f.run.waiting = map[interpreter.EffectID]*store.Activity{}
	}
	f.run.waiting[f.effect.ID] = a
}

func (d *driver) expire(i *caseRun, effect interpreter.EffectID, a *store.Activity) {
	d.t.Helper()
	expired, err := activity.Do(activity.Expire{}, store.ActivityID{Run: store.Instance{Namespace: "test", ID: "case"}, Effect: effect}, a, d.now)
	if err != nil {
		d.t.Fatal(err)
	}
	if i.waiting[effect] = expired.To; expired.To == nil {
		delete(i.waiting, effect)
	}
	d.step(i, expired.Told)
}

// ending returns the outcome of the case's own run.
func (d *driver) ending() ending {
	root := d.all[0]
	last := root.steps[len(root.steps)-1]
	return ending{
		status: root.state.Status, output: root.state.Output, fault: root.state.Fault, elapsed: last.now.Sub(epoch()),
		records: root.records, events: d.outside.events,
	}
}
