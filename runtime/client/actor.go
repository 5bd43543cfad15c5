package client

import (
	"context"

	"github.com/swrun/swrun/runtime/execution"
)

// actorKey is the context key of the actor who gives commands.
type actorKey struct{}

// WithActor returns a context whose commands are given by an actor: the name of a token, or a user of this machine. Histories and logs
// contain the actor.
func WithActor(ctx context.Context, actor string) context.Context {
	return context.WithValue(ctx, actorKey{}, actor)
}

// Actor returns who gives the commands of a context; empty if that is not known.
func Actor(ctx context.Context) string {
	actor, _ := ctx.Value(actorKey{}).(string)
	return actor
}

type traceKey struct{}

// WithTraceParent returns a context whose starts belong to the span in a header `traceparent`. An invalid header is ignored, as the W3C
// specification requires.
func WithTraceParent(ctx context.Context, header string) context.Context {
	if !execution.IsTraceParent(header) {
		return ctx
	}
	return context.WithValue(ctx, traceKey{}, header)
}

// TraceParent returns the valid header that was passed to WithTraceParent; empty otherwise.
func TraceParent(ctx context.Context) string {
	header, _ := ctx.Value(traceKey{}).(string)
	return header
}
