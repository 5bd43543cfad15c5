package tasks

import (
	"context"
	"fmt"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/attribute"
	"github.com/swrun/swrun/internal/cloudevent"
	"github.com/swrun/swrun/interpreter"
)

func emit(c Config) interpreter.Kind {
	return interpreter.Kind{
		Kind: dsl.KindEmit, Route: interpreter.RoutePublish, Shared: true,
		Compile: func(b *interpreter.Builder, t dsl.Task) interpreter.Body {
			return &emitBody{event: b.Value(t.(*dsl.EmitTask).With)}
		},
		Perform: func(ctx context.Context, r interpreter.Request) (any, error) { return publish(ctx, c, r) },
	}
}

// emitBody publishes an event; the event itself is the output (semantics 14.9, 14.10).
type emitBody struct {
	event *expr.Template
}

func (e *emitBody) Enter(s *interpreter.Scope) interpreter.Next {
	v, err := s.Eval(e.event, s.Input())
	if err != nil {
		return interpreter.Fail(err)
	}
	given := v.(map[string]any)
	event, err := e.complete(s, given)
	if err != nil {
		return interpreter.Fail(err)
	}
	return interpreter.Detach(event, event).Sharing(given)
}

// complete adds the attributes that the author of an event left out.
func (e *emitBody) complete(s *interpreter.Scope, given map[string]any) (map[string]any, *errors.Error) {
	document := s.Workflow().Document
	event := map[string]any{
		"id":          s.UUID(),
		"source":      fmt.Sprintf("/%s/%s/%s", document.Namespace, document.Name, document.Version),
		"specversion": "1.0",
		"time":        s.Now().UTC().Format(time.RFC3339Nano),
	}
	for name, value := range given {
		if value != nil {
			event[name] = value
		}
	}
	if _, ok := event["data"]; ok && event["datacontenttype"] == nil {
		event["datacontenttype"] = "application/json"
	}
	if kind, _ := event["type"].(string); dsl.IsLifecycleType(kind) {
		return nil, s.WithExpression(errors.Expressionf("the event cannot be emitted: only the engine emits events of the type %s: give it a type of your own", kind), e.event, "type")
	}
	var wrong *attribute.Error
	if err := cloudevent.Check(event); errors.As(err, &wrong) {
		return nil, s.WithExpression(errors.Expressionf("the event cannot be emitted: %s", err), e.event, wrong.Attribute)
	}
	return event, nil
}

func publish(ctx context.Context, c Config, r interpreter.Request) (any, error) {
	event, err := expr.Decode(r.Body)
	if err != nil || c.Publish == nil {
		return nil, err
	}
	return nil, c.Publish(ctx, event.(map[string]any))
}
