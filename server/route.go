package server

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/access"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/control"
)

// Route is an operation of the API as it is served.
type Route struct {
	ID, Method, Path string
	Role             Role
}

// Control returns what the server asks.
func (s *Server) Control() *control.Control { return s.control }

// Routes returns all of them, in the order in which they were registered.
func (s *Server) Routes() []Route { return slices.Clone(s.routes) }

// route registers an operation, and who may use it. It panics if nothing says that, so that a server with such a route does not start.
func route[I, O any](s *Server, role Role, o huma.Operation, handle func(context.Context, *I) (*O, error)) {
	if !slices.Contains(access.Roles(), role) {
		panic(fmt.Sprintf("%s %s: %q is no role", o.Method, o.Path, role))
	}
	s.routes = append(s.routes, Route{ID: o.OperationID, Method: o.Method, Path: o.Path, Role: role})
	o.Middlewares = append(s.middlewares(role, o.Method), o.Middlewares...)
	o.Extensions = map[string]any{"x-swrun-role": role}
	s.describeProblems(&o)
	_, tells := o.Metadata[tellsData]
	if tells {
		o.Description = strings.TrimSpace(o.Description + " A token that hides the data of runs is refused.")
	}
	if o.MaxBodyBytes == 0 {
		o.MaxBodyBytes = maxBody + 1 // what has exactly so many bytes is refused by the library
	}
	huma.Register(s.api, o, func(ctx context.Context, in *I) (*O, error) {
		hides := callerOf(ctx).HidesData
		if tells && hides {
			return nil, s.problem(ctx, hiddenData())
		}
		reading, done := s.reading(ctx, o)
		defer done()
		out, err := handle(reading, in)
		if err == nil {
			if hides {
				api.HideData(out)
			}
			return out, nil
		}
		if errors.As(err, new(huma.StatusError)) { // it says itself how it is answered
			return nil, err
		}
		return nil, s.problem(ctx, err)
	})
}

// tellsData is in the metadata of operations that would tell nothing without the data of runs.
const tellsData = "tellsData"

// waits is in the metadata of operations that read, and may wait for something.
const waits = "waits"

// DefaultReadWithin is how long an operation may take that only reads: a store that does not answer costs its callers no more.
const DefaultReadWithin = 15 * time.Second

// reading returns the context of an operation, which ends in time if that only reads and waits for nothing.
func (s *Server) reading(ctx context.Context, o huma.Operation) (context.Context, context.CancelFunc) {
	if _, mayWait := o.Metadata[waits]; mayWait || o.Method != http.MethodGet {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, s.readWithin())
}

func (s *Server) readWithin() time.Duration { return cmp.Or(s.config.ReadWithin, DefaultReadWithin) }

// middlewares returns what each request for an operation passes.
func (s *Server) middlewares(role Role, method string) huma.Middlewares {
	all := huma.Middlewares{s.authorized(role)}
	if method == http.MethodPost && role != RoleOpen {
		all = append(all, s.idempotent)
	}
	return all
}
