package store

import (
	"time"

	"github.com/swrun/swrun/interpreter"
)

// note adds a note to the history of a run without an owner.
func (c *Change) note(now time.Time, events ...interpreter.HistoryEvent) {
	entry, err := interpreter.Note(int(c.To.Records), now, events...).Encode(nil, 0, nil)
	if err != nil {
		return // the events of notes have no data, of which alone the encoding may fail
	}
	c.Entries = append(c.Entries, entry)
	c.To.Records += int64(len(events))
	c.To.Entries++
}

// lost returns the events of the loss of a run's owner: the inRow-th loss in a row. The run is quarantined when most owners are lost in a
// row.
func lost(r *Lifecycle, inRow, most int64) []interpreter.HistoryEvent {
	events := []interpreter.HistoryEvent{{Type: interpreter.WorkflowWorkerLost, Worker: r.Owner, Attempt: int(inRow)}}
	if inRow >= most && r.Reason != Quarantined {
		events = append(events, interpreter.HistoryEvent{Type: interpreter.WorkflowQuarantined, Attempt: int(inRow)})
	}
	return events
}
