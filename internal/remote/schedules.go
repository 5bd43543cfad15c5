package remote

import (
	"context"
	"net/http"
	"slices"

	"github.com/swrun/swrun/internal/api"
)

// Schedules returns the schedules of the workflows of a namespace, or of all if it is empty.
func (d *Deployment) Schedules(ctx context.Context, namespace string) ([]api.Schedule, error) {
	found, err := pages[api.Schedule](ctx, d, request{method: http.MethodGet, path: "/v1/schedules"})
	return slices.DeleteFunc(found, func(s api.Schedule) bool { return namespace != "" && s.Namespace != namespace }), err
}

// Schedule returns the schedule of a workflow; without one it is refused as store.NoSuch.
func (d *Deployment) Schedule(ctx context.Context, namespace, name string) (api.Schedule, error) {
	return ask[api.Schedule](ctx, d, request{method: http.MethodGet, path: path("/v1/schedules", namespace, name)})
}

// PauseSchedule has a workflow start nothing by itself any more.
func (d *Deployment) PauseSchedule(ctx context.Context, namespace, name, reason string) (api.Schedule, error) {
	return d.commandSchedule(ctx, namespace, name, "pause", api.CommandRequest{Reason: reason})
}

// ResumeSchedule ends the pause of a schedule.
func (d *Deployment) ResumeSchedule(ctx context.Context, namespace, name string) (api.Schedule, error) {
	return d.commandSchedule(ctx, namespace, name, "resume", nil)
}

// TriggerSchedule starts a run besides those that a schedule starts.
func (d *Deployment) TriggerSchedule(ctx context.Context, namespace, name string, t api.ScheduleTrigger) (api.Schedule, error) {
	return d.commandSchedule(ctx, namespace, name, "trigger", t)
}

func (d *Deployment) commandSchedule(ctx context.Context, namespace, name, command string, body any) (api.Schedule, error) {
	return ask[api.Schedule](ctx, d, request{method: http.MethodPost, path: path("/v1/schedules", namespace, name) + "/" + command, body: body})
}
