package interpreter

import (
	"encoding/json"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
)

// Scope is the view of a body on the task that it runs for. It is valid during one call and must not be kept. It is the environment (expr.Env) of the
// task's expressions.
type Scope struct {
	m     *machine
	frame *taskFrame // nil for the workflow itself
	owner frame      // where the search for variables begins

	input, output any  // $input and $output at this point of the task's protocol
	readsSecret   bool // an expression has used a secret
	confidential  bool // the request contains a secret, or names one
	bound         Vars // variables that only this scope sees
	work          int  // units that its expressions and schemas have taken
}

// Input returns the task's transformed input.
func (s *Scope) Input() any { return s.frame.Input }

// Now returns the time of the step.
func (s *Scope) Now() time.Time { return s.m.now }

// StartedAt returns when the task started.
func (s *Scope) StartedAt() time.Time { return s.frame.StartedAt }

// Workflow returns the document.
func (s *Scope) Workflow() *dsl.Workflow { return s.m.p.Workflow }

// Eval evaluates a template for input. The template must not be nil: the task decides the meaning of an absent property.
func (s *Scope) Eval(t *expr.Template, input any) (any, *errors.Error) {
	if s.work > expr.MaxCombinedWork {
		return nil, expr.CombinedWorkError()
	}
	v, err := t.Eval(s, input)
	if err != nil {
		return nil, s.evalError(err)
	}
	return v, nil
}

// EvalCondition evaluates a condition for input; an absent one (nil) yields ifAbsent.
func (s *Scope) EvalCondition(c *expr.Code, input any, ifAbsent bool) (bool, *errors.Error) {
	if c == nil {
		return ifAbsent, nil
	}
	if s.work > expr.MaxCombinedWork {
		return false, expr.CombinedWorkError()
	}
	ok, err := c.EvalCondition(s, input)
	if err != nil {
		return false, s.evalError(err)
	}
	return ok, nil
}

// CountWork counts work that was done for the task, in units of about a microsecond (see expr.WorkCounter).
func (s *Scope) CountWork(units int) {
	s.work += units
	s.m.work += units
}

// Place returns how evaluations that build much data get a place (see expr.Placed).
func (s *Scope) Place() expr.Place {
	return expr.Place{Of: s.m.p.config.Places, Namespace: s.m.s.Namespace, Waits: s.m.s.waits}
}

// Bind makes $name visible to the expressions that s evaluates until the body returns.
func (s *Scope) Bind(name string, value any) { s.bound = Vars{name: value} }

// EvalConditionWith evaluates a condition for input with further variables; an absent one (nil) is true.
func (s *Scope) EvalConditionWith(c *expr.Code, input any, vars Vars) (bool, *errors.Error) {
	s.bound = vars
	holds, err := s.EvalCondition(c, input, true)
	s.bound = nil
	return holds, err
}

// RecordCaught adds to the history that the task has caught an error.
func (s *Scope) RecordCaught(err *errors.Error) {
	s.m.record(s.frame.event(HistoryEvent{Type: ErrorCaught, Error: err, CaughtBy: s.frame.pointer(), Timeout: s.m.timeoutKind(err)}))
}

// Retry waits until a time and then calls Wake. attempt is the number of the attempt in the history. failure is the error of the previous attempt: if
// a timeout passes during the wait, its error names the call that failure names.
func (s *Scope) Retry(attempt int, until time.Time, failure *errors.Error) Next {
	s.m.record(s.frame.event(HistoryEvent{Type: RetryScheduled, Attempt: attempt, Until: until}))
	return Next{kind: nextSleep, until: until, recorded: true, called: s.m.s.redact.Value(failure.Extensions[errors.MemberRequest])}
}

// CallDepth returns the number of function calls around the task.
func (s *Scope) CallDepth() int {
	calls := 0
	for f := range s.m.s.ancestors(s.frame) {
		if list, ok := f.(*listFrame); ok && list.ListName == callList {
			calls++
		}
	}
	return calls
}

// Depth returns the number of runs above this one: see State.Depth.
func (s *Scope) Depth() int { return s.m.s.Depth }

// BindAfter makes $name visible to the task's own output.as and export.as.
func (s *Scope) BindAfter(name string, value any) {
	if s.frame.Vars == nil {
		s.frame.Vars = Vars{}
	}
	s.frame.Vars[name] = value
	s.frame.changed()
}

// Context returns $context as the task sees it.
func (s *Scope) Context() any { return *s.m.context(s.frame) }

// SetContext replaces $context as the task sees it.
func (s *Scope) SetContext(v any) { s.m.setContext(s.frame, v) }

// BranchContext returns the context of a branch that just ended.
func (s *Scope) BranchContext(c Child) any { return c.context }

// Secret returns a secret that the workflow declares; any other is an authorization error.
func (s *Scope) Secret(name string) (any, *errors.Error) {
	s.confidential = true
	return s.m.secret(name)
}

// AddDeadline gives the task a further deadline, d from now, for example the deadline of a retry policy; kind names it in the error.
func (s *Scope) AddDeadline(kind string, d dsl.Duration) {
	s.frame.Deadlines = append(s.frame.Deadlines, newDeadline(kind, d, s.m.now))
	s.frame.changed()
}

// Random returns a number in [0, 1) that is always the same for this occurrence and salt.
func (s *Scope) Random(salt string) float64 { return s.m.s.random(s.frame.Path, salt) }

// UUID returns a UUID that is always the same for this occurrence.
func (s *Scope) UUID() string { return s.m.s.uuid(s.frame.Path) }

// Progress returns the body's own progress in this task, which starts as a zero T. Its target is saved with the task: T must survive JSON, and must
// use Value for data of the workflow. Call Changed after writing to it.
func Progress[T any](s *Scope) *T {
	switch p := s.frame.Progress.(type) {
	case *T:
		return p
	case json.RawMessage:
		t := new(T)
		if err := json.Unmarshal(p, t); err != nil {
			panic("progress of " + string(s.frame.Path) + " is of another kind: " + err.Error())
		}
		s.frame.Progress = t
		return t
	}
	t := new(T)
	s.frame.Progress = t
	return t
}

// Changed marks the body's progress as written.
func (s *Scope) Changed() { s.frame.changed() }

// Value is data of the workflow inside a Progress: it keeps numbers exact.
type Value struct{ V any }

// MarshalJSON writes the value.
func (v Value) MarshalJSON() ([]byte, error) { return expr.Encode(v.V) }

// UnmarshalJSON reads the output of MarshalJSON.
func (v *Value) UnmarshalJSON(data []byte) error {
	decoded, err := expr.Decode(data)
	v.V = decoded
	return err
}
