package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun/internal/api"
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
		moved, err := s.control.SetDeadline(ctx, i, in.Body)
		return &deadlineAnswer{moved}, err
	})
}
