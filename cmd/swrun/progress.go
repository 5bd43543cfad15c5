package main

import (
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/execution"
)

// progress shows a run while it goes on. Its methods may be called from several goroutines, but never two at a time:
// see shown.
type progress interface {
	// observe is called with every record, in order.
	observe(interpreter.HistoryEvent)
	// publish shows an event that the workflow emitted: the local sink of events.
	publish(event map[string]any)
	// tick is called again and again while the run goes on.
	tick(now time.Time)
	// end is called once all records are there. failed says that a report of the failure follows.
	end(o execution.Outcome, failed bool)
}

// subject is the run that is shown.
type subject struct {
	workflow *dsl.Workflow
	id       string
	virtual  bool
}

func (s subject) name() string {
	d := s.workflow.Document
	return terminal.Printable(d.Namespace + "/" + d.Name + ":" + d.Version)
}

// The values of --progress.
const (
	progressAuto  = "auto"
	progressTree  = "tree"
	progressLines = "lines"
	progressJSON  = "json"
	progressNone  = "none"
)

func progressModes() []string {
	return []string{progressAuto, progressTree, progressLines, progressJSON, progressNone}
}

// silent shows nothing.
type silent struct{}

func (silent) observe(interpreter.HistoryEvent) {}
func (silent) publish(map[string]any)           {}
func (silent) tick(time.Time)                   {}
func (silent) end(execution.Outcome, bool)      {}
