package execution

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
)

// Runs that go on with another definition. Its program is loaded before the step, for which the execution waits a moment; if it does not
// come, the migration is refused, and the run goes on with what it has.

// migration is what is known of the definition that the run is about to go on with.
type migration struct {
	digest  string    // empty for none
	until   time.Time // when the migration is refused if its program is not there by then
	program *interpreter.Program
	failure error // why it cannot be loaded
}

// pinned is what the run runs as it is stored.
type pinned struct {
	invocation *Invocation
	program    *interpreter.Program
}

// mayStep reports whether an event can be stepped now: a migration needs its program.
func (x *Execution) mayStep(ev interpreter.Event) bool {
	message, _ := ev.(received)
	ask, ok := message.Event.(interpreter.Migrate)
	if !ok {
		return true
	}
	now := x.Clock()
	if x.migration.digest != ask.Of.Definition {
		until := now.Add(x.LoadWithin)
		if wake := x.state.NextWake(); !wake.IsZero() {
			until = interpreter.Earlier(until, wake)
		}
		if soonest := now.Add(store.HangTolerance / 2); until.Before(soonest) {
			until = soonest
		}
		x.migration = migration{digest: ask.Of.Definition, until: until}
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

// prepared adds to a migration what only its driver knows.
func (x *Execution) prepared(ev interpreter.Event) interpreter.Event {
	m, ok := ev.(interpreter.Migrate)
	if !ok {
		return ev
	}
	m.From = interpreter.Version{Workflow: x.invocation.Workflow.String(), Definition: x.invocation.Definition}
	m.To, m.Input = x.migration.program, x.invocation.Input.V
	if x.migration.failure != nil {
		m.Refused = x.migration.failure.Error()
	}
	x.migration = migration{}
	return m
}

// migrate goes on with what a step has migrated to, if it has.
func (x *Execution) migrate(ev interpreter.Event, result interpreter.Result) {
	m, ok := ev.(interpreter.Migrate)
	if !ok || !slices.ContainsFunc(result.History, func(r interpreter.HistoryEvent) bool { return r.Type == interpreter.WorkflowMigrated }) {
		return
	}
	workflow, err := definition.ParseReference(m.Of.Workflow)
	if err == nil {
		x.invocation, x.program = x.invocation.migrated(Pinned{workflow, m.Of.Definition}), m.To
		x.batch.invocation, err = json.Marshal(x.invocation)
	}
	if err != nil {
		x.fail(fmt.Errorf("write what the run goes on with: %w", err))
	}
}
