package execution

import (
	"time"

	"github.com/swrun/swrun/dsl"
)

// This file determines the timeouts of a run from its start, its document and the settings of its namespace. An option of the start
// replaces the document's timeout. Settings apply if neither specifies a timeout. A maximum always applies.

// executionEnd returns when the execution ends, apart from the document's own timeout; zero for never.
func (i *Invocation) executionEnd(w *dsl.Workflow, from time.Time) time.Time {
	documents := w.TimeoutAfter(w.Timeout)
	replaced := i.ExecutionTimeout != 0 || !i.Deadline.IsZero()
	var length time.Duration
	switch {
	case i.ExecutionTimeout > 0:
		length = i.ExecutionTimeout
	case !replaced && documents == nil:
		length = i.Settings.ExecutionTimeout
	}
	maximum := i.Settings.MaxExecutionTimeout
	if maximum > 0 && (length == 0 || length > maximum) && (replaced || !within(documents, from, maximum)) {
		length = maximum
	}
	if length == 0 {
		return time.Time{}
	}
	return from.Add(length)
}

// runEnd returns when the run ends; zero for never.
func (i *Invocation) runEnd(w *dsl.Workflow, from time.Time) time.Time {
	var at time.Time
	switch documents := w.Document.Engine.RunTimeout; {
	case i.RunTimeout > 0:
		at = from.Add(i.RunTimeout)
	case i.RunTimeout == NoTimeout:
	case documents != nil:
		at = documents.AddTo(from)
	case i.Settings.RunTimeout > 0:
		at = from.Add(i.Settings.RunTimeout)
	}
	if last := from.Add(i.Settings.MaxRunTimeout); i.Settings.MaxRunTimeout > 0 && (at.IsZero() || at.After(last)) {
		at = last
	}
	return at
}

// within reports whether a timeout of a document is known to be no longer than a maximum.
func within(timeout *dsl.Duration, from time.Time, maximum time.Duration) bool {
	return timeout != nil && timeout.Expression == "" && !timeout.AddTo(from).After(from.Add(maximum))
}

// ExceededTimeout is a timeout that is longer than it may be.
type ExceededTimeout struct {
	Option     string // executionTimeout, runTimeout or deadline
	Documents  bool   // it is the document's timeout that an option of this name would replace
	Value, Max time.Duration
}

// ExceededTimeout returns the first timeout of the start or of the document that is longer than the settings allow, for a run that is accepted at a
// time and delayed by so long; nil if none is.
func (i *Invocation) ExceededTimeout(w *dsl.Workflow, from time.Time, delay time.Duration) *ExceededTimeout {
	length := func(d *dsl.Duration) time.Duration {
		if d == nil || d.Expression != "" {
			return 0
		}
		return d.AddTo(from).Sub(from)
	}
	documents := ExceededTimeout{"executionTimeout", true, length(w.TimeoutAfter(w.Timeout)), i.Settings.MaxExecutionTimeout}
	if i.ExecutionTimeout != 0 || !i.Deadline.IsZero() {
		documents.Value = 0
	}
	documentsRun := ExceededTimeout{"runTimeout", true, length(w.Document.Engine.RunTimeout), i.Settings.MaxRunTimeout}
	if i.RunTimeout != 0 {
		documentsRun.Value = 0
	}
	deadline := ExceededTimeout{Option: "deadline", Max: i.Settings.MaxExecutionTimeout + delay}
	if !i.Deadline.IsZero() && i.Settings.MaxExecutionTimeout > 0 {
		deadline.Value = i.Deadline.Sub(from)
	}
	for _, one := range []ExceededTimeout{
		{"executionTimeout", false, i.ExecutionTimeout, i.Settings.MaxExecutionTimeout}, deadline, documents,
		{"runTimeout", false, i.RunTimeout, i.Settings.MaxRunTimeout}, documentsRun,
	} {
		if one.Max > 0 && one.Value > one.Max {
			return &one
		}
	}
	return nil
}
