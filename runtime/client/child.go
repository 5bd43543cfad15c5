package client

import (
	"context"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// This file finds the children of a run.

// started returns the child workflow that a task has started and waits for.
func (d *Description) started(o interpreter.OpenTask) store.Instance {
	child := store.Instance{Namespace: d.Instance.Namespace, ID: execution.ChildID(d.Instance, o.Path)}
	if r, ok := dsl.TaskAt(d.Program.Workflow, o.Origin).(*dsl.RunWorkflow); ok {
		child.Namespace = r.Namespace
	}
	return child
}

// Source describes the run that the error of a faulted one comes from: a child, or a child's child, as far as they are
// still there; otherwise the run itself.
func (c *Client) Source(ctx context.Context, d *Description) (*Description, error) {
	for d.State.Fault != nil {
		i, found, err := c.failedChild(ctx, d)
		if err != nil || !found {
			return d, err
		}
		below, err := c.Describe(ctx, i)
		if store.RefusedAs(err) == store.NoSuch {
			return d, nil
		}
		if err != nil || !sameError(below.State.Fault, d.State.Fault) {
			return d, err
		}
		d = below
	}
	return d, nil
}

// failedChild returns the child whose error a run has ended with.
func (c *Client) failedChild(ctx context.Context, d *Description) (child store.Instance, found bool, err error) {
	_, err = c.History(ctx, d.Instance, 0, func(e HistoryEntry) error {
		for _, r := range e.Events {
			if r.Type == interpreter.TaskFaulted && r.Route == interpreter.RouteChild && sameError(r.Error, d.State.Fault) {
				child, found = d.started(interpreter.OpenTask{Path: r.Path, Origin: r.Place()}), true
			}
		}
		return nil
	})
	return child, found, err
}

func sameError(a, b *errors.Error) bool {
	return a != nil && b != nil && a.Type == b.Type && a.Instance == b.Instance && a.Detail == b.Detail
}
