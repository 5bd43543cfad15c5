package client

import (
	"context"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/inbox"
	"github.com/swrun/swrun/runtime/store"
)

// Migration specifies how a run continues with another version of its workflow.
type Migration struct {
	To     string                 // the version, or latest
	Map    interpreter.PointerMap // new positions of tasks that moved
	Reason string
	Dry    bool // nothing is changed: whether it is possible is all that is asked
}

// Migrated is a run that is to continue with another definition.
type Migrated struct{ From, To execution.Pinned }

// Migrate lets a run in progress continue with another version of its workflow. Tasks in progress keep their data and their deadlines.
// Migrate is refused as a Conflict if a task in progress has no place in that version, and as NoSuch if the version does not exist. The run
// continues until a worker carries out the migration. The worker checks it again, and the run's history records the result.
func (c *Client) Migrate(ctx context.Context, i store.Instance, m Migration) (Migrated, error) {
	if m.To == "" {
		return Migrated{}, &OptionError{Field: "to", Detail: "must be a version, or latest"}
	}
	if err := i.CheckSize(); err != nil {
		return Migrated{}, err
	}
	d, err := c.Describe(ctx, i)
	if err != nil {
		return Migrated{}, err
	}
	done := Migrated{From: execution.Pinned{Workflow: d.Invocation.Workflow, Definition: d.Invocation.Definition}}
	to := d.Invocation.Workflow
	to.Version = m.To
	if done.To.Workflow, done.To.Definition, err = definition.Resolve(ctx, c.store, to); err != nil {
		return done, err
	}
	p, err := c.programs.Program(ctx, done.To.Definition)
	if err != nil {
		return done, err
	}
	if err := d.moves(done.To, p, m.Map); err != nil || m.Dry {
		return done, err
	}
	command := store.Command{To: i, Verb: store.VerbMigrate}
	return done, c.send(ctx, command, inbox.Message{
		Type: interpreter.EventMigrate, Reason: m.Reason, Migration: &inbox.Migration{
			To: interpreter.Version{Workflow: done.To.Workflow.String(), Definition: done.To.Definition}, Map: m.Map,
		},
	})
}

// moves returns the reason why a run cannot continue with another definition at present.
func (d *Description) moves(to execution.Pinned, p *interpreter.Program, pointers interpreter.PointerMap) error {
	switch {
	case d.Lifecycle.Status.Final():
		return &store.Refusal{Code: store.Closed, Detail: "run " + d.Instance.String()}
	case d.Lifecycle.Status == interpreter.StatusPending:
		return refused(d.Instance, "has not begun: cancel it, and start it with the other version")
	case d.Invocation.Definition == to.Definition:
		return refused(d.Instance, "has the definition of %s already", to.Workflow)
	}
	if err := interpreter.CheckMoves(d.Program, p, d.State, pointers); err != nil {
		return refused(d.Instance, "cannot go on with another version: %s", err)
	}
	return nil
}
