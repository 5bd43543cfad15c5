package store

import (
	"fmt"
	"time"

	"github.com/swrun/swrun/interpreter"
)

// Imported is all that another store holds of a run: it goes on here as it stood there.
type Imported struct {
	Lifecycle Lifecycle
	State     interpreter.StoredState
	History   []StoredEntry
	Payloads  map[string][]byte
	Messages  []Message // that no owner has consumed
}

// change creates the run. Its times stay what they were. Nobody owns it: what an owner had in hand waits for another one.
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
