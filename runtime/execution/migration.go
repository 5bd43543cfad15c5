package execution

import (
	"fmt"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
)

// Runs that continue with another definition: at their position, or in the next run of the execution. The execution waits a moment for the
// program before the step. If the program does not arrive, the migration is refused, and the run continues with its definition.

// migration is the definition with which the run is about to continue, as far as it is loaded.
type migration struct {
	digest  string    // empty for none
	until   time.Time // when the migration is refused if its program is not there by then
	program *interpreter.Program
	failure error // why it cannot be loaded
}

// pinned is the stored invocation of the run with its program.
type pinned struct {
	invocation *Invocation
	program    *interpreter.Program
}

// nextDefinition returns the digest of the definition to which an event moves the run; empty for its present definition.
func nextDefinition(ev interpreter.Event) string {
	message, _ := ev.(received)
	switch ev := message.Event.(type) {
	case interpreter.Migrate:
		return ev.Of.Definition
	case interpreter.Finished:
		if ev.Successor != nil {
			return ev.Successor.Of.Definition
		}
	}
	return ""
}

// mayStep reports whether an event can be stepped now: a migration needs its program.
func (x *Execution) mayStep(ev interpreter.Event) bool {
	digest := nextDefinition(ev)
	if digest == "" || digest == x.invocation.Definition {
		return true
	}
	now := x.Clock()
	if x.migration.digest != digest {
		until := now.Add(x.LoadWithin)
		if wake := x.state.NextWake(); !wake.IsZero() {
			until = interpreter.Earlier(until, wake)
		}
		if soonest := now.Add(store.HangTolerance / 2); until.Before(soonest) {
			until = soonest
		}
		x.migration = migration{digest: digest, until: until}
	}
	m := &x.migration
	if m.program == nil && m.failure == nil && !now.Before(m.until) {
		m.failure = errors.New("its definition could not be loaded in time")
	}
	x.actions.Load = ""
	if m.program == nil && m.failure == nil {
		x.actions.Load, x.callAt = m.digest, m.until
		return false
	}
	return true
}

// migrationLoaded reports the program of a migration, or why it cannot be loaded.
func (x *Execution) migrationLoaded(p *interpreter.Program, err error) {
	x.migration.program = p
	if err != nil && !errors.As(err, new(*definition.UnavailableError)) { // otherwise the store is asked again
		x.migration.failure = fmt.Errorf("its definition cannot be used: %w", err)
	}
	x.advance()
}

// prepared adds data from the driver to a migration.
func (x *Execution) prepared(ev interpreter.Event) interpreter.Event {
	digest := nextDefinition(received{Event: ev})
	if digest == "" {
		return ev
	}
	from := interpreter.Version{Workflow: x.invocation.Workflow.String(), Definition: x.invocation.Definition}
	to, failure := x.migration.program, x.migration.failure
	if digest == from.Definition {
		to, failure = x.program, nil
	}
	x.migration = migration{}
	switch m := ev.(type) {
	case interpreter.Migrate:
		m.From, m.To, m.Input = from, to, x.invocation.Input.V
		if failure != nil {
			m.Refused = failure.Error()
		}
		return m
	case interpreter.Finished:
		m.Successor = &interpreter.Successor{From: from, Of: m.Successor.Of, Program: to}
		if failure != nil {
			m.Successor, m.Error = nil, errors.Configurationf("the next run cannot be one of %s: %s", m.Successor.Of.Workflow, failure)
		}
		return m
	}
	return ev
}

// migrate continues with the new definition, if a step migrated the run.
func (x *Execution) migrate(ev interpreter.Event, result interpreter.Result) {
	if !result.Migrated() {
		return
	}
	var to interpreter.Successor
	switch ev := ev.(type) {
	case interpreter.Migrate:
		to = interpreter.Successor{Of: ev.Of, Program: ev.To}
	case interpreter.Finished:
		to = *ev.Successor
	}
	workflow, err := definition.ParseReference(to.Of.Workflow)
	if err == nil {
		x.invocation, x.program = x.invocation.migrated(Pinned{workflow, to.Of.Definition}), to.Program
		x.batch.invocation, err = x.invocation.Encode()
	}
	if err != nil {
		x.fail(fmt.Errorf("encode the new invocation of the run: %w", err))
	}
}

// findDefinition asks which definition a version of the run's workflow has.
func (x *Execution) findDefinition(e interpreter.Effect) {
	r, err := interpreter.ReadDefinitionRequest(e.Request.Body)
	if err != nil {
		x.queue = append(x.queue, interpreter.Finished{Effect: e.ID, Error: err})
		return
	}
	workflow := x.invocation.Workflow
	workflow.Version = r.Version
	x.batch.outbox = append(x.batch.outbox, Outgoing{Find: &DefinitionFind{Workflow: workflow, Run: x.instance, Effect: e.ID}})
}
