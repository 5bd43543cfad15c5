package execution

import (
	"encoding/json"
	"fmt"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
)

// Message is what a run finds in its inbox. Stores keep it as JSON.
type Message struct {
	Type   string               `json:"type"` // finished, cancel, suspend or resume
	Effect interpreter.EffectID `json:"effect,omitempty"`
	Result *interpreter.Value   `json:"result,omitempty"`
	Error  *errors.Error        `json:"error,omitempty"`
	Reason string               `json:"reason,omitempty"`
	// Terminated says that nothing was to be waited for.
	Terminated bool `json:"terminated,omitempty"`
}

// Encode returns the message as stores keep it.
func (m Message) Encode() (store.Message, error) {
	data, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("write a message: %w", err)
	}
	return data, nil
}

// ParseMessage reads what Encode has written.
func ParseMessage(data store.Message) (Message, error) {
	var m Message
	if err := json.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("read a message: %w", err)
	}
	return m, nil
}

// event returns what the message means to the run.
func (m Message) event() (interpreter.Event, error) {
	switch m.Type {
	case interpreter.EventFinished:
		ev := interpreter.Finished{Effect: m.Effect, Error: m.Error}
		if m.Result != nil {
			ev.Result = m.Result.V
		}
		return ev, nil
	case interpreter.EventCancel:
		return interpreter.Cancel{Reason: m.Reason}, nil
	case interpreter.EventSuspend:
		return interpreter.Suspend{Reason: m.Reason}, nil
	case interpreter.EventResume:
		return interpreter.Resume{Reason: m.Reason}, nil
	}
	return nil, fmt.Errorf("read a message: %q is not a type of message", m.Type)
}

// Outgoing is an entry of an outbox: one of its members is set. Stores keep it as JSON.
type Outgoing struct {
	Child   *ChildStart      `json:"child,omitempty"`
	Deliver *OutgoingMessage `json:"deliver,omitempty"`
	Publish json.RawMessage  `json:"publish,omitempty"` // an event
}

// ChildStart starts a child workflow.
type ChildStart struct {
	ID       string               `json:"id"`
	Workflow definition.Reference `json:"workflow"`
	Input    interpreter.Value    `json:"input"`
	Parent   *Parent              `json:"parent,omitempty"`
	Origin   *store.Instance      `json:"origin,omitempty"`
	Depth    int                  `json:"depth,omitempty"`
	Family   store.Instance       `json:"family"`
}

// OutgoingMessage is a message to another run; with a verb it is a command.
type OutgoingMessage struct {
	To      store.Instance `json:"to"`
	Verb    store.Verb     `json:"verb,omitempty"`
	Message Message        `json:"message"`
}
