package interpreter

import (
	"slices"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
)

// SetDeadline changes the end of a scope in progress. It was accepted before the deadline Was passed. Therefore it counts even if it is stepped
// later, beside other events, and its step handles nothing that is due.
type SetDeadline struct {
	Kind      string    // DeadlineTask, DeadlineRun, or DeadlineExecution (also for the document's timeout)
	Inherited bool      // the deadline belongs to a scope in the run that waits for this one, which sent the event
	Path      Path      // of the task in progress; empty for the whole run
	Was       time.Time // the deadline that is replaced; zero for none. If the scope has another deadline by now, nothing changes
	At        time.Time // the new deadline; zero for none
	Reason    string
	Actor     string // requested the change

	expires bool // the step also handled due work, as steps of older histories did
}

func (SetDeadline) event() {}

// data returns the change in the form of the history.
func (ev SetDeadline) data(refused string) map[string]any {
	v := map[string]any{"kind": ev.Kind}
	for name, text := range map[string]string{
		"path": string(ev.Path), "was": instantText(ev.Was), "at": instantText(ev.At), "reason": ev.Reason, "refused": refused,
	} {
		if text != "" {
			v[name] = text
		}
	}
	if ev.Inherited {
		v["inherited"] = true
	}
	return v
}

func instantText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// setDeadlineOf reads the output of data.
func setDeadlineOf(e HistoryEvent) SetDeadline {
	v, _ := e.Data.(map[string]any)
	text := func(name string) string {
		s, _ := v[name].(string)
		return s
	}
	instant := func(name string) time.Time {
		t, _ := time.Parse(time.RFC3339Nano, text(name)) // the zero time for none
		return t
	}
	inherited, _ := v["inherited"].(bool)
	return SetDeadline{Kind: text("kind"), Inherited: inherited, Path: Path(text("path")), Was: instant("was"), At: instant("at"), Reason: text("reason"), Actor: e.Actor}
}

// setDeadline replaces the deadline of a scope, or records in the history why it does not.
func (m *machine) setDeadline(ev SetDeadline) {
	e := HistoryEvent{Type: WorkflowDeadlineSet, Actor: ev.Actor, Timeout: ev.Kind, Until: ev.At}
	f, refused := m.replaceDeadline(ev)
	if f != nil {
		e.Type = TaskDeadlineSet
		e = f.event(e)
	}
	if e.Data = ev.data(refused); refused != "" {
		e.Type, e.Until = WorkflowDeadlineKept, time.Time{}
		if f != nil {
			e.Type = TaskDeadlineKept
		}
		m.record(e)
		return
	}
	if m.workflowValue, m.s.headChanged = nil, true; f != nil {
		f.changed()
	} else {
		m.moveBeside()
	}
	m.record(e)
	m.result.DeadlinesMoved = true
}

// replaceDeadline replaces the deadline of a scope. It returns the task if the scope is a task, or why it replaced nothing.
func (m *machine) replaceDeadline(ev SetDeadline) (f *taskFrame, refused string) {
	f, deadlines, refused := m.scopeOf(ev)
	if refused == "" && !ev.replaced(*deadlines).Equal(ev.Was) {
		refused = "its deadline was changed meanwhile"
	}
	if refused == "" {
		*deadlines = ev.in(*deadlines, m.scopeStart(f))
	}
	return f, refused
}

// Foresee replaces a deadline in a state for reading only, as the step that carries the change out does.
func (ev SetDeadline) Foresee(p *Program, s *State) {
	m := &machine{p: p, s: s}
	m.resolveNodes()
	m.replaceDeadline(ev)
}

// scopeOf returns the deadlines of the scope of ev, and the task if the scope is a task. Otherwise it returns why there is no such scope.
func (m *machine) scopeOf(ev SetDeadline) (f *taskFrame, deadlines *[]Deadline, refused string) {
	switch {
	case m.s.Status.Final():
		return nil, nil, "the run has ended"
	case m.s.Status == StatusPending:
		return nil, nil, "the run has not begun"
	case ev.Path == "":
		return nil, &m.s.Deadlines, ""
	}
	for f := range m.s.tasks() {
		if f.Path == ev.Path {
			return f, &f.Deadlines, ""
		}
	}
	return nil, nil, "the task is over"
}

func (m *machine) scopeStart(f *taskFrame) time.Time {
	if f != nil {
		return f.StartedAt
	}
	return m.s.StartedAt
}

// replaces reports whether the change applies to d.
func (ev SetDeadline) replaces(d Deadline) bool {
	return d.Inherited == ev.Inherited && (d.Kind == ev.Kind || ev.Kind == DeadlineExecution && d.Kind == DeadlineWorkflow)
}

// replaced returns the earliest of the deadlines to which the change applies; zero if there is no such deadline.
func (ev SetDeadline) replaced(all []Deadline) (first time.Time) {
	for _, d := range all {
		if ev.replaces(d) {
			first = Earlier(first, d.At)
		}
	}
	return first
}

// in returns the deadlines of a scope, with the new deadline in the place of all deadlines to which the change applies.
func (ev SetDeadline) in(all []Deadline, startedAt time.Time) []Deadline {
	set := Deadline{Kind: ev.Kind, StartedAt: startedAt}
	if at := slices.IndexFunc(all, ev.replaces); at >= 0 {
		set = all[at]
	}
	set.At, set.Fixed, set.Inherited = ev.At, true, ev.Inherited
	rest := slices.DeleteFunc(slices.Clone(all), ev.replaces)
	if ev.At.IsZero() {
		return rest
	}
	return append([]Deadline{set}, rest...)
}

// FindDeadline returns the change of a deadline, without the new deadline, for the task in progress at a pointer or, if the pointer is empty, for the
// whole run; kind is as in SetDeadline. around is the earliest deadline that limits the new one, zero for none. The error explains why there is no
// such scope.
func FindDeadline(p *Program, s *State, kind string, task dsl.Pointer) (ev SetDeadline, around time.Time, err error) {
	m := &machine{p: p, s: s}
	m.resolveNodes()
	ev.Kind = kind
	if task == "" {
		ev.Was = ev.replaced(s.Deadlines)
		for _, d := range s.Deadlines {
			if !ev.replaces(d) && (d.Inherited || kind == DeadlineRun) {
				around = Earlier(around, d.At)
			}
		}
		return ev, around, nil
	}
	for f := range s.tasks() {
		if f.pointer() != task {
			continue
		}
		ev.Path, ev.Was, around = f.Path, ev.replaced(f.Deadlines), earliest(s.Deadlines)
		for g := range s.ancestors(f) {
			around = Earlier(around, earliest(g.common().Deadlines))
		}
		return ev, around, nil
	}
	return ev, around, errors.New("is not at the task " + string(task))
}
