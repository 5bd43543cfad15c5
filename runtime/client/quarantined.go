package client

import (
	"fmt"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/store"
)

// QuarantinedError is about a run that does not go on by itself: Client.Retry lets it run again.
type QuarantinedError struct {
	Instance store.Instance
	Ends     time.Time // when a deadline ends it all the same; zero for never
	settled  bool      // Ends is known: somebody has looked since it was quarantined
}

func (e *QuarantinedError) Error() string {
	text := fmt.Sprintf("run %s is quarantined: its workers were lost again and again at one step", e.Instance)
	if !e.Ends.IsZero() {
		text += "; its time ends it at " + e.Ends.UTC().Format(time.RFC3339)
	}
	return text
}

// mayEnd reports whether err is about a run that is quarantined, and that a deadline may end all the same.
func mayEnd(err error) bool {
	var stuck *QuarantinedError
	return errors.As(err, &stuck) && !(stuck.settled && stuck.Ends.IsZero())
}

// notQuarantined returns a QuarantinedError for a run that nobody runs.
func notQuarantined(i store.Instance, r *store.Lifecycle) error {
	if r.Reason != store.Quarantined {
		return nil
	}
	e := &QuarantinedError{Instance: i, settled: r.Ready.IsZero() && !r.Held()}
	if e.settled {
		e.Ends = r.Wake
	}
	return e
}
