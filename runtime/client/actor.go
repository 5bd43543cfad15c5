package client

import "context"

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
