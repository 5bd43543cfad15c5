package execution

import (
	"encoding/json"
	"fmt"

	"github.com/swrun/swrun/internal/form"
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
	// From is the namespace of the run that it leaves. It is empty in form 1, and before form 3 if there is no event.
	From string `json:"from,omitempty"`
	// Cause is the run that has led to the event, of those that have led to one another; nil before form 3.
	Cause *store.Instance `json:"cause,omitempty"`
	Find  *DefinitionFind `json:"find,omitempty"`
}

// Encode returns the entry as stores keep it.
func (o Outgoing) Encode() ([]byte, error) { return form.Marshal(form.Outgoing, o) }

// ParseOutgoing reads what Encode has written.
func ParseOutgoing(data []byte) (o Outgoing, err error) {
	if err := form.Unmarshal("an entry of the outbox", form.Outgoing, data, &o); err != nil {
		return o, fmt.Errorf("read what leaves a run: %w", err)
	}
	return o, nil
}

// OutgoingFrom returns the namespace of the run that an entry leaves; empty if it does not say it, or cannot be read.
func OutgoingFrom(data []byte) string {
	var o struct{ From string }
	_ = form.Unmarshal("an entry of the outbox", form.Outgoing, data, &o) // whoever delivers it finds out what is wrong with it
	return o.From
}

// ChildStart starts a child workflow.
type ChildStart struct {
	ID       string               `json:"id"`
	Workflow definition.Reference `json:"workflow"`
	Input    interpreter.Value    `json:"input"`
	Parent   *Parent              `json:"parent,omitempty"`
	Origin   *store.Instance      `json:"origin,omitempty"`
	Beside   *Parent              `json:"beside,omitempty"`
	Depth    int                  `json:"depth,omitempty"`
	Family   store.Instance       `json:"family"`
	Cause    *store.Instance      `json:"cause,omitempty"` // whose events have led to it; nil if none have
	Reserved *store.Instance      `json:"reserved,omitempty"`
	Keys     string               `json:"keys,omitempty"` // the run whose idempotency keys it has; empty for its own
	// TraceParent names the span of the task that starts it.
	TraceParent string `json:"traceParent"`
}

// DefinitionFind asks which definition a workflow has. The run is answered with the end of an effect.
type DefinitionFind struct {
	Workflow definition.Reference `json:"workflow"`
	Run      store.Instance       `json:"run"`
	Effect   interpreter.EffectID `json:"effect"`
}

// OutgoingMessage is a message to another run; with a verb it is a command.
type OutgoingMessage struct {
	To      store.Instance `json:"to"`
	Verb    store.Verb     `json:"verb,omitempty"`
	Message inbox.Message  `json:"message"`
}
