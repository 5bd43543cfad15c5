package server

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/doctor"
)

// Probe is what /livez and /readyz answer.
type Probe struct {
	Status string `json:"status" enum:"ok"`
}

type probeAnswer struct{ Body Probe }

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
	}, func(context.Context, *struct{}) (*probeAnswer, error) {
		return &probeAnswer{Probe{"ok"}}, nil
	})
	route(s, RoleOpen, huma.Operation{
		OperationID: "ready", Method: http.MethodGet, Path: readyPath, Tags: []string{"health"},
		Summary: "Whether the store is well too, so that requests can be sent here",
	}, func(ctx context.Context, _ *struct{}) (*probeAnswer, error) {
		if err := s.isReady(ctx); err != nil {
			return nil, err
		}
		return &probeAnswer{Probe{"ok"}}, nil
	})
}

// readyWithin is how long the store may take to answer.
const readyWithin = 2 * time.Second

// isReady returns a problem unless the store can be relied on. Anybody may ask: an answer holds for a second, so that they do not keep the store busy.
func (s *Server) isReady(ctx context.Context) error {
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyWithin)
	defer cancel()
	return s.control.Ready(within)
}
