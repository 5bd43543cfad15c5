package store

import (
	"fmt"
	"time"

	"github.com/swrun/swrun/interpreter"
)

// Imported is the complete content of a run in another store. The run continues here in the same state.
type Imported struct {
	Lifecycle Lifecycle
	State     interpreter.StoredState
	History   []StoredEntry
	Payloads  map[string][]byte
	Messages  []Message // that no owner has consumed
}

// change creates the run with its original times. The run has no owner; work in progress of its last owner waits for a new one.
func (r *Imported) change(invocation []byte, now time.Time) *Change {
	to := r.Lifecycle
	goesOn := to.Held() || !to.Ready.IsZero() || to.Needs != "" || len(r.Messages) > 0 && to.Reason != Quarantined
	to.Owner, to.AwaitsSlot, to.Lease, to.Ready, to.Begun = "", false, time.Time{}, time.Time{}, false
	to.setNeeds("", now)
	to.Entries, to.Mail = int64(len(r.History)), to.Read+int64(len(r.Messages))
	if goesOn && !to.Status.Final() {
		to.Ready, to.Begun = now, to.Status != interpreter.StatusPending || len(r.Messages) > 0
	}
	state := interpreter.Changes{Head: r.State.Head, Context: r.State.Context}
	for key, data := range r.State.Frames {
		state.Frames = append(state.Frames, interpreter.StoredFrame{Key: key, Data: data})
	}
	return &Change{To: to, NotBefore: now, Invocation: invocation, State: state, History: r.History, Payloads: r.Payloads, Messages: r.Messages}
}

// String returns the entry as stores keep it; ParseEntry reads it.
func (e StoredEntry) String() string {
	return fmt.Sprintf("%d %d %s %s", Millis(e.At), e.Token.Epoch, e.Token.Nonce, e.Data)
}
