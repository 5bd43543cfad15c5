package client

import (
	"context"

	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// TakeUp completes the start of a run that may exist already: a nil input, and the timeouts if all are missing, are taken from the existing
// run. It returns the input, and whether the run exists.
func (c *Client) TakeUp(ctx context.Context, i store.Instance, input any, o *StartOptions) (any, bool, error) {
	l, err := c.store.Load(ctx, i)
	if store.RefusedAs(err) == store.NoSuch {
		return input, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	info, err := execution.InvocationOf(i, l.Invocation)
	if err != nil {
		return nil, false, err
	}
	if input == nil {
		input = info.Input.V
	}
	if o.ExecutionTimeout == 0 && o.RunTimeout == 0 && o.Deadline.IsZero() {
		o.ExecutionTimeout, o.RunTimeout, o.Deadline = info.ExecutionTimeout, info.RunTimeout, info.Deadline
	}
	return input, true, nil
}
