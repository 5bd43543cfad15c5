package store

import (
	"context"
	"sync/atomic"
)

// Attempt records whether a call may have changed something, so that the caller can be informed when the answer of the store is missing.
type Attempt struct{ changed atomic.Bool }

// MayHaveChanged reports whether a change was made, or asked for without an answer.
func (a *Attempt) MayHaveChanged() bool { return a.changed.Load() }

type attemptKey struct{}

// WithAttempt returns a context with which stores record possible changes in a.
func WithAttempt(ctx context.Context, a *Attempt) context.Context {
	return context.WithValue(ctx, attemptKey{}, a)
}

// Attempted notes that something may have been changed for the caller of a context. Stores call it.
func Attempted(ctx context.Context) {
	if a, _ := ctx.Value(attemptKey{}).(*Attempt); a != nil {
		a.changed.Store(true)
	}
}
