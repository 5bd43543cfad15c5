package interpreter

import (
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/duration"
)

// Deadline is the time at which a scope ends, even if work in it is in progress. It is set when the scope starts. Only SetDeadline changes it later.
type Deadline struct {
	Kind      string    `json:"kind"` // one of DeadlineWorkflow...
	At        time.Time `json:"at"`
	StartedAt time.Time `json:"startedAt"`
	// Fixed reports that the deadline was given as a point in time and not as a duration.
	Fixed bool `json:"fixed,omitempty"`
	// Inherited reports that the deadline belongs to a scope in the run that waits for this one. It can only be changed in that run.
	Inherited bool `json:"inherited,omitempty"`
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

// DeadlineKinds returns them all.
func DeadlineKinds() []string {
	return []string{DeadlineWorkflow, DeadlineExecution, DeadlineRun, DeadlineTask, DeadlineAttempt, DeadlineRetry}
}

func (d *Deadline) stored(o *object) {
	text(o, "k", &d.Kind)
	o.instant("a", &d.At)
	o.instant("s", &d.StartedAt)
	o.flag("f", &d.Fixed)
	o.flag("p", &d.Inherited)
}

func newDeadline(kind string, d dsl.Duration, now time.Time) Deadline {
	return Deadline{Kind: kind, At: d.AddTo(now), StartedAt: now}
}

// error returns the timeout error of the scope at pointer. running holds the pointers of the tasks in progress inside it.
func (d Deadline) error(pointer dsl.Pointer, running []any) *errors.Error {
	scope := map[string]string{
		DeadlineWorkflow: "the workflow", DeadlineExecution: "the workflow", DeadlineRun: "the run", DeadlineTask: "the task",
		DeadlineAttempt: "the attempt", DeadlineRetry: "the task with its retries",
	}[d.Kind]
	text := "within " + duration.Format(d.At.Sub(d.StartedAt))
	if d.Fixed {
		text = "by " + d.At.UTC().Format(time.RFC3339Nano)
	}
	e := errors.Timeoutf("%s did not finish %s", scope, text).At(pointer.Instance())
	e.Extensions = map[string]any{
		MemberTimeoutKind: d.Kind,
		"startedAt":       d.StartedAt.UTC().Format(time.RFC3339Nano),
		"deadline":        d.At.UTC().Format(time.RFC3339Nano),
		"running":         running,
	}
	return e
}

// expire ends every scope whose time is over, from the outermost scope to the innermost. It reports whether the run continues.
func (m *machine) expire() bool {
	if at := firstPassed(m.s.Deadlines, m.present()); at >= 0 {
		m.noteLateBefore(m.s.Deadlines[at].At)
		m.expired, m.expiredKind = m.timeout(m.s.Deadlines[at], nil), m.s.Deadlines[at].Kind
		m.fault(m.expired)
		return false
	}
	// A timeout may start a catch, but nothing whose deadline has already passed. Therefore the loop ends.
	for f, d := m.overdue(); f != nil; f, d = m.overdue() {
		m.noteLateBefore(d.At)
		m.fail(f, m.expiry(f, d))
		if m.s.Status.Final() {
			return false
		}
	}
	return true
}

// present is the time that decides whether a deadline has passed.
func (m *machine) present() time.Time {
	if m.came.IsZero() {
		return m.now
	}
	return m.came
}

// overdue returns a scope whose deadline has passed. It prefers a scope whose timeout ends the run, because no try can catch that timeout. Otherwise
// it returns the outermost scope: parents come before their children, so that the first match is never inside a later match.
func (m *machine) overdue() (outermost frame, passed Deadline) {
	var looked frame // the first deadline of a scope that has passed decides for the scope
	for f, d := range m.s.deadlines() {
		if f == nil || m.present().Before(d.At) || f == looked {
			continue
		}
		looked = f
		if m.endsRun(f, d) {
			return f, d
		}
		if outermost == nil {
			outermost, passed = f, d
		}
	}
	return outermost, passed
}

// expiry returns the timeout error of d, a deadline of f that has passed. After the call, timeoutKind recognizes this error.
func (m *machine) expiry(f frame, d Deadline) *errors.Error {
	m.expired, m.expiredKind = m.timeout(d, f), d.Kind
	return m.expired
}

// timeout returns the timeout error of a scope (nil for the workflow), with the work in progress inside it.
func (m *machine) timeout(d Deadline, scope frame) *errors.Error {
	at := dsl.Pointer("")
	if scope != nil {
		at = scope.common().pointer()
	}
	inside := m.inside(scope)
	e := d.error(at, running(inside))
	var listening []any
	for _, f := range inside {
		if task, ok := f.(*taskFrame); ok && task.Listens != nil {
			listening = append(listening, m.listening(task).value())
		}
	}
	if listening != nil {
		e.Extensions["listening"] = listening
	}
	return m.withCall(e, inside)
}

// timeoutKind returns the kind of the deadline that caused err; empty if err is not the timeout error of this step.
func (m *machine) timeoutKind(err *errors.Error) string {
	if err != nil && err == m.expired {
		return m.expiredKind
	}
	return ""
}

// errorAt returns err in the form in which the scope at pointer passes it to its parent.
func (m *machine) errorAt(err *errors.Error, pointer dsl.Pointer) *errors.Error {
	visible := m.visibleError(err.At(pointer.Instance()))
	if m.timeoutKind(err) != "" {
		m.expired = visible
	}
	return visible
}

// endsRun reports whether a timeout of f by d ends the run: no try around f can catch it, regardless of the values of expressions.
func (m *machine) endsRun(f frame, d Deadline) bool { return m.catcher(f, d) == nil }

// catcher returns the innermost task around f that may catch a timeout of f by d, depending on the values of expressions; nil if no task can.
func (m *machine) catcher(f frame, d Deadline) *taskFrame {
	err := m.visibleError(d.error(f.common().pointer(), nil))
	for parent := range m.s.ancestors(f) {
		list := "" // the list of parent that the error comes from
		if l, ok := f.(*listFrame); ok {
			list = l.ListName
		}
		if task, ok := parent.(*taskFrame); ok && task.Phase == PhaseBody {
			if catcher, ok := task.node.body.(Catcher); ok && catcher.MayCatch(list, err) {
				return task
			}
		}
		f = parent
	}
	return nil
}

// LatestEnd returns the latest time at which the run times out: the earliest of its own deadlines and of the task deadlines whose timeout no try can
// catch. It is zero if there is no such deadline. After any other deadline the run continues.
func LatestEnd(p *Program, s *State) time.Time {
	m := &machine{p: p, s: s}
	m.resolveNodes()
	end := time.Time{}
	for f, d := range s.deadlines() {
		if Earlier(end, d.At) != end && (f == nil || m.endsRun(f, d)) {
			end = d.At
		}
	}
	return end
}

// ActiveDeadline is a deadline of a scope that is in progress.
type ActiveDeadline struct {
	Deadline
	Pointer dsl.Pointer // of the scope as errors show it; empty for the workflow
	Origin  dsl.Pointer // place in the document
	EndsRun bool        // no try can catch its timeout, so that it ends the run: see LatestEnd
}

// Error returns the timeout error that d raises when it passes.
func (d ActiveDeadline) Error() *errors.Error { return d.Deadline.error(d.Pointer, nil) }

// ActiveDeadlines returns every active deadline of a run, the earliest first; of two at the same time, the outer one first.
func ActiveDeadlines(p *Program, s *State) []ActiveDeadline {
	if s.Status.Final() {
		return nil
	}
	m := &machine{p: p, s: s}
	m.resolveNodes()
	var all []ActiveDeadline
	for f, d := range s.deadlines() {
		active := ActiveDeadline{Deadline: d, EndsRun: true}
		if f != nil {
			c := f.common()
			active.Pointer, active.Origin, active.EndsRun = c.pointer(), c.Origin, m.endsRun(f, d)
		}
		all = append(all, active)
	}
	sortDeadlines(all)
	return all
}

// StateAtStart turns the state of a run that has not started into the state of a run that began and did nothing yet: its deadlines are active. The
// error explains why the workflow's timeout cannot be evaluated.
func StateAtStart(p *Program, s *State, ev Start) (*State, *errors.Error) {
	m := &machine{p: p, s: s, now: ev.StartedAt}
	m.scope.m, s.redact = m, p.redactions()
	ev.Input = s.redact.EscapeReferences(ev.Input)
	s.Input, s.Depth = ev.Input, ev.Depth
	err := m.armWorkflow(ev)
	return s, err
}

// firstPassed returns the index of the earliest deadline that has passed at now, or -1.
func firstPassed(all []Deadline, now time.Time) int {
	found := -1
	for i, d := range all {
		if !now.Before(d.At) && (found < 0 || d.At.Before(all[found].At)) {
			found = i
		}
	}
	return found
}

// earliest returns the time of the earliest deadline; zero if the list is empty.
func earliest(all []Deadline) (first time.Time) {
	for _, d := range all {
		first = Earlier(first, d.At)
	}
	return first
}

// Earlier returns the earlier of two times; the zero time means never.
func Earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// inside returns the frames of a scope: f and all frames below it, or all frames of the run if f is nil.
func (m *machine) inside(f frame) (all []frame) {
	ids := map[FrameID]bool{}
	for _, g := range m.s.frames {
		if c := g.common(); f == nil || g == f || ids[c.Parent] {
			ids[c.ID] = true
			all = append(all, g)
		}
	}
	return all
}

// running returns the pointers of the innermost tasks among some frames.
func running(frames []frame) []any {
	parents := map[FrameID]bool{}
	for _, f := range frames {
		parents[f.common().Parent] = true
	}
	pointers := []any{}
	for _, f := range frames {
		if task, ok := f.(*taskFrame); ok && !parents[task.ID] {
			pointers = append(pointers, string(task.pointer()))
		}
	}
	return pointers
}
