package execution

import (
	"encoding/json"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/inbox"
	"github.com/swrun/swrun/runtime/store"
)

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
	// TraceParent names the span of the task that starts it.
	TraceParent string `json:"traceParent"`
}

// OutgoingMessage is a message to another run; with a verb it is a command.
type OutgoingMessage struct {
	To      store.Instance `json:"to"`
	Verb    store.Verb     `json:"verb,omitempty"`
	Message inbox.Message  `json:"message"`
}
