package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/doctor"
)

// Condition is what /livez and /readyz answer.
type Condition struct {
	Status string `json:"status" enum:"ok"`
}

type conditionAnswer struct{ Body Condition }

// Where load balancers and supervisors ask.
const (
	livePath  = "/livez"
	readyPath = "/readyz"
)

// healthAnswer has the status 503 if the store does not take new runs, or nothing at all.
type healthAnswer struct {
	Status int
	Body   api.Health
}

func (s *Server) healthRoutes() {
	route(s, RoleViewer, huma.Operation{
		OperationID: "getHealth", Method: http.MethodGet, Path: "/v1/health", Tags: []string{"health"},
		Summary: "Whether the deployment is well: the checks of swrun doctor",
	}, func(ctx context.Context, _ *struct{}) (*healthAnswer, error) {
		h := s.control.Health(ctx)
		if h.Status == doctor.Error {
			return &healthAnswer{http.StatusServiceUnavailable, h}, nil
		}
		return &healthAnswer{http.StatusOK, h}, nil
	})
	route(s, RoleOpen, huma.Operation{
		OperationID: "live", Method: http.MethodGet, Path: livePath, Tags: []string{"health"},
		Summary: "Whether the process answers",
	}, func(context.Context, *struct{}) (*conditionAnswer, error) {
		return &conditionAnswer{Condition{"ok"}}, nil
	})
	route(s, RoleOpen, huma.Operation{
		OperationID: "ready", Method: http.MethodGet, Path: readyPath, Tags: []string{"health"},
		Summary: "Whether the store answers too, so that requests can be sent here",
	}, func(ctx context.Context, _ *struct{}) (*conditionAnswer, error) {
		if err := s.control.Ready(ctx); err != nil {
			return nil, err
		}
		return &conditionAnswer{Condition{"ok"}}, nil
	})
}
