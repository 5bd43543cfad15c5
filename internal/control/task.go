package control

import (
	"context"
	"fmt"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// Task returns the record of one occurrence of a task from a run's history: the occurrence that begins with the record seq.
func (c *Control) Task(ctx context.Context, i store.Instance, seq int) (api.TaskRecord, error) {
	task, err := c.taskRecord(ctx, i, seq)
	if err != nil {
		return api.TaskRecord{}, err
	}
	select {
	case c.repeating <- struct{}{}:
		defer func() { <-c.repeating }()
	case <-ctx.Done():
		return api.TaskRecord{}, context.Cause(ctx)
	}
	data, err := c.client.TaskData(ctx, i, seq)
	if err != nil {
		return api.TaskRecord{}, err
	}
	task.TransformedInput, task.RawOutput, task.ContextBefore, task.ContextAfter = data.Input, data.RawOutput, data.ContextBefore, data.ContextAfter
	if data.ContextBefore != nil && data.ContextAfter != nil {
		task.ContextChanges = api.Changes(*data.ContextBefore, *data.ContextAfter)
	}
	if data.Incomplete != nil {
		task.Incomplete = data.Incomplete.Error()
	}
	return *task, nil
}

// taskRecord returns the record of a task from the history alone, without a replay.
func (c *Control) taskRecord(ctx context.Context, i store.Instance, seq int) (task *api.TaskRecord, err error) {
	if _, err := c.store.Load(ctx, i); err != nil {
		return nil, err
	}
	var path interpreter.Path
	_, err = c.client.History(ctx, i, 0, func(e client.HistoryEntry) error {
		for _, r := range e.Events {
			switch {
			case r.Seq == seq && r.Type != interpreter.TaskStarted:
				return &client.OptionError{Field: "seq", Detail: fmt.Sprintf("the record %d is %s, and not the start of a task", seq, r.Type)}
			case r.Seq == seq:
				path, task = r.Path, newTaskRecord(i, r)
			case task == nil || r.Path != path:
				continue
			}
			task.Records = append(task.Records, api.NewHistoryEvent(r, e))
			if ended(task, r) {
				return errEnough
			}
		}
		return nil
	})
	switch {
	case err != nil && !errors.Is(err, errEnough):
		return nil, err
	case task == nil:
		return nil, &store.Refusal{Code: store.NoSuch, Detail: fmt.Sprintf("record %d of %s", seq, i)}
	}
	return task, nil
}

func newTaskRecord(i store.Instance, r interpreter.HistoryEvent) *api.TaskRecord {
	task := &api.TaskRecord{
		Schema: api.SchemaTask, Run: i.String(), Kind: string(r.Kind), Pointer: string(r.Pointer),
		Status: "in progress", TaskData: api.TaskData{Input: r.Data},
	}
	if string(r.Path) != task.Pointer {
		task.Path = string(r.Path)
	}
	return task
}

// ended adds a record of the history to the record of a task, and reports whether it is the last one of the task.
func ended(task *api.TaskRecord, r interpreter.HistoryEvent) bool {
	switch r.Type {
	case interpreter.EffectStarted:
		task.Attempts++
	case interpreter.EffectRetried, interpreter.EffectFinished:
		task.Attempts = max(task.Attempts, r.Attempt)
	case interpreter.TaskCompleted:
		output := r.Data
		task.Status, task.Output = "completed", &output
	case interpreter.TaskFaulted:
		task.Status, task.Error = "faulted", api.Error(r.Error)
	case interpreter.TaskCancelled:
		task.Status = "cancelled"
	}
	return task.Status != "in progress"
}
