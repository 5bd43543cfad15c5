package server

import (
	"context"
	"net/http"
	"sync"
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
		Summary: "Whether the store answers too, so that requests can be sent here",
	}, func(ctx context.Context, _ *struct{}) (*probeAnswer, error) {
		if err := s.isReady(ctx); err != nil {
			return nil, err
		}
		return &probeAnswer{Probe{"ok"}}, nil
	})
}

// readyFor is how long it holds that the store answers: anybody may ask, and need not keep it busy.
const readyFor = time.Second

// readiness is what the store has answered last.
type readiness struct {
	mu  sync.Mutex
	at  time.Time // zero for never
	err error
}

// isReady returns an error if the store does not answer.
func (s *Server) isReady(ctx context.Context) error {
	s.ready.mu.Lock()
	defer s.ready.mu.Unlock()
	if now := s.config.Now(); s.ready.at.IsZero() || now.Sub(s.ready.at) >= readyFor {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyWithin)
		defer cancel()
		s.ready.at, s.ready.err = now, s.control.Ready(within)
	}
	return s.ready.err
}

// readyWithin is how long the store may take to answer.
const readyWithin = 2 * time.Second
