package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun/internal/api"
)

// workerRoutes serves the workers that are there.
func (s *Server) workerRoutes() {
	route(s, RoleViewer, huma.Operation{
		OperationID: "listWorkers", Method: http.MethodGet, Path: "/v1/workers", Tags: []string{"deployment"},
		Summary: "The workers that are there",
	}, func(ctx context.Context, _ *struct{}) (*workersAnswer, error) {
		all, err := s.control.Workers(ctx)
		return &workersAnswer{all}, err
	})
}

type workersAnswer struct {
	Body []api.Worker `nullable:"false"`
}
