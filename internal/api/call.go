package api

import "context"

// Call is a request of this process to itself: it reaches the handler without a connection.
type Call struct {
	// Operation is the id of the called row; empty for a request without a row.
	Operation string
	// Failure is an error of the handler that is no refusal of the request, such as an error of the store. The answer contains only a part of it.
	Failure error
}

type callKey struct{}

// WithCall returns the context of a call.
func WithCall(ctx context.Context, c *Call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// CallOf returns the call of a context; nil for a request over a connection.
func CallOf(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}
