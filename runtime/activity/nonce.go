package activity

import (
	"time"

	"github.com/swrun/swrun/runtime/store"
)

// An attempt is known by its nonce: Take sets it, and each report about the attempt shows it.

// refuses returns why a report about an attempt does not count: another attempt has replaced it, or its time is over.
func (a *Activity) refuses(nonce string, now time.Time) store.Code {
	switch {
	case !a.Taken() || a.Nonce != nonce:
		return store.Fenced
	case a.passed(now):
		return store.TimedOut
	}
	return ""
}
