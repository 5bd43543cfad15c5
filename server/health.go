package server

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/internal/doctor"
)

// Probe is the answer of /livez and /readyz.
type Probe struct {
	Status string `json:"status" enum:"ok"`
}

type probeAnswer struct{ Body Probe }

// The paths for load balancers and supervisors.
const (
	livePath  = "/livez"
	readyPath = "/readyz"
)

// healthAnswer has the status 503 if the store takes no new runs, or no requests at all.
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
		Summary: "Whether the store is well too and the documents of the folders are deployed, so that requests can be sent here",
	}, func(ctx context.Context, _ *struct{}) (*probeAnswer, error) {
		if err := s.isReady(ctx); err != nil {
			return nil, err
		}
		return &probeAnswer{Probe{"ok"}}, nil
	})
}

// readyWithin is the maximum time for an answer of the store.
const readyWithin = 2 * time.Second

// isReady returns a problem unless the store can be relied on, and this process knows its workflows. Every caller may ask. The server reuses an answer for a second, so that callers do not
// keep the store busy.
func (s *Server) isReady(ctx context.Context) error {
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyWithin)
	defer cancel()
	return s.control.Ready(within)
}

// startingProblem returns the problem of a request that a starting process cannot answer yet, or nil.
func startingProblem(err error) *api.Problem {
	if !errors.As(err, new(*control.StartingError)) {
		return nil
	}
	p := newProblem(http.StatusServiceUnavailable, "starting", "The server is starting", err.Error())
	p.RetryAfter, p.Applied, p.Help = retryOutage, api.AppliedNo, "ask again later"
	return p
}
