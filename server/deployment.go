package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun/internal/api"
)

// deploymentRoutes serves who works, and what codes mean.
func (s *Server) deploymentRoutes() {
	route(s, RoleViewer, huma.Operation{
		OperationID: "listWorkers", Method: http.MethodGet, Path: "/v1/workers", Tags: []string{"deployment"},
		Summary: "The workers that are there",
	}, func(ctx context.Context, _ *struct{}) (*workersAnswer, error) {
		all, err := s.control.Workers(ctx)
		return &workersAnswer{all}, err
	})
	route(s, RoleOpen, huma.Operation{
		OperationID: "getRule", Method: http.MethodGet, Path: "/rules/{code}", Tags: []string{"description"},
		Summary: "What the code of a finding, or a type of errors, means",
	}, func(_ context.Context, in *rulePath) (*ruleAnswer, error) {
		rule, err := s.control.Rule(in.Code)
		return &ruleAnswer{rule}, err
	})
}

type workersAnswer struct {
	Body []api.Worker `nullable:"false"`
}

type rulePath struct {
	Code string `path:"code" doc:"SW401, or timeout." example:"SW401"`
}

type ruleAnswer struct{ Body api.Rule }
