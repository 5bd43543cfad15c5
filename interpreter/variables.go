package interpreter

import (
	"maps"
	"slices"
	"time"
)

// rawScope is the scope of evaluations on the raw input: if, input.from and a timeout's expression. It looks up variables from owner outwards.
func (m *machine) rawScope(owner frame, f *taskFrame) *Scope {
	m.scope = Scope{m: m, frame: f, owner: owner, input: f.Raw}
	return &m.scope
}

// bodyScope is the scope of the body of f and of the evaluations after the body.
func (m *machine) bodyScope(f *taskFrame) *Scope {
	m.scope = Scope{m: m, frame: f, owner: f, input: f.Input}
	return &m.scope
}

// workflowScope is the scope of the workflow's own input, output and timeout.
func (m *machine) workflowScope(input any) *Scope {
	m.scope = Scope{m: m, input: input}
	return &m.scope
}

// Variable returns $name, or nil if the variable is not known yet (semantics 2.8).
func (s *Scope) Variable(name string) any {
	if v, ok := s.bound[name]; ok {
		return v
	}
	for f := range s.m.s.selfAndAncestors(s.owner) {
		if v, ok := f.common().Vars[name]; ok {
			return v
		}
	}
	switch name {
	case "context":
		return *s.m.context(s.owner)
	case "input":
		return s.input
	case "output":
		return s.output
	case "secrets", "secret":
		s.readsSecret, s.confidential = true, true
		return s.m.secrets()
	case "task":
		return s.task()
	case "workflow":
		return s.m.workflow()
	case "runtime":
		return s.m.runtime()
	}
	return nil
}

// context returns a pointer to the $context that f sees.
func (m *machine) context(f frame) *any {
	if branch := m.branchOf(f); branch != nil {
		return &branch.Context
	}
	return &m.s.Context
}

func (m *machine) setContext(f frame, v any) {
	if branch := m.branchOf(f); branch != nil {
		branch.Context = v
		branch.changed()
		return
	}
	m.s.Context, m.s.contextChanged = v, true
}

// branchOf returns the branch whose context f sees, or nil.
func (m *machine) branchOf(f frame) *taskFrame {
	for f := range m.s.selfAndAncestors(f) {
		if task, ok := f.(*taskFrame); ok && task.Isolated {
			return task
		}
	}
	return nil
}

// task returns $task: the spec's descriptor, with further members of the task's definition whose names are free (semantics 2.12). Inside an extension
// it is the extended task.
func (s *Scope) task() any {
	f := s.m.extendedTask(s.frame)
	if f == nil {
		return nil
	}
	definition := s.m.p.definitions[f.node.origin]
	v := map[string]any{}
	if members, ok := definition.(map[string]any); ok {
		maps.Copy(v, members)
	}
	v["name"], v["reference"], v["definition"] = f.node.task.Base().Name, string(f.pointer()), definition
	v["input"], v["startedAt"] = f.Raw, timeValue(f.StartedAt)
	v["output"] = f.RawOutput
	if len(f.Deadlines) > 0 {
		v["deadline"] = timeValue(f.Deadlines[0].At)
	}
	return v
}

// extendedTask returns the task that f extends, or f itself outside extensions.
func (m *machine) extendedTask(f *taskFrame) *taskFrame {
	if f == nil {
		return nil
	}
	for g := range m.s.ancestors(f) {
		if list, ok := g.(*listFrame); ok && list.Parent != 0 && m.listOf(list).absolute {
			return m.s.task(list.Parent)
		}
	}
	return f
}

// workflow returns $workflow.
func (m *machine) workflow() any {
	if m.workflowValue == nil {
		m.workflowValue = map[string]any{
			"id": m.s.ID, "definition": m.p.definitions[""], "input": m.s.Input, "startedAt": timeValue(m.s.StartedAt),
		}
		if first := earliest(m.s.Deadlines); !first.IsZero() {
			m.workflowValue["deadline"] = timeValue(first)
		}
		m.workflowValue["timeouts"] = timeoutsValue(m.s.Deadlines)
	}
	return m.workflowValue
}

// timeoutsValue returns $workflow.timeouts: for the execution and for the run, the timeout that ends first, with its duration in seconds and its end.
// A missing timeout is null (semantics 2.12).
func timeoutsValue(all []Deadline) map[string]any {
	value := map[string]any{"execution": nil, "run": nil}
	for name, deadlines := range map[string][]Deadline{
		"execution": slices.DeleteFunc(slices.Clone(all), func(d Deadline) bool { return d.Kind == DeadlineRun }),
		"run":       slices.DeleteFunc(slices.Clone(all), func(d Deadline) bool { return d.Kind != DeadlineRun }),
	} {
		if len(deadlines) > 0 {
			first := slices.MinFunc(deadlines, func(a, b Deadline) int { return a.At.Compare(b.At) })
			value[name] = map[string]any{"seconds": first.At.Sub(first.StartedAt).Seconds(), "deadline": timeValue(first.At)}
		}
	}
	return value
}

// runtime returns $runtime: the descriptor of the host, and the options of the run's start.
func (m *machine) runtime() any {
	if m.p.config.Runtime == nil {
		return nil
	}
	if m.runtimeValue == nil {
		m.runtimeValue = maps.Clone(m.p.config.Runtime)
		m.runtimeValue["metadata"] = m.s.redact.EscapeReferences(m.s.metadata())
	}
	return m.runtimeValue
}

// timeValue is the DSL's date and time descriptor.
func timeValue(t time.Time) map[string]any {
	return map[string]any{
		"iso8601": t.UTC().Format(time.RFC3339Nano),
		"epoch":   map[string]any{"seconds": int(t.Unix()), "milliseconds": int(t.UnixMilli())},
	}
}
