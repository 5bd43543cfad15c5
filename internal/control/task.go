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

// Task returns what a run's history tells of one occurrence of a task: that which begins with the record seq.
func (c *Control) Task(ctx context.Context, i store.Instance, seq int) (api.TaskRecord, error) {
	if _, err := c.store.Load(ctx, i); err != nil {
		return api.TaskRecord{}, err
	}
	var task *api.TaskRecord
	var path interpreter.Path
	_, err := c.client.History(ctx, i, 0, func(e client.HistoryEntry) error {
		for _, r := range e.Events {
			switch {
			case r.Seq == seq && r.Type != interpreter.TaskStarted:
				return &client.OptionError{Field: "seq", Detail: fmt.Sprintf("the record %d is %s, and not the start of a task", seq, r.Type)}
			case r.Seq == seq:
				path, task = r.Path, &api.TaskRecord{Run: i.String(), Kind: string(r.Kind), Pointer: string(r.Pointer), Status: "in progress", Input: r.Data}
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
		return api.TaskRecord{}, err
	case task == nil:
		return api.TaskRecord{}, &store.Refusal{Code: store.NoSuch, Detail: fmt.Sprintf("record %d of %s", seq, i)}
	}
	return *task, nil
}

// ended notes what a record says of a task, and reports whether it is the last one of it.
func ended(task *api.TaskRecord, r interpreter.HistoryEvent) bool {
	switch r.Type {
	case interpreter.EffectStarted:
		task.Attempts++
	case interpreter.EffectFinished:
		result := r.Data
		task.Result = &result
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
