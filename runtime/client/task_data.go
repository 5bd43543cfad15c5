package client

import (
	"context"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// TaskData is what an occurrence of a task worked on. Incomplete says why a part of it is not known; nil if all is.
type TaskData struct {
	interpreter.TaskData
	Incomplete error
}

// TaskData computes what the occurrence of a task worked on that began with the record seq of a run's history. It repeats the history
// for that, which needs the secrets that the run reads.
func (c *Client) TaskData(ctx context.Context, i store.Instance, seq int) (TaskData, error) {
	l, err := c.loadHeld(ctx, i)
	if err != nil {
		return TaskData{}, err
	}
	d := &Description{Instance: i, Lifecycle: l.Lifecycle}
	if d.Invocation, err = execution.InvocationOf(i, l.Invocation); err != nil {
		return TaskData{}, err
	}
	steps, err := c.steps(ctx, i)
	if err != nil {
		return TaskData{}, err
	}
	past, err := c.Past(ctx, d, steps)
	if err != nil {
		return TaskData{}, err
	}
	data, why := past.TaskData(ctx, seq)
	if ctx.Err() != nil {
		return TaskData{}, context.Cause(ctx)
	}
	return TaskData{data, why}, nil
}
