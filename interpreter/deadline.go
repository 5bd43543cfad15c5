package interpreter

import (
	"slices"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
)

// Deadline is when a scope ends, whatever it is doing. It is set once, when the scope starts.
type Deadline struct {
	Kind      string    `json:"kind"` // workflow, task, attempt (limit.attempt.duration) or retry (limit.duration)
	At        time.Time `json:"at"`
	StartedAt time.Time `json:"startedAt"`
}

func newDeadline(kind string, d dsl.Duration, now time.Time) Deadline {
	return Deadline{Kind: kind, At: d.AddTo(now), StartedAt: now}
}

// error returns the timeout error of a scope at pointer, in which the tasks at running were in progress.
func (d Deadline) error(pointer dsl.Pointer, running []any) *errors.Error {
	scope := map[string]string{
		"workflow": "the workflow", "task": "the task", "attempt": "the attempt", "retry": "the task with its retries",
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
	if d := m.s.Deadline; d != nil && !m.now.Before(d.At) {
		m.fault(d.error("", m.running(nil)))
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
