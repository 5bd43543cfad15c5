package simulation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// auditOperated checks the work of operators.
func (w *world) auditOperated() {
	for _, r := range w.runs {
		h := w.history(r.instance)
		w.auditCommands(r, h)
		w.auditVersion(r, h)
		w.auditRetries(r, h)
		w.auditWorkflowDeadline(r, h)
	}
	for _, c := range w.copies {
		w.auditCopy(c)
	}
	for _, f := range w.forks {
		w.auditFork(f)
	}
}

// The content of a run's history.
type told struct {
	entries []client.HistoryEntry
	begun   map[dsl.Pointer]int // the number of times that each task began
}

func (w *world) history(i store.Instance) told {
	t := told{begun: map[dsl.Pointer]int{}}
	if _, err := w.client.History(context.Background(), i, 0, func(e client.HistoryEntry) error {
		t.entries = append(t.entries, e)
		for _, r := range e.Events {
			if r.Type == interpreter.TaskStarted {
				t.begun[r.Pointer]++
			}
		}
		return nil
	}); err != nil {
		w.problem("I2: the history of %s cannot be read: %s", i, err)
	}
	return t
}

// count counts the events of some types.
func (t told) count(types ...interpreter.HistoryEventType) (n int) {
	for _, e := range t.entries {
		for _, r := range e.Events {
			if slices.Contains(types, r.Type) {
				n++
			}
		}
	}
	return n
}

// auditCommands checks that no command is carried out more often than it was accepted (C1).
func (w *world) auditCommands(r *run, h told) {
	if w.kind != operated { // other operators give commands that are not counted
		return
	}
	before := told{begun: map[dsl.Pointer]int{}} // of a copy, from before the copy
	for _, c := range w.copies {
		if c.run == r {
			before.entries = h.entries[:min(len(h.entries), len(c.archive.History))]
		}
	}
	for verb, types := range map[store.Verb][]interpreter.HistoryEventType{
		store.VerbMigrate:  {interpreter.WorkflowMigrated, interpreter.WorkflowMigrationRefused},
		store.VerbRetryNow: {interpreter.WorkflowRetried},
		store.VerbDeadline: {interpreter.WorkflowDeadlineSet, interpreter.WorkflowDeadlineKept, interpreter.TaskDeadlineSet, interpreter.TaskDeadlineKept},
	} {
		most, ids := w.broughtAlong(r, verb), map[string]bool{}
		for _, c := range w.commands[r.instance] {
			if c.verb == verb && !ids[c.id] {
				ids[c.id] = true
				most++
			}
		}
		if done := h.count(types...) - before.count(types...); done > most {
			w.problem("C1: of %d commands %s to %s, %d were carried out", most, verb, r.id, done)
		}
	}
}

func (w *world) isCopy(r *run) bool {
	return slices.ContainsFunc(w.copies, func(c *copied) bool { return c.run == r })
}

// broughtAlong counts the commands of a kind in the inbox of a run at the time of its copy.
func (w *world) broughtAlong(r *run, verb store.Verb) (n int) {
	for _, c := range w.copies {
		if c.run == r {
			n += strings.Count(fmt.Sprintf("%s", c.archive.Messages), `"`+string(verb)+`"`)
		}
	}
	return n
}

// auditVersion checks that a run continues with the version of its migration, and with no other one (C2).
func (w *world) auditVersion(r *run, h told) {
	if !r.kind.migrates || !w.ended(r) {
		return
	}
	want, output := "1.0.0", `{"version":1}`
	if h.count(interpreter.WorkflowMigrated) > 0 {
		want, output = "2.0.0", `{"version":2}`
	}
	if got := w.version(r); got != want {
		w.problem("C2: %s has the version %s, its history says %s", r.id, got, want)
	}
	r.kind.output, r.kind.anyOutput = output, false
	w.auditRun(r)
}

// auditRetries checks that only an operator shortens a delay between attempts (I6).
func (w *world) auditRetries(r *run, h told) {
	var until time.Time
	for _, e := range h.entries {
		for _, event := range e.Events {
			switch {
			case event.Type == interpreter.RetryScheduled:
				until = event.Until
			case event.Type == interpreter.WorkflowRetried:
				until = time.Time{}
			case event.Type == interpreter.TaskStarted && e.CommittedAt.Before(until) && strings.Contains(string(event.Path), "!"):
				w.problem("I6: %s of %s began %s before its delay was over", event.Path, r.id, until.Sub(e.CommittedAt))
			}
		}
	}
}

// auditWorkflowDeadline checks that a run ends at its deadline, including a moved deadline, and not earlier (I6, I8).
func (w *world) auditWorkflowDeadline(r *run, h told) {
	var deadline time.Time
	for _, e := range h.entries {
		for _, event := range e.Events {
			switch event.Type {
			case interpreter.WorkflowStarted:
				for _, d := range event.Deadlines {
					deadline = interpreter.Earlier(deadline, d.At)
				}
			case interpreter.WorkflowDeadlineSet:
				deadline = event.Until
			case interpreter.WorkflowCompleted:
				if !deadline.IsZero() && !e.CommittedAt.Before(deadline) {
					w.problem("I8: %s was completed at %s, its deadline was %s", r.id, e.CommittedAt, deadline)
				}
			case interpreter.WorkflowFaulted:
				if event.Error != nil && event.Error.Status == 408 && e.CommittedAt.Before(deadline) {
					w.problem("I6: %s timed out %s early", r.id, deadline.Sub(e.CommittedAt))
				}
			}
		}
	}
}

// auditCopy checks that a copy contains everything of its original, and continued from there (I22).
func (w *world) auditCopy(c *copied) {
	stored, err := w.memory.History(context.Background(), c.run.instance, 0, len(c.archive.History))
	if err != nil || len(stored) != len(c.archive.History) {
		w.problem("I22: the history of %s had %d entries, and has %d: %v", c.run.id, len(c.archive.History), len(stored), err)
		return
	}
	for n, e := range stored {
		if e.String() != string(c.archive.History[n]) {
			w.problem("I22: entry %d of %s was\n%s\nand is\n%s", n, c.run.id, c.archive.History[n], e)
		}
	}
}

// auditFork checks that a fork begins at the requested task, that its origin is known, and that its origin is unchanged (I21).
func (w *world) auditFork(f *forked) {
	from := f.from.kind.forks.From
	if from == "" {
		from = "/do/2/b"
	}
	for _, c := range w.calls {
		if c.instance == f.run.instance && dsl.Pointer(c.path) < from && !strings.HasPrefix(string(c.path), string(from)) {
			w.problem("I21: %s has performed %s, which is before %s", f.run.id, c.path, from)
		}
	}
	if h := w.history(f.run.instance); h.count(interpreter.WorkflowForked) != 1 || h.count(interpreter.WorkflowStarted) != 1 {
		w.problem("I21: %s does not begin as a fork", f.run.id)
	}
	noted, err := w.client.Forks(context.Background(), f.from.instance)
	if err != nil || !slices.Equal(noted, []store.Instance{f.run.instance}) {
		w.problem("I21: %s is forked to %v, %v, instead of %s", f.from.id, noted, err, f.run.id)
	}
	d, err := w.client.Describe(context.Background(), f.run.instance)
	if err != nil || d.Invocation.Fork == nil || d.Invocation.Fork.Instance != f.from.instance {
		w.problem("I21: %s does not say that it comes from %s: %v", f.run.id, f.from.id, err)
	}
	if l, err := w.memory.Load(context.Background(), f.from.instance); f.record != "" && (err != nil || l.Lifecycle.String() != f.record) {
		w.problem("I21: %s was forked, and is not what it was: %s: %s", f.from.id, f.record, errors.Join(err, errors.New(l.Lifecycle.String())))
	}
}
