package interpreter

import (
	"slices"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
)

// Deadline is when a scope ends, whatever it is doing. It is set once, when the scope starts.
type Deadline struct {
	Kind      string    `json:"kind"` // one of DeadlineWorkflow...
	At        time.Time `json:"at"`
	StartedAt time.Time `json:"startedAt"`
	// Fixed says that a point in time was asked for, and not a length.
	Fixed bool `json:"fixed,omitempty"`
}

// The kinds of deadlines.
const (
	DeadlineWorkflow  = "workflow"  // the document's timeout
	DeadlineExecution = "execution" // a start option: the whole execution
	DeadlineRun       = "run"       // a start option: one run of it
	DeadlineTask      = "task"
	DeadlineAttempt   = "attempt" // limit.attempt.duration of a retry policy
	DeadlineRetry     = "retry"   // limit.duration of a retry policy
)

func (d *Deadline) stored(o *object) {
	text(o, "k", &d.Kind)
	o.instant("a", &d.At)
	o.instant("s", &d.StartedAt)
	o.flag("f", &d.Fixed)
}

func newDeadline(kind string, d dsl.Duration, now time.Time) Deadline {
	return Deadline{Kind: kind, At: d.AddTo(now), StartedAt: now}
}

// error returns the timeout error of a scope at pointer, in which the tasks at running were in progress.
func (d Deadline) error(pointer dsl.Pointer, running []any) *errors.Error {
	scope := map[string]string{
		DeadlineWorkflow: "the workflow", DeadlineExecution: "the workflow", DeadlineRun: "the run", DeadlineTask: "the task",
		DeadlineAttempt: "the attempt", DeadlineRetry: "the task with its retries",
	}[d.Kind]
	text := "within " + dsl.Span(d.At.Sub(d.StartedAt))
	if d.Fixed {
		text = "by " + d.At.UTC().Format(time.RFC3339Nano)
	}
	e := errors.Timeoutf("%s did not finish %s", scope, text).At(pointer.Instance())
	e.Extensions = map[string]any{
		"timeoutKind": d.Kind,
		"startedAt":   d.StartedAt.UTC().Format(time.RFC3339Nano),
		"deadline":    d.At.UTC().Format(time.RFC3339Nano),
		"running":     running,
	}
	return e
}

// expire ends every scope whose time is over, from the outside in. It reports whether the run goes on.
func (m *machine) expire() bool {
	if at := firstPassed(m.s.Deadlines, m.now); at >= 0 {
		m.expired, m.expiredKind = m.s.Deadlines[at].error("", m.running(nil)), m.s.Deadlines[at].Kind
		m.fault(m.expired)
		return false
	}
	// What an expiry starts (a catch) is new and in time, hence the loop ends.
	for f, d := m.overdue(); f != nil; f, d = m.overdue() {
		m.fail(f, m.expiry(f, d))
		if m.s.Status.Final() {
			return false
		}
	}
	return true
}

// overdue returns a scope whose time is over: one whose end is the end of the run, since no try can take it, otherwise
// the outermost. A parent stands before its children, so the first match is never inside a later one.
func (m *machine) overdue() (outermost frame, passed Deadline) {
	for _, f := range m.s.frames {
		all := f.common().Deadlines
		at := slices.IndexFunc(all, func(d Deadline) bool { return !m.now.Before(d.At) })
		if at < 0 {
			continue
		}
		if m.endsRun(f, all[at]) {
			return f, all[at]
		}
		if outermost == nil {
			outermost, passed = f, all[at]
		}
	}
	return outermost, passed
}

// expiry returns the error of a deadline of f that has passed.
func (m *machine) expiry(f frame, d Deadline) *errors.Error {
	m.expired, m.expiredKind = d.error(f.common().pointer(), m.running(f)), d.Kind
	return m.expired
}

// timeoutKind returns the kind of the deadline whose passing err is; empty for any other error.
func (m *machine) timeoutKind(err *errors.Error) string {
	if err != nil && err == m.expired {
		return m.expiredKind
	}
	return ""
}

// errorAt returns err as it goes up from a scope at pointer.
func (m *machine) errorAt(err *errors.Error, pointer dsl.Pointer) *errors.Error {
	located := m.visibleError(err.At(pointer.Instance()))
	if m.timeoutKind(err) != "" {
		m.expired = located
	}
	return located
}

// endsRun reports whether the passing of a deadline of f ends the run, whatever expressions say.
func (m *machine) endsRun(f frame, d Deadline) bool {
	err := m.visibleError(d.error(f.common().pointer(), nil))
	for parent := range m.s.ancestors(f) {
		list := "" // that the error comes out of
		if l, ok := f.(*listFrame); ok {
			list = l.ListName
		}
		if task, ok := parent.(*taskFrame); ok && task.Phase == PhaseBody {
			if catcher, ok := task.node.body.(Catcher); ok && catcher.MayCatch(list, err) {
				return false
			}
		}
		f = parent
	}
	return true
}

// LatestEnd returns when, at the latest, the run ends because its time is over: the first deadline of its own, or of a task
// around which no try could take it. It is zero if there is none. Other deadlines lead to work; these do not.
func LatestEnd(p *Program, s *State) time.Time {
	m := &machine{p: p, s: s}
	m.resolveNodes()
	end := earliest(s.Deadlines)
	for _, f := range s.frames {
		for _, d := range f.common().Deadlines {
			if earlier(end, d.At) != end && m.endsRun(f, d) {
				end = d.At
			}
		}
	}
	return end
}

// StateAtStart returns the state of a run just after it has begun, without doing anything of it: its deadlines are in force.
// The error is why they cannot be told.
func StateAtStart(p *Program, namespace, id string, ev Start) (*State, *errors.Error) {
	s := NewState(namespace, id)
	m := &machine{p: p, s: s, now: ev.StartedAt}
	m.scope.m, s.redact = m, p.redactions()
	ev.Input = s.redact.EscapeReferences(ev.Input)
	s.Input, s.Depth = ev.Input, ev.Depth
	err := m.armWorkflow(ev)
	return s, err
}

// firstPassed returns which of some deadlines has passed first at a time, or -1.
func firstPassed(all []Deadline, now time.Time) int {
	found := -1
	for i, d := range all {
		if !now.Before(d.At) && (found < 0 || d.At.Before(all[found].At)) {
			found = i
		}
	}
	return found
}

// earliest returns when the first of some deadlines passes; zero if there is none.
func earliest(all []Deadline) (first time.Time) {
	for _, d := range all {
		first = earlier(first, d.At)
	}
	return first
}

// earlier returns the earlier of two times, of which zero is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// running returns the pointers of the innermost tasks in progress inside f, or in the whole run for nil.
func (m *machine) running(f frame) []any {
	inside := map[FrameID]bool{}
	parents := map[FrameID]bool{}
	var tasks []*taskFrame
	for _, g := range m.s.frames {
		if c := g.common(); f == nil || g == f || inside[c.Parent] {
			inside[c.ID] = true
			parents[c.Parent] = true
			if task, ok := g.(*taskFrame); ok {
				tasks = append(tasks, task)
			}
		}
	}
	pointers := []any{}
	for _, g := range tasks {
		if !parents[g.ID] {
			pointers = append(pointers, string(g.pointer()))
		}
	}
	return pointers
}
