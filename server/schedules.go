package server

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun/internal/api"
)

type (
	schedulesAnswer struct {
		Link string         `header:"Link" doc:"The next page, if there is one."`
		Body []api.Schedule `nullable:"false"`
	}
	scheduleAnswer  struct{ Body api.Schedule }
	scheduleCommand struct {
		NamePath
		Body *api.CommandRequest `required:"false"`
	}
	scheduleTrigger struct {
		NamePath
		Body *api.ScheduleTrigger `required:"false"`
	}
)

const schedulesPath = "/v1/schedules"

// scheduleRoutes serves the schedules of the deployed workflows, and what operators do with them.
func (s *Server) scheduleRoutes() {
	operation := func(id, method, path, summary string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: schedulesPath + path, Tags: []string{"schedules"}, Summary: summary}
	}
	const one = "/{namespace}/{name}"
	route(s, RoleViewer, operation("listSchedules", http.MethodGet, "", "When runs start by themselves: the schedules of the deployed workflows"), s.listSchedules)
	route(s, RoleViewer, operation("getSchedule", http.MethodGet, one, "When runs of a workflow start by themselves"), func(ctx context.Context, in *NamePath) (*scheduleAnswer, error) {
		found, err := s.control.Schedule(ctx, in.Namespace, in.Name)
		return &scheduleAnswer{found}, err
	})
	route(s, RoleOperator, operation("pauseSchedule", http.MethodPost, one+"/pause", "Have a workflow start nothing by itself any more"), func(ctx context.Context, in *scheduleCommand) (*scheduleAnswer, error) {
		reason := reasonOf(in.Body)
		exchangeOf(ctx).reason = reason
		changed, err := s.control.PauseSchedule(ctx, in.Namespace, in.Name, reason)
		return &scheduleAnswer{changed}, err
	})
	route(s, RoleOperator, operation("resumeSchedule", http.MethodPost, one+"/resume", "End the pause of a schedule"), func(ctx context.Context, in *scheduleCommand) (*scheduleAnswer, error) {
		exchangeOf(ctx).reason = reasonOf(in.Body)
		changed, err := s.control.ResumeSchedule(ctx, in.Namespace, in.Name)
		return &scheduleAnswer{changed}, err
	})
	route(s, RoleAuthor, operation("triggerSchedule", http.MethodPost, one+"/trigger", "Start a run besides those that a schedule starts"), func(ctx context.Context, in *scheduleTrigger) (*scheduleAnswer, error) {
		var t api.ScheduleTrigger
		if in.Body != nil {
			t = *in.Body
		}
		changed, err := s.control.TriggerSchedule(ctx, in.Namespace, in.Name, t)
		return &scheduleAnswer{changed}, err
	})
}

func (s *Server) listSchedules(ctx context.Context, in *Page) (*schedulesAnswer, error) {
	all, err := s.control.Schedules(ctx, "")
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(x api.Schedule) bool { return !callerOf(ctx).Sees(x.Namespace) })
	list, cursor, err := paged(all, in, func(x api.Schedule) string { return x.Namespace + "/" + x.Name })
	return &schedulesAnswer{next(schedulesPath, cursor, "limit", in.limit()), list}, err
}

// reasonOf returns the reason of a command whose body may be left out.
func reasonOf(r *api.CommandRequest) string {
	if r == nil {
		return ""
	}
	return r.Reason
}
