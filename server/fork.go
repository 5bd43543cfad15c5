package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/store"
)

type forkRequest struct {
	RunPath
	Body api.ForkRequest
}

type forkAnswer struct {
	Status   int
	Location string `header:"Location"`
	Body     api.Forked
}

// forkRoutes serves the operations that continue the work of a run as another run, or with another version.
func (s *Server) forkRoutes() {
	route(s, RoleOperator, huma.Operation{
		OperationID: "forkRun", Method: http.MethodPost, Path: "/v1/runs/{namespace}/{id}/fork", Tags: []string{"runs"}, DefaultStatus: http.StatusCreated,
		Summary: "Start a run that goes on from a task of this one, which stays as it is",
	}, func(ctx context.Context, in *forkRequest) (*forkAnswer, error) {
		i, err := in.instance()
		if err != nil {
			return nil, err
		}
		concerns(ctx, i.String())
		forked, err := s.control.Fork(ctx, i, in.Body)
		if in.Body.DryRun {
			changesNothing(ctx)
		}
		return newForkAnswer(forked), err
	})
	route(s, RoleOperator, huma.Operation{
		OperationID: "forkRuns", Method: http.MethodPost, Path: runsPath + "/fork", Tags: []string{"commands"},
		Summary:     "Fork several runs",
		Description: "Nothing is promised of all together: the outcome of each run is listed. One of which another run goes on already, or has done so, is skipped.",
	}, func(ctx context.Context, in *bulkForkInput) (*bulkAnswer, error) {
		return s.bulkOutcomes(ctx, &in.Body.BulkRequest, func(all []store.Instance) ([]api.Outcome, []error) {
			forks, failed := s.control.ForkAll(ctx, all, in.Body.Request())
			outcomes := make([]api.Outcome, len(all))
			for n := range forks {
				outcomes[n] = api.Outcome{Run: all[n].String(), Outcome: api.OutcomeAccepted, Fork: &forks[n]}
			}
			return outcomes, failed
		})
	})
	s.retryRoutes()
	s.migrationRoutes()
}

// newForkAnswer answers with a fork. A fork that was not started has no location.
func newForkAnswer(forked api.Forked) *forkAnswer {
	if forked.DryRun {
		return &forkAnswer{Status: http.StatusOK, Body: forked}
	}
	return &forkAnswer{http.StatusCreated, location(forked.Started), forked}
}

// retryRoutes serves the operations that continue runs that are quarantined or faulted.
func (s *Server) retryRoutes() {
	route(s, RoleOperator, huma.Operation{
		OperationID: "retryRuns", Method: http.MethodPost, Path: runsPath + "/retry", Tags: []string{"commands"},
		Summary:     "retry several runs",
		Description: "Nothing is promised of all together: the outcome of each run is listed. One of which another run goes on already, or has done so, is skipped.",
	}, func(ctx context.Context, in *bulkRetryInput) (*bulkAnswer, error) {
		return s.bulkOutcomes(ctx, &in.Body.BulkRequest, func(all []store.Instance) ([]api.Outcome, []error) {
			return s.control.Retry(ctx, all, in.Body.Request())
		})
	})
	route(s, RoleOperator, huma.Operation{
		OperationID: "retryRun", Method: http.MethodPost, Path: runPathPattern + "/retry", Tags: []string{"commands"}, DefaultStatus: http.StatusAccepted,
		Summary:     "retry a run",
		Description: "A run that is quarantined goes on itself. One that has failed goes on as another run, which the answer names, once: a second time is a problem of the type already-continued, unless `again` asks for it.",
	}, func(ctx context.Context, in *retryInput) (*acceptedAnswer, error) {
		i, err := in.instance()
		if err != nil {
			return nil, err
		}
		r := api.RetryRequest{}
		if in.Body != nil {
			r = *in.Body
		}
		exchangeOf(ctx).reason = r.Reason
		outcomes, failed := s.control.Retry(ctx, []store.Instance{i}, r)
		concernsRuns(ctx, []store.Instance{i}, failed, r.DryRun)
		if failed[0] != nil {
			return nil, failed[0]
		}
		goesOn := api.NewStarted(i)
		if fork := outcomes[0].Fork; fork != nil && !r.DryRun {
			goesOn = fork.Started
		}
		return &acceptedAnswer{http.StatusAccepted, location(goesOn), outcomes[0]}, nil
	})
}

type retryInput struct {
	RunPath
	Body *api.RetryRequest `required:"false"`
}

type bulkRetryInput struct{ Body api.BulkRetry }

type bulkForkInput struct{ Body api.BulkFork }
