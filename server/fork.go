package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun/internal/api"
)

type forkRequest struct {
	RunPath
	Body api.ForkRequest
}

type forkAnswer struct {
	Location string `header:"Location"`
	Body     api.Forked
}

// forkRoutes serves what has the work of a run go on otherwise: as another run, or with another version.
func (s *Server) forkRoutes() {
	route(s, RoleOperator, huma.Operation{
		OperationID: "forkRun", Method: http.MethodPost, Path: "/v1/runs/{namespace}/{id}/fork", Tags: []string{"runs"}, DefaultStatus: http.StatusCreated,
		Summary: "Start a run that goes on from a task of this one, which stays as it is",
	}, func(ctx context.Context, in *forkRequest) (*forkAnswer, error) {
		i, err := in.instance()
		if err != nil {
			return nil, err
		}
		forked, err := s.control.Fork(ctx, i, in.Body)
		return &forkAnswer{"/v1/runs/" + forked.Namespace + "/" + forked.ID, forked}, err
	})
	s.migrationRoutes()
}
