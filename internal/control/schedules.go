package control

import (
	"context"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/schedule"
)

// Schedules returns the schedules of the workflows in the namespaces that are granted to the caller.
func (c *Control) Schedules(ctx context.Context, _ *api.ScheduleList) ([]api.Schedule, error) {
	found, err := c.engine.Schedules().All(ctx)
	if err != nil {
		return nil, err
	}
	granted, all := definition.GrantedIn(ctx), []api.Schedule{}
	for n := range found {
		if granted.Has(found[n].Workflow.Namespace) {
			all = append(all, api.NewSchedule(&found[n]))
		}
	}
	return all, nil
}

// Schedule returns the schedule of a workflow; store.NoSuch for a workflow without one.
func (c *Control) Schedule(ctx context.Context, in *api.WorkflowPath) (api.Schedule, error) {
	return scheduleOf(c.engine.Schedules().Of(ctx, in.Namespace, in.Name))
}

// PauseSchedule stops the starts of a schedule.
func (c *Control) PauseSchedule(ctx context.Context, in *api.ScheduleCommand) (api.Schedule, error) {
	return scheduleOf(c.engine.Schedules().Pause(ctx, in.Namespace, in.Name, client.Actor(ctx), in.AuditReason()))
}

// ResumeSchedule ends the pause of a schedule.
func (c *Control) ResumeSchedule(ctx context.Context, in *api.ScheduleCommand) (api.Schedule, error) {
	return scheduleOf(c.engine.Schedules().Resume(ctx, in.Namespace, in.Name))
}

// TriggerSchedule starts a run in addition to the runs of a schedule.
func (c *Control) TriggerSchedule(ctx context.Context, in *api.ScheduleStart) (api.Schedule, error) {
	var t api.ScheduleTrigger
	if in.Body != nil {
		t = *in.Body
	}
	return scheduleOf(c.engine.Schedules().Trigger(ctx, in.Namespace, in.Name, t.ID, t.Input))
}

func scheduleOf(s schedule.Schedule, err error) (api.Schedule, error) {
	if err != nil {
		return api.Schedule{}, err
	}
	return api.NewSchedule(&s), nil
}
