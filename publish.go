package swrun

import (
	"context"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/cloudevent"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/events"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// OtherEventError is the error of a source and id under which another event was published.
type OtherEventError = events.OtherEventError

// publish brings an event that a run emitted to the runs that listen for it, and to the host. Repeating it changes nothing for the runs.
func (e *Engine) publish(ctx context.Context, emitted worker.Emitted) error {
	v, err := expr.Decode(emitted.Event)
	if err != nil {
		return err
	}
	object, _ := v.(map[string]any)
	var other *OtherEventError
	if _, err := e.bring(ctx, object, emitted.Namespaces, emitted.Cause); errors.As(err, &other) {
		e.env.host.Log.Warn("an event comes to no listener", "error", err.Error())
	} else if err != nil {
		return err
	}
	if publish := e.env.host.Publish; publish != nil {
		return publish(ctx, object)
	}
	return nil
}

// Publish brings a structured CloudEvent to the runs that listen for it, in the given namespaces, or in all that ctx grants if namespaces is nil; a
// namespace that is not granted is a *definition.ForeignError. It returns when all runs have the event. Publishing an event with the same source and
// id again within a day changes nothing; another event with the same source and id is an *OtherEventError. If CheckEvent refuses the event, its error
// is returned. An event that was published for some namespaces can still be published for others.
func (e *Engine) Publish(ctx context.Context, event map[string]any, namespaces []string) (events.Report, error) {
	if err := e.CheckEvent(event); err != nil {
		return events.Report{}, err
	}
	granted := definition.GrantedIn(ctx)
	if namespaces == nil {
		namespaces = granted
	}
	for _, name := range namespaces {
		if err := granted.Check(definition.Reference{Namespace: name}); err != nil {
			return events.Report{}, err
		}
	}
	return e.bring(ctx, event, namespaces, nil)
}

// CheckEvent returns an error if an event cannot be published because it is not a CloudEvent, or larger than the limit "event".
func (e *Engine) CheckEvent(event map[string]any) error {
	if err := cloudevent.Check(event); err != nil {
		return err
	}
	return interpreter.CheckEvent(event, e.config.Host.Limits)
}

// bring brings a checked event to its listeners. Cause is the first of the runs that led to it; nil if no run did.
func (e *Engine) bring(ctx context.Context, event map[string]any, namespaces []string, cause *store.Instance) (events.Report, error) {
	report, err := e.events.PublishOf(ctx, event, namespaces, cause)
	if len(report.Full) > 0 {
		e.env.host.Log.Warn("an event does not come to runs for which too much waits", "runs", len(report.Full), "first", report.Full[0].String(), "type", event["type"])
	}
	return report, err
}
