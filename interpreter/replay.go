package interpreter

import "slices"

// Replay computes the state of a run from its history: the state after the last step.
func Replay(r Past) (*State, error) {
	replay := newReplay(r)
	for _, e := range r.Steps {
		if replay.notes(e) {
			continue
		}
		if e.State == nil {
			(&machine{p: replay.p, s: replay.s}).repeat(e, r.Start)
		}
		if err := replay.restore(e); err != nil {
			return nil, err
		}
	}
	return replay.s, nil
}

// repeat computes a step of a history again.
func (m *machine) repeat(e HistoryStep, start Start) {
	m.now, m.recorded = e.At, e.Events
	m.step(e.cause(start))
}

// replay is a run that is computed again from its history.
type replay struct {
	p        *Program
	s        *State
	input    any
	migrated []*Program // with which it continues later
}

func newReplay(r Past) *replay {
	r.New.Input = r.Program.redactions().EscapeReferences(r.Start.Input) // a run that never started contains it too
	return &replay{r.Program, r.New, r.Start.Input, r.Migrated}
}

// notes skips a step that is a note, and reports whether it is a note.
func (r *replay) notes(e HistoryStep) bool {
	if !e.IsNote() {
		return false
	}
	r.s.NumberFrom(e.Events[len(e.Events)-1].Seq)
	return true
}

// restore continues with the stored part of a step that cannot be computed again: the state, and the program of a run that migrated.
func (r *replay) restore(e HistoryStep) (err error) {
	if e.State == nil {
		return nil
	}
	if _, migrated := e.Migration(); migrated && len(r.migrated) > 0 {
		r.p, r.migrated = r.migrated[0], r.migrated[1:]
	}
	fresh := NewState(r.s.Namespace, r.s.ID)
	fresh.Metadata, fresh.Keys = r.s.Metadata, r.s.Keys
	r.s, err = Restore(r.p, fresh, r.input, *e.State)
	return err
}

// Migration returns the event of a step with which the run continued with another definition; ok is false if the step is no migration.
func (e HistoryStep) Migration() (m Migrate, ok bool) {
	at := slices.IndexFunc(e.Events, func(r HistoryEvent) bool { return r.Type == WorkflowMigrated })
	if at < 0 {
		return m, false
	}
	return migrateOf(e.Events[at]), true
}

// Begins reports whether the first event of a step is of a type.
func (e HistoryStep) Begins(of HistoryEventType) bool {
	return len(e.Events) > 0 && e.Events[0].Type == of
}
