package client

import (
	"fmt"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/store"
)

// QuarantinedError reports a run that does not continue on its own: Client.Retry continues it.
type QuarantinedError struct {
	Instance store.Instance
	Ends     time.Time // when a deadline ends it anyway; zero for never
	settled  bool      // Ends is known: a worker checked the run after the quarantine
}

func (e *QuarantinedError) Error() string {
	text := fmt.Sprintf("run %s is quarantined: its workers were lost repeatedly at one step", e.Instance)
	if !e.Ends.IsZero() {
		text += "; its time ends it at " + e.Ends.UTC().Format(time.RFC3339)
	}
	return text
}

// mayEnd reports whether err reports a quarantined run that a deadline may still end.
func mayEnd(err error) bool {
	var stuck *QuarantinedError
	return errors.As(err, &stuck) && !(stuck.settled && stuck.Ends.IsZero())
}

// notQuarantined returns a QuarantinedError for a quarantined run.
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
