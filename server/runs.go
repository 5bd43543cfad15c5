package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/store"
)

// runPath names a run in a path.
type runPath struct {
	Namespace string `path:"namespace" doc:"The namespace of its workflow."`
	ID        string `path:"id" doc:"The id of the run."`
}

// instance returns the run; a name that no run can have is one that is not there.
func (p runPath) instance() (store.Instance, error) {
	i := store.Instance{Namespace: p.Namespace, ID: p.ID}
	if err := i.Check(); err != nil {
		return i, newProblem(http.StatusNotFound, "not-found", "Not found", err.Error())
	}
	return i, nil
}

type runAnswer struct{ Body api.Description }

func (s *Server) runRoutes() {
	route(s, RoleViewer, huma.Operation{
		OperationID: "getRun", Method: http.MethodGet, Path: "/v1/runs/{namespace}/{id}", Tags: []string{"runs"},
		Summary: "What a run is doing, until when, and what happens then",
	}, func(ctx context.Context, in *runPath) (*runAnswer, error) {
		i, err := in.instance()
		if err != nil {
			return nil, err
		}
		d, err := s.control.Describe(ctx, i)
		return &runAnswer{d}, err
	})
}
