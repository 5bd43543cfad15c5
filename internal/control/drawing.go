package control

import (
	"context"
	"fmt"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/internal/graph"
	"github.com/swrun/swrun/internal/timeline"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// Timeline returns a drawing of a history over time, as SVG: of all runs of an execution, or of the one that run names.
func (c *Control) Timeline(ctx context.Context, i store.Instance, run string) (string, error) {
	numbers, number, err := c.oneRun(ctx, i, run)
	if err != nil {
		return "", err
	}
	d, err := c.client.DescribeRun(ctx, i, number)
	if err != nil {
		return "", err
	}
	title := i.String() + "  " + d.Invocation.Workflow.String() + "  " + d.Status
	if number > 0 {
		title += fmt.Sprintf("  run %d of %d", number, d.Runs.Latest)
	}
	t, current := timeline.New(title), numbers.First
	err = c.records(ctx, i, func(r interpreter.HistoryEvent) error {
		if number == 0 || current == number {
			t.Add(r)
		}
		if r.Type == interpreter.WorkflowContinued {
			current++
		}
		return nil
	})
	for _, in := range d.Deadlines {
		if !in.OnceBegun {
			t.InForce([]interpreter.ActiveDeadline{in.ActiveDeadline})
		}
	}
	return t.SVG(d.At, d.Earlier != nil || d.Lifecycle.Status.Final()), err
}

// Graph returns a drawing of a run's workflow, as SVG, with the progress of the run.
func (c *Control) Graph(ctx context.Context, i store.Instance) (string, error) {
	d, err := c.client.Describe(ctx, i)
	if err != nil {
		return "", err
	}
	marks := map[dsl.Pointer]graph.Mark{}
	of := map[interpreter.HistoryEventType]graph.Mark{
		interpreter.TaskStarted: graph.MarkActive, interpreter.TaskCompleted: graph.MarkDone, interpreter.TaskFaulted: graph.MarkFaulted,
		interpreter.TaskCancelled: graph.MarkCancelled, interpreter.TaskSkipped: graph.MarkSkipped,
	}
	err = c.records(ctx, i, func(r interpreter.HistoryEvent) error {
		if mark, ok := of[r.Type]; ok {
			marks[r.Place()] = mark
		}
		return nil
	})
	return graph.DrawRun(d.Program.Workflow, marks), err
}

// records calls each with the records of a run's history, until it returns an error.
func (c *Control) records(ctx context.Context, i store.Instance, each func(interpreter.HistoryEvent) error) error {
	_, err := c.client.History(ctx, i, 0, func(e client.HistoryEntry) error {
		for _, r := range e.Events {
			if err := each(r); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}
