package main

import (
	"strconv"
	"strings"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
)

// trail is what the report of a run's end needs of the run's records. Its size does not grow with the run.
type trail struct {
	tasks   bool                                 // a task has started or was passed over
	caught  int                                  // errors
	retries map[interpreter.Path][]time.Duration // delays, by the path of a try in progress
	faults  []interpreter.HistoryEvent           // how the error at hand travelled, innermost task first
}

// shownRetries bounds how many delays are kept of one try.
const shownRetries = 8

func newTrail() *trail { return &trail{retries: map[interpreter.Path][]time.Duration{}} }

func (t *trail) observe(r interpreter.HistoryEvent) {
	switch r.Type {
	case interpreter.TaskStarted, interpreter.TaskSkipped:
		t.tasks = true
	case interpreter.TaskCompleted, interpreter.TaskCancelled:
		if len(t.retries) > 0 {
			delete(t.retries, r.Path)
		}
	case interpreter.ErrorCaught:
		t.caught++
		t.faults = nil
	case interpreter.RetryScheduled:
		delays := append(t.retries[r.Path], r.Until.Sub(r.At))
		t.retries[r.Path] = delays[max(0, len(delays)-shownRetries):]
	case interpreter.TaskFaulted:
		if n := len(t.faults); n > 0 && !sameError(t.faults[n-1].Error, r.Error) {
			t.faults = nil
		}
		r.Data = nil
		t.faults = append(t.faults, r)
	}
}

func sameError(a, b *errors.Error) bool {
	return a == b || a != nil && b != nil && a.Type == b.Type && a.Instance == b.Instance && a.Detail == b.Detail
}

// origin returns the innermost task that the error err came from, and whether it is known.
func (t *trail) origin(err *errors.Error) (interpreter.HistoryEvent, bool) {
	if len(t.faults) == 0 || !sameError(t.faults[0].Error, err) {
		return interpreter.HistoryEvent{}, false
	}
	return t.faults[0], true
}

// attempts is what is known of the retries around a task.
type attempts struct {
	number int // of the last attempt, from 1
	delays []time.Duration
	try    dsl.Pointer // of the innermost try that retried
}

// attemptsOf returns the attempts of the innermost retried try around r. A number of 0 means that nothing was retried.
func (t *trail) attemptsOf(r interpreter.HistoryEvent) attempts {
	path := string(r.Path)
	i := strings.LastIndexByte(path, '!')
	if i < 0 {
		return attempts{}
	}
	digits := path[i+1:]
	if end := strings.IndexFunc(digits, func(c rune) bool { return c < '0' || c > '9' }); end >= 0 {
		digits = digits[:end]
	}
	n, _ := strconv.Atoi(digits) // a path holds nothing but digits there
	a := attempts{number: n + 1, delays: t.retries[interpreter.Path(path[:i])]}
	for _, f := range t.faults {
		if f.Kind == dsl.KindTry && string(f.Path) == path[:i] {
			a.try = f.Place()
		}
	}
	return a
}
