package client

import (
	"context"
	"time"

	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// Outcome returns the outcome of a run; done is false while it is in progress. A quarantined run does not end: a QuarantinedError.
func (c *Client) Outcome(ctx context.Context, i store.Instance) (o execution.Outcome, done bool, err error) {
	l, err := c.store.Load(ctx, i)
	if err == nil {
		err = notQuarantined(i, &l.Lifecycle)
	}
	if err != nil || !l.Lifecycle.Status.Final() {
		return execution.Outcome{}, false, err
	}
	if l, err = c.held(ctx, i, l); err != nil {
		return execution.Outcome{}, false, err
	}
	info, err := execution.InvocationOf(i, l.Invocation)
	if err != nil {
		return execution.Outcome{}, false, err
	}
	s, err := info.Restore(nil, i, l.State)
	if err != nil {
		return execution.Outcome{}, false, err
	}
	return execution.NewOutcome(s, l.Lifecycle.Closed), true, nil
}

// Wait waits for the end of a run and returns its outcome. It polls, at first in short intervals: hints report ready runs, and are too many
// on a busy store. It waits for a quarantined run only if a deadline ends it.
func (c *Client) Wait(ctx context.Context, i store.Instance) (execution.Outcome, error) {
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		o, done, err := c.Outcome(ctx, i)
		if done || err != nil && !mayEnd(err) {
			return o, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return execution.Outcome{}, context.Cause(ctx)
		case <-timer.C:
		}
	}
}
