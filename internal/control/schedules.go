package control

import (
	"context"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/schedule"
)

// Schedules returns the schedules of the workflows of a namespace, or of all if it is empty.
func (c *Control) Schedules(ctx context.Context, namespace string) ([]api.Schedule, error) {
	found, err := c.engine.Schedules().All(ctx)
	if err != nil {
		return nil, err
	}
	all := []api.Schedule{}
	for n := range found {
		if namespace == "" || found[n].Workflow.Namespace == namespace {
			all = append(all, api.NewSchedule(&found[n]))
		}
	}
	return all, nil
}

// Schedule returns the schedule of a workflow; without one it is refused as store.NoSuch.
func (c *Control) Schedule(ctx context.Context, namespace, name string) (api.Schedule, error) {
	return scheduleOf(c.engine.Schedules().Of(ctx, namespace, name))
}

// PauseSchedule has a workflow start nothing by itself any more.
func (c *Control) PauseSchedule(ctx context.Context, namespace, name, reason string) (api.Schedule, error) {
	return scheduleOf(c.engine.Schedules().Pause(ctx, namespace, name, client.Actor(ctx), reason))
}

// ResumeSchedule ends the pause of a schedule.
func (c *Control) ResumeSchedule(ctx context.Context, namespace, name string) (api.Schedule, error) {
	return scheduleOf(c.engine.Schedules().Resume(ctx, namespace, name))
}

// TriggerSchedule starts a run besides those that a schedule starts.
func (c *Control) TriggerSchedule(ctx context.Context, namespace, name string, t api.ScheduleTrigger) (api.Schedule, error) {
	return scheduleOf(c.engine.Schedules().Trigger(ctx, namespace, name, t.ID, t.Input))
}

func scheduleOf(s schedule.Schedule, err error) (api.Schedule, error) {
	if err != nil {
		return api.Schedule{}, err
	}
	return api.NewSchedule(&s), nil
}
