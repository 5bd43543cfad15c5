package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/store"
)

type deadlineRequest struct {
	RunPath
	Body api.DeadlineChange
}

type deadlineAnswer struct{ Body api.MovedDeadline }

func (s *Server) deadlineRoutes() {
	route(s, RoleOperator, huma.Operation{
		OperationID: "setDeadline", Method: http.MethodPost, Path: "/v1/runs/{namespace}/{id}/deadline", Tags: []string{"runs"},
		Summary: "Change when a run, or a task of it that is in progress, ends at the latest",
	}, func(ctx context.Context, in *deadlineRequest) (*deadlineAnswer, error) {
		i, err := in.instance()
		if err != nil {
			return nil, err
		}
		exchangeOf(ctx).reason = in.Body.Reason
		concerns(ctx, i.String()+" "+in.Body.Deadline)
		moved, err := s.control.SetDeadline(ctx, i, in.Body)
		if in.Body.DryRun {
			changesNothing(ctx)
		}
		return &deadlineAnswer{moved}, err
	})
	route(s, RoleOperator, huma.Operation{
		OperationID: "setDeadlines", Method: http.MethodPost, Path: runsPath + "/deadline", Tags: []string{"commands"},
		Summary:     "Change when several runs end at the latest",
		Description: "Nothing is promised of all together: the outcome of each run is listed.",
	}, func(ctx context.Context, in *bulkDeadlineInput) (*bulkAnswer, error) {
		if _, err := in.Body.Request().Parse(); err != nil {
			return nil, err
		}
		return s.bulkOutcomes(ctx, &in.Body.BulkRequest, func(all []store.Instance) ([]api.Outcome, []error) {
			moved, failed := s.control.SetDeadlines(ctx, all, in.Body.Request())
			outcomes := make([]api.Outcome, len(all))
			for n := range moved {
				outcomes[n] = api.Outcome{Run: all[n].String(), Outcome: api.OutcomeAccepted, Deadline: &moved[n]}
			}
			return outcomes, failed
		})
	})
}

type bulkDeadlineInput struct{ Body api.BulkDeadline }
