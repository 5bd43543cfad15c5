package progress

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/duration"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/interpreter"
)

// tree contains the tasks of a run in their order, built from its records. Finished parts of long loops are dropped and only counted, so that its
// size is limited.
type tree struct {
	workflow *dsl.Workflow
	root     occurrence
	open     map[interpreter.Path]*occurrence // in progress
	faulted  []*occurrence                    // tasks that the error at hand ended, innermost first
	caught   int
	at       time.Time // of the last record
}

// occurrence is one task that ran, or is in progress.
type occurrence struct {
	path     interpreter.Path
	label    string
	kind     dsl.Kind
	state    taskState
	started  time.Time
	ended    time.Time
	deadline time.Time  // zero if the task has no timeout
	waits    time.Time  // end of its wait; zero if it does not wait
	retry    int        // the next attempt of a waiting try
	note     string     // the error and its consequence, or the reason why nothing ran
	listens  *listening // nil if it does not listen
	parent   *occurrence
	children []*occurrence
	over     int // finished children that are kept
	dropped  int // finished children that are dropped
}

type taskState uint8

const (
	stateRunning taskState = iota
	stateCompleted
	stateFaulted
	stateCancelled
	stateSkipped
)

// The maximum number of kept finished children of one task; children of a loop look alike.
const (
	keptChildren = 40
	keptPasses   = 12
)

func newTree(w *dsl.Workflow) *tree {
	return &tree{workflow: w, open: map[interpreter.Path]*occurrence{}}
}

func (t *tree) observe(r interpreter.HistoryEvent) {
	t.at = r.At
	o := t.open[r.Path]
	if r.Kind == "" {
		return
	}
	switch r.Type {
	case interpreter.TaskStarted:
		t.add(r, stateRunning).listens = listeningAt(t.workflow, r.Place())
	case interpreter.TaskSkipped:
		t.add(r, stateSkipped).note = "skipped: its `if` is false"
		delete(t.open, r.Path)
	case interpreter.ErrorCaught:
		t.catch(r)
	}
	if o == nil {
		return
	}
	switch r.Type {
	case interpreter.EventConsumed:
		if o.listens != nil {
			o.listens.came++
		}
	case interpreter.TaskWaiting:
		o.waits, o.retry = r.Until, 0
	case interpreter.RetryScheduled:
		o.waits, o.retry = r.Until, r.Attempt
		t.retried(r)
	case interpreter.TaskCompleted:
		t.close(o, stateCompleted, r.At)
	case interpreter.TaskCancelled:
		t.close(o, stateCancelled, r.At)
	case interpreter.TaskFaulted:
		t.fault(o, r)
	}
}

func (t *tree) add(r interpreter.HistoryEvent, state taskState) *occurrence {
	parent, rest := t.parentOf(r.Path)
	o := &occurrence{
		path: r.Path, label: label(r.Pointer, rest), kind: r.Kind, state: state, started: r.At, ended: r.At, deadline: r.Until,
	}
	parent.waits = time.Time{} // a retrying try no longer waits
	o.parent = parent
	parent.children = append(parent.children, o)
	if state != stateRunning {
		parent.isOver()
	}
	t.open[r.Path] = o
	return o
}

// parentOf returns the innermost task in progress around path, and the rest of the path.
func (t *tree) parentOf(path interpreter.Path) (*occurrence, string) {
	s := string(path)
	for i := len(s) - 1; i > 0; i-- {
		if strings.IndexByte("/![(", s[i]) < 0 {
			continue
		}
		if o := t.open[interpreter.Path(s[:i])]; o != nil {
			return o, s[i:]
		}
	}
	return &t.root, s
}

// label names an occurrence: charge, charge #2 for its second attempt, [3] charge for a loop pass.
func label(p dsl.Pointer, rest string) string {
	name := taskName(p)
	slot, _, _ := strings.Cut(rest, "/")
	if loop, ok := strings.CutPrefix(slot, "["); ok {
		name = "[" + strings.TrimSuffix(loop, "]") + "] " + name
	}
	if retry, ok := strings.CutPrefix(slot, "!"); ok {
		n, _ := strconv.Atoi(retry) // a path contains only digits there
		name += fmt.Sprintf(" #%d", n+1)
	}
	if i := strings.LastIndexByte(rest, '+'); i > strings.LastIndexByte(rest, '/') {
		name += " (again)"
	}
	return name
}

// isOver counts a finished child. Above the limit, the oldest finished child is dropped: a successful one if possible. Tasks in progress are always
// kept.
func (o *occurrence) isOver() {
	o.over++
	kept := keptChildren
	if o.kind == dsl.KindFor {
		kept = keptPasses
	}
	if o.over <= kept {
		return
	}
	i := slices.IndexFunc(o.children, func(c *occurrence) bool { return c.state == stateCompleted || c.state == stateSkipped })
	if i < 0 && o.over > 4*keptChildren {
		i = slices.IndexFunc(o.children, func(c *occurrence) bool { return c.state != stateRunning })
	}
	if i >= 0 {
		o.children = slices.Delete(o.children, i, i+1)
		o.dropped, o.over = o.dropped+1, o.over-1
	}
}

func (t *tree) close(o *occurrence, state taskState, at time.Time) {
	o.state, o.ended, o.waits = state, at, time.Time{}
	delete(t.open, o.path)
	o.parent.isOver()
}

func (t *tree) fault(o *occurrence, r interpreter.HistoryEvent) {
	if len(t.faulted) > 0 && !strings.HasPrefix(string(t.faulted[len(t.faulted)-1].path), string(o.path)) {
		t.faulted = nil
	}
	if len(t.faulted) == 0 {
		o.note = shortError(r)
	}
	t.faulted = append(t.faulted, o)
	t.close(o, stateFaulted, r.At)
}

// catch adds the place of the catch to the task that the error came from.
func (t *tree) catch(r interpreter.HistoryEvent) {
	t.caught++
	if len(t.faulted) == 0 {
		return
	}
	t.faulted[0].note += "  → caught by " + terminal.Printable(string(r.CaughtBy)) + " (catch: " + t.filter(r.Place()) + ")"
	t.faulted = nil
}

// retried adds the retry to the task that the error came from. Its record precedes the record of the catch.
func (t *tree) retried(r interpreter.HistoryEvent) {
	if len(t.faulted) == 0 {
		return
	}
	note := fmt.Sprintf("  → attempt %d", r.Attempt)
	if r.Until.After(r.At) {
		note += " after " + terminal.Elapsed(r.Until.Sub(r.At))
	}
	t.faulted[0].note += note
	t.faulted = nil
}

// filter describes the errors that a try catches.
func (t *tree) filter(p dsl.Pointer) string {
	try, _ := dsl.TaskAt(t.workflow, p).(*dsl.TryTask)
	if try == nil || try.Catch.Errors == nil {
		return "any error"
	}
	f := try.Catch.Errors
	switch {
	case f.Type != "":
		return terminal.Printable(errors.Name(f.Type))
	case f.Status != nil:
		return fmt.Sprintf("status %d", *f.Status)
	}
	return "by its filter"
}

// shortError describes the error of a record in a few words.
func shortError(r interpreter.HistoryEvent) string {
	e := r.Error
	if e == nil {
		return ""
	}
	if d, ok := api.TimeoutLength(e); ok && r.Timeout != "" {
		return "timed out after " + duration.Format(d)
	}
	text := terminal.Printable(shorten.To(errors.Name(e.Type), 60)) + fmt.Sprintf(" %d", e.Status)
	if e.Detail != "" {
		text += ": " + terminal.Printable(shorten.To(e.Detail, 80))
	} else if e.Title != "" {
		text += ": " + terminal.Printable(shorten.To(e.Title, 80))
	}
	return text
}

// taskName returns the name of the task at a pointer.
func taskName(p dsl.Pointer) string {
	tokens := p.Tokens()
	if len(tokens) == 0 {
		return "/"
	}
	return terminal.Printable(tokens[len(tokens)-1])
}
