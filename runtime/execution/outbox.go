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
	// Cause is the first run in the chain that caused the event; nil before form 3.
	Cause *store.Instance `json:"cause,omitempty"`
	Find  *DefinitionFind `json:"find,omitempty"`
}

// Encode returns the entry as stores keep it.
func (o Outgoing) Encode() ([]byte, error) { return form.Marshal(form.Outgoing, o) }

// ParseOutgoing parses the output of Encode. An entry without content or without a destination is an error.
func ParseOutgoing(data []byte) (o Outgoing, err error) {
	err = form.Unmarshal("an entry of the outbox", form.Outgoing, data, &o)
	if err == nil {
		err = o.check()
	}
	if err != nil {
		return o, fmt.Errorf("read an outgoing entry of a run: %w", err)
	}
	return o, nil
}

// check returns an error for an incomplete entry. It could not be delivered, and would be dropped silently.
func (o *Outgoing) check() error {
	lacks := func(what string) error { return fmt.Errorf("an entry of the outbox lacks %s", what) }
	switch {
	case o.Child != nil && (o.Child.ID == "" || o.Child.Workflow.Namespace == "" || o.Child.Workflow.Name == ""):
		return lacks("the id or the workflow of the run to start")
	case o.Child != nil:
		return nil
	case o.Deliver != nil && o.Deliver.To == (store.Instance{}):
		return lacks("the run that its message is for")
	case o.Deliver != nil:
		_, err := o.Deliver.Message.Event()
		return err
	case o.Find != nil && (o.Find.Run == (store.Instance{}) || o.Find.Workflow.Namespace == "" || o.Find.Workflow.Name == ""):
		return lacks("the workflow to find or the run that asks")
	case o.Find != nil:
		return nil
	case len(o.Publish) == 0 || o.Publish[0] != '{':
		return lacks("the message, the start or the event that it is for")
	}
	return nil
}

// OutgoingFrom returns the namespace of the sending run of an entry; empty if the entry does not contain it, or cannot be read.
func OutgoingFrom(data []byte) string {
	var o struct{ From string }
	_ = form.Unmarshal("an entry of the outbox", form.Outgoing, data, &o) // the delivery of the entry reports the error
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
