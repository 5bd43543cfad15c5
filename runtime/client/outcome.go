package client

import (
	"context"
	"time"

	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// Outcome returns how a run has ended; done is false while it has not. One that is quarantined does not end:
// a QuarantinedError.
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

// Wait returns how a run ends. It looks at intervals, at first short ones: hints are about what is ready, and on
// a busy store there are too many of them. For one that is quarantined it waits only if a deadline ends it.
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
