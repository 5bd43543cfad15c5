package client

import (
	"context"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// TaskData is the data of an occurrence of a task. Incomplete is the reason why a part of it is unknown; nil if all is known.
type TaskData struct {
	interpreter.TaskData
	Incomplete error
}

// TaskData computes the data of the occurrence of a task that began with the record seq of a run's history. It replays the history, which
// needs the secrets that the run reads.
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
