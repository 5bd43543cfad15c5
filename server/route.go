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

// answerOf is the answer of an operation.
type answerOf[T any] struct {
	Body T `nullable:"false"`
}

// serve registers an operation, and the function that carries it out.
func serve[I, O any](s *Server, row api.Operation[I, O], carryOut func(context.Context, *I) (O, error)) {
	o := huma.Operation{OperationID: row.ID, Method: row.Method, Path: row.Path, Tags: []string{row.Tag}, Summary: row.Summary, Description: row.Description}
	route(s, row.Role, o, func(ctx context.Context, in *I) (*answerOf[O], error) {
		if change, ok := any(in).(api.Audited); ok {
			x := exchangeOf(ctx)
			x.subject, x.reason = change.AuditSubject(), change.AuditReason()
		}
		out, err := carryOut(ctx, in)
		return &answerOf[O]{out}, err
	})
}

// route registers an operation, and who may use it. It panics if nothing says that, so that a server with such a route does not start.
func route[I, O any](s *Server, role Role, o huma.Operation, handle func(context.Context, *I) (*O, error)) {
	if !slices.Contains(access.Roles(), role) {
		panic(fmt.Sprintf("%s %s: %q is no role", o.Method, o.Path, role))
	}
	if s.config.only != "" && s.config.only != o.OperationID {
		return
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
		limited, done := s.forOperation(ctx, &o)
		defer done()
		out, err := handle(limited, in)
		if err == nil {
			if hides {
				api.HideData(out)
			}
			return out, nil
		}
		if errors.As(err, new(huma.StatusError)) { // it says itself how it is answered
			return nil, err
		}
		p := s.problem(ctx, err)
		exchangeOf(ctx).refusal = p.Detail
		return nil, withRetryAfter(p)
	})
}

// withRetryAfter returns a problem with the header that it asks for.
func withRetryAfter(p *api.Problem) error {
	h := http.Header{}
	if retryAfter(h, p); len(h) == 0 {
		return p
	}
	return huma.ErrorWithHeaders(p, h)
}

// tellsData is in the metadata of operations that would tell nothing without the data of runs.
const tellsData = "tellsData"

// DefaultReadWithin is how long the store may take for an operation, besides the time for which its caller asked it to wait.
const DefaultReadWithin = 15 * time.Second

func (s *Server) readWithin() time.Duration { return cmp.Or(s.config.ReadWithin, DefaultReadWithin) }

// middlewares returns what each request for an operation passes.
func (s *Server) middlewares(role Role, method string) huma.Middlewares {
	all := huma.Middlewares{s.authorized(role), s.bodied, s.answeredLarge}
	if method == http.MethodPost && role != RoleOpen {
		all = append(all, s.idempotent)
	}
	return all
}
