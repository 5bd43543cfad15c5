package interpreter

import (
	"time"

	"github.com/swrun/swrun/dsl"
)

// Notes are history steps that a store adds without an owner: while a run has no owner that could step it, and after the end of the run. A note
// changes nothing in the state except the number of the last history event.

// Note returns the note of some events. last is the Seq of the last event before them.
func Note(last int, at time.Time, events ...HistoryEvent) HistoryStep {
	for n := range events {
		events[n].Seq, events[n].At = last+1+n, at
	}
	return HistoryStep{Event: EventNote, At: at, Events: events}
}

// IsNote reports whether the step is a note.
func (e HistoryStep) IsNote() bool { return e.Event == EventNote && len(e.Events) > 0 }

// NumberFrom makes the next history event follow the event with the number last, if that number is higher than the number in the state. Notes may
// have been added since the state was stored.
func (s *State) NumberFrom(last int) {
	if last > s.lastHistory {
		s.lastHistory, s.headChanged = last, true
	}
}

// HistoryEvent returns the history event of the report. It has no path: the number of the effect identifies the occurrence of the task.
func (r ReportedLate) HistoryEvent() HistoryEvent {
	return HistoryEvent{
		Type: ResultLate, Pointer: dsl.Pointer(r.Pointer), Effect: r.Effect, Attempt: r.Attempt.Number, Worker: r.Attempt.Worker, StartedAt: r.Attempt.StartedAt, Report: r.Report,
	}
}
