package store

import (
	"time"

	"github.com/swrun/swrun/internal/shorten"
)

// Trouble is an error of a run: the error that ended it, or the error of a failed task that is being retried. The zero Trouble means no
// error.
type Trouble struct {
	Type  string    // of the error; at most maxFailureType bytes of it
	Task  string    // the pointer of the innermost task that has failed; empty for the workflow
	Host  string    // that the task has called, or the image that it has run; empty if it is not known
	Since time.Time // when this began
}

// maxPlace bounds the task and the host of a trouble: a record stays small.
const maxPlace = 256

// NewTrouble returns the trouble of an error.
func NewTrouble(kind, task, host string, since time.Time) Trouble {
	return Trouble{Type: shorten.To(kind, maxFailureType), Task: shorten.To(task, maxPlace), Host: shorten.To(host, maxPlace), Since: millisecondOf(since)}
}

// after returns the trouble of a run that had other trouble before. Trouble that continues keeps its start time.
func (t Trouble) after(before Trouble) Trouble {
	if same := (Trouble{before.Type, before.Task, before.Host, t.Since}); t == same {
		return before
	}
	return t
}
