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

func newDeadline(kind string, d dsl.Duration, now time.Time) Deadline {
	return Deadline{Kind: kind, At: d.AddTo(now), StartedAt: now}
}

// error returns the timeout error of a scope at pointer, in which the tasks at running were in progress.
func (d Deadline) error(pointer dsl.Pointer, running []any) *errors.Error {
	scope := map[string]string{
		DeadlineWorkflow: "the workflow", DeadlineExecution: "the workflow", DeadlineRun: "the run", DeadlineTask: "the task",
		DeadlineAttempt: "the attempt", DeadlineRetry: "the task with its retries",
	}[d.Kind]
	e := errors.Timeoutf("%s did not finish within %s", scope, d.At.Sub(d.StartedAt)).At(pointer.Instance())
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
	if at := m.passed(m.s.Deadlines); at >= 0 {
		m.fault(m.s.Deadlines[at].error("", m.running(nil)))
		return false
	}
	// A parent stands before its children, so the first match is never inside a later one. What an expiry starts
	// (a catch) is new and in time, hence the scan ends.
	for i := 0; i < len(m.s.frames); {
		f := m.s.frames[i]
		at := slices.IndexFunc(f.Deadlines, func(d Deadline) bool { return !m.now.Before(d.At) })
		if at < 0 {
			i++
			continue
		}
		err := f.Deadlines[at].error(f.pointer(), m.running(f))
		m.fail(f, err)
		if m.s.Status.Final() {
			return false
		}
		i = 0
	}
	return true
}

// passed returns which of some deadlines has passed first, or -1.
func (m *machine) passed(all []Deadline) int {
	found := -1
	for i, d := range all {
		if !m.now.Before(d.At) && (found < 0 || d.At.Before(all[found].At)) {
			found = i
		}
	}
	return found
}

// earliest returns when the first of some deadlines passes; zero if there is none.
func earliest(all []Deadline) (first time.Time) {
	for _, d := range all {
		if first.IsZero() || d.At.Before(first) {
			first = d.At
		}
	}
	return first
}

// running returns the pointers of the innermost tasks in progress inside f, or in the whole run for nil.
func (m *machine) running(f *Frame) []any {
	inside := map[FrameID]bool{}
	parents := map[FrameID]bool{}
	var tasks []*Frame
	for _, g := range m.s.frames {
		if f == nil || g == f || inside[g.Parent] {
			inside[g.ID] = true
			parents[g.Parent] = true
			if !g.isList() {
				tasks = append(tasks, g)
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
