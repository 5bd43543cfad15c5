package interpreter

import (
	"fmt"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
)

// This file continues a run with another definition. Tasks in progress keep their data, their deadlines, their paths and their requests. Tasks that
// begin afterwards follow the new definition.

// Migrate continues the run with another program. If the step's history contains WorkflowMigrated, the driver of the run uses that program after the
// step.
type Migrate struct {
	To       *Program // nil if the program is not known, as in a replay, or could not be loaded
	From, Of Version  // of the run before and after the migration
	Map      PointerMap
	Refused  string // why the run cannot migrate
	Input    any    // with which the run was started
	Reason   string
	Actor    string // requested the migration
}

// Version names a definition.
type Version struct {
	Workflow   string `json:"workflow"`   // namespace/name:version
	Definition string `json:"definition"` // its digest
}

func (Migrate) event() {}

// data returns the migration in the form of the history.
func (ev Migrate) data(refused string) map[string]any {
	v := map[string]any{
		"from": map[string]any{"workflow": ev.From.Workflow, "definition": ev.From.Definition},
		"to":   map[string]any{"workflow": ev.Of.Workflow, "definition": ev.Of.Definition},
	}
	if len(ev.Map) > 0 {
		pointers := map[string]any{}
		for old, to := range ev.Map {
			pointers[string(old)] = string(to)
		}
		v["map"] = pointers
	}
	for name, text := range map[string]string{"reason": ev.Reason, "refused": refused} {
		if text != "" {
			v[name] = text
		}
	}
	return v
}

// migrateOf reads the output of data.
func migrateOf(e HistoryEvent) Migrate {
	v, _ := e.Data.(map[string]any)
	version := func(name string) Version {
		of, _ := v[name].(map[string]any)
		workflow, _ := of["workflow"].(string)
		digest, _ := of["definition"].(string)
		return Version{workflow, digest}
	}
	ev := Migrate{From: version("from"), Of: version("to"), Actor: e.Actor}
	ev.Refused, _ = v["refused"].(string)
	ev.Reason, _ = v["reason"].(string)
	return ev
}

// migrate continues with another program, or records in the history why that is not possible.
func (m *machine) migrate(ev Migrate) {
	refused := ev.Refused
	switch {
	case m.s.Status.Final():
		return
	case m.s.Status == StatusPending:
		refused = "the run has not begun"
	}
	var moved *State
	if refused == "" {
		var err error
		if moved, err = m.moved(ev); err != nil {
			refused = err.Error()
		}
	}
	e := HistoryEvent{Type: WorkflowMigrated, Actor: ev.Actor, Data: ev.data(refused)}
	if refused != "" {
		e.Type = WorkflowMigrationRefused
		m.record(e)
		return
	}
	m.record(e)
	moved.lastHistory = m.s.lastHistory
	*m.s = *moved
	m.result.Withheld, m.result.Again, m.migrated = true, true, true
}

// moved returns the state of the run in its new program.
func (m *machine) moved(ev Migrate) (*State, error) {
	if ev.To == nil {
		return nil, errors.New("its definition is not known")
	}
	v := mover{m: m, to: ev.To, pointers: ev.Map}
	var err error
	if v.moves, err = movesTo(ev.To, m, ev.Map); err != nil {
		return nil, err
	}
	stored, err := m.s.Snapshot() // the stored form contains references to secrets
	if err != nil {
		return nil, err
	}
	fresh := NewState(m.s.Namespace, m.s.ID)
	fresh.Metadata, fresh.Keys = m.s.Metadata, m.s.Keys
	if fresh, err = Restore(ev.To, fresh, ev.Input, stored); err != nil {
		return nil, err
	}
	for n, f := range fresh.frames {
		v.apply(m.s.frames[n], f)
		if f.common().Queued {
			fresh.queued = append(fresh.queued, f)
		}
	}
	fresh.headChanged, fresh.contextChanged = true, true
	fresh.ended, fresh.free, fresh.lastKey, fresh.sizes = m.s.ended, m.s.free, m.s.lastKey, m.s.sizes
	next := &machine{p: ev.To, s: fresh, now: m.now}
	next.scope.m, fresh.redact = next, ev.To.redactions()
	if err := next.listenAgain(); err != nil {
		return nil, fmt.Errorf("%s: %w", err.Instance, err)
	}
	return fresh, nil
}

// listenAgain renews the filters of the tasks that listen, because the new program may specify other filters.
func (m *machine) listenAgain() *errors.Error {
	for f := range m.s.tasks() {
		if f.Listens == nil {
			continue
		}
		if err := f.node.body.(Listener).ListenAgain(m.bodyScope(f)); err != nil {
			return err.At(string(f.pointer()))
		}
	}
	return nil
}

// apply gives a frame its place in the other program; old is the same frame before the migration.
func (v *mover) apply(old, f frame) {
	c, was := f.common(), old.common()
	to := v.moves[c.ID]
	c.node, c.key, c.size, c.touched, c.Prefix = to.node, was.key, was.size, true, to.prefix
	switch f := f.(type) {
	case *listFrame:
		f.At, f.ListName = to.at, to.list.name
		if c.Parent != 0 {
			c.Origin = to.node.origin
		}
	case *taskFrame:
		c.Origin = to.node.origin
		if f.Then != nil && f.Then.Directive == dsl.DirectiveTask {
			f.Then.Index, _ = v.target(old.(*taskFrame), v.moves[c.Parent]) // it was found before
		}
	}
}
