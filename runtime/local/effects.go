package local

import (
	"context"
	"log/slog"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/runtime/effect"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

func (l *local) perform(ctx context.Context, i *familyRun, e interpreter.Effect) {
	switch e.Route {
	case interpreter.RouteChild:
		l.performWorkflow(ctx, i, e)
		return
	case interpreter.RouteActivity:
		l.schedule(i, e)
		return
	case interpreter.RouteDefinition:
		l.findDefinition(i, e)
		return
	}
	wait, done := l.turn(e)
	a := effect.New(&localEffect{local: l, run: i, done: done}, l.memory, e, i.program.Performer(e.Kind))
	if !e.Detached {
		i.cancels[e.ID] = a.Cancel
	}
	l.attempts[a] = true
	l.inFlight.Add(1)
	go func() {
		wait()
		if a.Perform(ctx) {
			l.inFlight.Done()
		}
	}()
}

// localEffect is an effect of a run in memory.
type localEffect struct {
	local *local
	run   *familyRun
	done  func() // lets the next one begin
}

func (d *localEffect) Log() *slog.Logger { return d.local.Log }

func (d *localEffect) Abandoned(*effect.Attempt) { d.local.inFlight.Done() }

func (d *localEffect) Ended(a *effect.Attempt, result any, err error) {
	f := finishedEffect{run: d.run, attempt: a, event: interpreter.EndOf(a.Effect().ID, result, err)}
	if err != nil && f.event.Error == nil && !a.Cancelled() {
		f.host = err
	}
	d.local.finished <- f
	d.done()
}

// turn returns a function that waits until an effect may begin, and a function to call when it ended. Events are sent in the order in which
// they are emitted, everything else immediately.
func (l *local) turn(e interpreter.Effect) (wait, done func()) {
	if e.Route != interpreter.RoutePublish {
		return func() {}, func() {}
	}
	before, out := l.published, make(chan struct{})
	l.published = out
	return func() {
		if before != nil {
			<-before
		}
	}, func() { close(out) }
}

// performWorkflow starts another workflow as a run of the same family, on the same clock.
func (l *local) performWorkflow(ctx context.Context, i *familyRun, e interpreter.Effect) {
	request, err := interpreter.ReadChildRequest(e.Request.Body)
	if err != nil {
		l.reply(i, e, err)
		return
	}
	p, unknown := l.find(request.Namespace, request.Name, request.Version)
	if unknown != nil {
		l.reply(i, e, unknown)
		return
	}
	var parent *waiting
	if !e.Detached {
		parent = &waiting{run: i, effect: e.ID}
	}
	if err := (limits.Set{}).Check(limits.Workflows, len(l.runs)+1); err != nil {
		l.abort(err)
		return
	}
	if err := l.ask(); err != nil {
		l.post(i, interpreter.Abort{Error: err})
		return
	}
	child := l.start(p, interpreter.ChildID(i.state.Namespace, i.state.ID, e.Request.Path), parent)
	if parent != nil && !request.GoesOnAlone() {
		child.state.Keys.Run = i.state.ChildKeys(e.Request.Path)
	}
	if parent == nil {
		child.by = e.Request.Path
	}
	if e.Detached && request.EndsWithParent() {
		child.beside = &waiting{run: i, effect: e.ID}
	}
	if parent != nil || child.beside != nil {
		i.cancels[e.ID] = func(error) { l.step(ctx, child, interpreter.Cancel{Reason: i.state.ClosingReason()}) }
	}
	l.post(child, interpreter.Start{Input: request.Input.V, Depth: i.state.Depth + 1, By: i.state.Namespace + "/" + i.state.ID})
}

// ask counts a start for the family, as the commit of a run in a store does, and returns the error of one too many.
func (l *local) ask() *errors.Error {
	if day := store.Day(l.clock.now()); day != l.askedOn {
		l.asked, l.askedOn = 0, day
	}
	a := store.Asked{Of: store.Instance{Namespace: l.root.state.Namespace, ID: l.root.state.ID}, Kind: store.AskedRuns, N: 1, Max: l.limits.Max(limits.Family)}
	if !a.HasRoom(l.asked) {
		return execution.AskedTooMuch(a, l.asked, "this run")
	}
	l.asked++
	return nil
}

// tellBeside informs a run of the end of a child that would end with it, although no task waits for the child.
func (l *local) tellBeside(child *familyRun) {
	if by := child.beside; by != nil {
		delete(by.run.cancels, by.effect)
		l.post(by.run, interpreter.Finished{Effect: by.effect})
	}
}

func (l *local) find(namespace, name, version string) (*interpreter.Program, *errors.Error) {
	if l.Workflows == nil {
		return nil, errors.Configurationf("the workflow %s/%s:%s is not known here", namespace, name, version)
	}
	return l.Workflows(namespace, name, version)
}

// findDefinition sends a run the definition of its next run.
func (l *local) findDefinition(i *familyRun, e interpreter.Effect) {
	request, err := interpreter.ReadDefinitionRequest(e.Request.Body)
	if err != nil {
		l.reply(i, e, err)
		return
	}
	document := i.program.Workflow.Document
	p, unknown := l.find(document.Namespace, document.Name, request.Version)
	if unknown != nil {
		l.reply(i, e, unknown)
		return
	}
	l.post(i, interpreter.Finished{Effect: e.ID, Successor: &interpreter.Successor{
		From: interpreter.Version{Workflow: document.String()}, Of: interpreter.Version{Workflow: p.Workflow.Document.String()}, Program: p,
	}})
}

// reply answers an effect that cannot be performed at all.
func (l *local) reply(i *familyRun, e interpreter.Effect, err *errors.Error) {
	if !e.Detached {
		l.post(i, interpreter.Finished{Effect: e.ID, Error: err})
	}
}
