package faultreport

import (
	"strconv"
	"strings"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
)

// History contains the parts of a run's records that the report of its end needs. Its size does not grow with the run.
type History struct {
	tasks   bool                                 // a task has started or was skipped
	retries map[interpreter.Path][]time.Duration // delays, by the path of a try in progress
	faults  []interpreter.HistoryEvent           // path of the error at hand, innermost task first
}

// shownRetries is the maximum number of kept delays of one try.
const shownRetries = 8

// NewHistory returns a History without records.
func NewHistory() *History { return &History{retries: map[interpreter.Path][]time.Duration{}} }

// TasksStarted reports whether the run has started any task.
func (h *History) TasksStarted() bool { return h.tasks }

// Observe records the next history event of the run.
func (h *History) Observe(r interpreter.HistoryEvent) {
	switch r.Type {
	case interpreter.TaskStarted, interpreter.TaskSkipped:
		h.tasks = true
	case interpreter.TaskCompleted, interpreter.TaskCancelled:
		if len(h.retries) > 0 {
			delete(h.retries, r.Path)
		}
	case interpreter.ErrorCaught:
		h.faults = nil
	case interpreter.RetryScheduled:
		delays := append(h.retries[r.Path], r.Until.Sub(r.At))
		h.retries[r.Path] = delays[max(0, len(delays)-shownRetries):]
	case interpreter.TaskFaulted:
		if n := len(h.faults); n > 0 && !sameError(h.faults[n-1].Error, r.Error) {
			h.faults = nil
		}
		r.Data = nil
		h.faults = append(h.faults, r)
	}
}

func sameError(a, b *errors.Error) bool {
	return a == b || a != nil && b != nil && a.Type == b.Type && a.Instance == b.Instance && a.Detail == b.Detail
}

// origin returns the innermost task of the error err, and whether it is known.
func (h *History) origin(err *errors.Error) (interpreter.HistoryEvent, bool) {
	if len(h.faults) == 0 || !sameError(h.faults[0].Error, err) {
		return interpreter.HistoryEvent{}, false
	}
	return h.faults[0], true
}

// attempts are the known retries around a task.
type attempts struct {
	number int // of the last attempt, from 1
	delays []time.Duration
	try    dsl.Pointer // of the innermost try that retried
}

// attemptsOf returns the attempts of the innermost retried try around r. A number of 0 means that nothing was retried.
func (h *History) attemptsOf(r interpreter.HistoryEvent) attempts {
	path := string(r.Path)
	i := strings.LastIndexByte(path, '!')
	if i < 0 {
		return attempts{}
	}
	digits := path[i+1:]
	if end := strings.IndexFunc(digits, func(c rune) bool { return c < '0' || c > '9' }); end >= 0 {
		digits = digits[:end]
	}
	n, _ := strconv.Atoi(digits) // a path contains only digits there
	a := attempts{number: n + 1, delays: h.retries[interpreter.Path(path[:i])]}
	for _, f := range h.faults {
		if f.Kind == dsl.KindTry && string(f.Path) == path[:i] {
			a.try = f.Place()
		}
	}
	return a
}
