package execution

import (
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// InvocationOf is ParseInvocation for a run of a store. Its error is the refusal of a run that cannot be read, and names the run.
func InvocationOf(run store.Instance, data []byte) (*Invocation, error) {
	i, err := ParseInvocation(data)
	if err != nil {
		return nil, Unreadable(run, err)
	}
	return i, nil
}

// Restore returns the state of the run that was stored, as interpreter.Restore does. Its error is the refusal of a run that cannot be read, and names the run.
func (i *Invocation) Restore(p *interpreter.Program, run store.Instance, from interpreter.StoredState) (*interpreter.State, error) {
	s, err := interpreter.Restore(p, i.NewState(run), i.Input.V, from)
	if err != nil {
		return nil, Unreadable(run, err)
	}
	return s, nil
}

// Unreadable returns the refusal of a run of which a part cannot be read, for the reason that is given.
func Unreadable(run store.Instance, why error) error {
	return store.RefuseUnreadable("run "+run.String(), why, time.Time{})
}
