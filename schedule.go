package swrun

import (
	"context"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/events"
	"github.com/swrun/swrun/runtime/schedule"
	"github.com/swrun/swrun/runtime/store"
)

// Schedules returns the schedules of the deployed workflows. Engines that work start their runs.
func (e *Engine) Schedules() *schedule.Schedules { return e.schedules }

// Undeploy deletes a deployed name and version: no run of it can be started any more, and its schedule ends.
func (e *Engine) Undeploy(ctx context.Context, r definition.Reference) error {
	if err := definition.Undeploy(ctx, e.store, r); err != nil {
		return err
	}
	return e.schedules.Follow(ctx, r.Namespace, r.Name)
}

// Forecast returns the automatic starts of runs of the document, as if it were deployed at that time on a host. Its errors are the same as of Run.
func (d *Document) Forecast(h Host, now time.Time) (*schedule.Forecast, error) {
	if err := d.Err(); err != nil {
		return nil, err
	}
	e, err := h.environment(0, nil)
	if err != nil {
		return nil, err
	}
	defer e.close()
	return schedule.NewForecast(d.Workflow, e.compileHere, now)
}

// startedBy returns the runs that an event started.
func startedBy(h schedule.Heard) events.Started {
	started := events.Started{Runs: h.Runs, Waits: h.Waits}
	for _, r := range h.Refused {
		started.Refused = append(started.Refused, events.Refused{Namespace: r.Workflow.Namespace, Workflow: r.Workflow.String(), Reason: r.Reason})
	}
	return started
}

// startScheduled starts a run of a schedule, and returns its id.
func (e *Engine) startScheduled(ctx context.Context, f schedule.Firing, input any) (string, error) {
	if f.Kind != schedule.KindTrigger { // a person requested the trigger
		ctx = client.WithActor(ctx, "schedule "+string(f.Kind))
	}
	begun, err := e.client.Begin(ctx, f.Of, input, client.StartOptions{ID: f.ID, Cause: f.Cause})
	var wrong *client.OptionError
	if store.RefusedAs(err) != "" || errors.As(err, &wrong) || errors.As(err, new(*errors.Error)) {
		err = &schedule.RefusedError{Err: err}
	}
	return begun.Instance.ID, err
}
