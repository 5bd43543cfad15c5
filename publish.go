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

// OtherEventError says that another event was published under the same source and id.
type OtherEventError = events.OtherEventError

// publish brings an event that a run has emitted to the runs that listen for it, and to the host. Doing it again changes nothing for the runs.
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

// Publish brings a structured CloudEvent to the runs that listen for it, in the namespaces that are named, or in all that ctx grants if that is nil; one
// that is not granted is a *definition.ForeignError. It returns when all have it. Publishing it again within a day, known by its source and id, changes nothing; another event under the same is an
// *OtherEventError, and what CheckEvent refuses is its error. What came for some namespaces says nothing about others: it is published there when it comes for them.
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

// CheckEvent returns why an event cannot be published: it is no CloudEvent, or larger than the limit "event"; nil if nothing is wrong with it.
func (e *Engine) CheckEvent(event map[string]any) error {
	if err := cloudevent.Check(event); err != nil {
		return err
	}
	return interpreter.CheckEvent(event, e.config.Host.Limits)
}

// bring brings an event that was checked to those who listen. Cause is the first of the runs that have led to it; nil if none has.
func (e *Engine) bring(ctx context.Context, event map[string]any, namespaces []string, cause *store.Instance) (events.Report, error) {
	report, err := e.events.PublishOf(ctx, event, namespaces, cause)
	if len(report.Full) > 0 {
		e.env.host.Log.Warn("an event does not come to runs for which too much waits", "runs", len(report.Full), "first", report.Full[0].String(), "type", event["type"])
	}
	return report, err
}
