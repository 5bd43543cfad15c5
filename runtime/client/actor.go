package client

import (
	"context"

	"github.com/swrun/swrun/runtime/execution"
)

// actorKey is the key under which a context knows who gives commands.
type actorKey struct{}

// WithActor returns a context whose commands are those of an actor: the name of a token, or a user of this machine. Histories and logs
// say so.
func WithActor(ctx context.Context, actor string) context.Context {
	return context.WithValue(ctx, actorKey{}, actor)
}

// Actor returns who gives the commands of a context; empty if that is not known.
func Actor(ctx context.Context) string {
	actor, _ := ctx.Value(actorKey{}).(string)
	return actor
}

type traceKey struct{}

// WithTraceParent returns a context whose starts belong to the span that a header `traceparent` names. One that names none is ignored, as
// the W3C asks.
func WithTraceParent(ctx context.Context, header string) context.Context {
	if !execution.IsTraceParent(header) {
		return ctx
	}
	return context.WithValue(ctx, traceKey{}, header)
}

// TraceParent returns what WithTraceParent was given; empty if that was nothing.
func TraceParent(ctx context.Context) string {
	header, _ := ctx.Value(traceKey{}).(string)
	return header
}
