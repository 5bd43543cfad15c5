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

// Route is a served operation of the API.
type Route struct {
	ID, Method, Path string
	Role             Role
}

// Control returns the implementation of the server's operations.
func (s *Server) Control() *control.Control { return s.control }

// Routes returns all routes in the order of their registration.
func (s *Server) Routes() []Route { return slices.Clone(s.routes) }

// answerOf is the answer of an operation.
type answerOf[T any] struct {
	Body T `nullable:"false"`
}

// pageOf is a page of a list.
type pageOf[T any] struct {
	Link string `header:"Link" doc:"The next page, if there is one."`
	Body []T    `nullable:"false"`
}

// serve registers an operation, and the function that performs it.
func serve[I, O any](s *Server, row api.Operation[I, O], carryOut func(context.Context, *I) (O, error)) {
	route(s, row.Role, described(row), func(ctx context.Context, in *I) (*answerOf[O], error) {
		audited(ctx, in)
		out, err := carryOut(ctx, in)
		return &answerOf[O]{out}, err
	})
}

// serveDone registers an operation whose answer has no body.
func serveDone[I any](s *Server, row api.Operation[I, api.None], carryOut func(context.Context, *I) error) {
	o := described(row)
	o.DefaultStatus = http.StatusNoContent
	route(s, row.Role, o, func(ctx context.Context, in *I) (*struct{}, error) {
		audited(ctx, in)
		return nil, carryOut(ctx, in)
	})
}

// serveList registers an operation that returns a list, page by page, in the order of its keys.
func serveList[I, T any](s *Server, row api.Operation[I, []T], list func(context.Context, *I) ([]T, error), key func(T) string) {
	route(s, row.Role, described(row), func(ctx context.Context, in *I) (*pageOf[T], error) {
		all, err := list(ctx, in)
		if err != nil {
			return nil, err
		}
		page := any(in).(api.Listing).PageOf()
		all, page.Cursor, err = paged(all, page, key)
		return &pageOf[T]{nextOf(row.Request(in), page.Cursor), all}, err
	})
}

// nextOf returns the Link of the page after a request; empty without a cursor.
func nextOf(r api.Request, cursor string) string {
	if cursor == "" {
		return ""
	}
	return "<" + r.Path + "?" + r.Query.Encode() + `>; rel="next"`
}

// described returns the description of an operation.
func described[I, O any](row api.Operation[I, O]) huma.Operation {
	o := huma.Operation{
		OperationID: row.ID, Method: row.Method, Path: row.Path, Tags: []string{row.Tag}, Summary: row.Summary, Description: row.Description,
		DefaultStatus: row.Status, Metadata: map[string]any{},
	}
	if row.ToldOnce {
		o.Metadata[toldOnce] = true
	}
	return o
}

// audited notes the subject and the reason of a change for the audit log.
func audited(ctx context.Context, in any) {
	if change, ok := in.(api.Audited); ok {
		concerns(ctx, change.AuditSubject())
		exchangeOf(ctx).reason = change.AuditReason()
	}
}

// route registers an operation with its role. It panics if the role is unknown, so that a server with such a route does not start.
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
		o.MaxBodyBytes = maxBody + 1 // the library refuses a body of exactly this size
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
		if errors.As(err, new(huma.StatusError)) { // the error specifies its answer
			return nil, err
		}
		return nil, s.refused(ctx, err)
	})
}

// refused returns the problem of an operation that was not carried out. A call in the process gets the unchanged error of a store.
func (s *Server) refused(ctx context.Context, err error) error {
	p := s.problem(ctx, err)
	if call := api.CallOf(ctx); call != nil && callersProblem(err) == nil {
		call.Failure = err
	}
	return withRetryAfter(p)
}

// withRetryAfter returns a problem with its header Retry-After.
func withRetryAfter(p *api.Problem) error {
	h := http.Header{}
	if retryAfter(h, p); len(h) == 0 {
		return p
	}
	return huma.ErrorWithHeaders(p, h)
}

// tellsData is in the metadata of operations whose answers contain nothing but data of runs.
const tellsData = "tellsData"

// DefaultReadWithin is the default time limit of the store for an operation, besides the time for which the caller asked it to wait.
const DefaultReadWithin = 15 * time.Second

func (s *Server) readWithin() time.Duration { return cmp.Or(s.config.ReadWithin, DefaultReadWithin) }

// middlewares returns the middlewares of each request for an operation.
func (s *Server) middlewares(role Role, method string) huma.Middlewares {
	all := huma.Middlewares{s.authorized(role), s.bodied, s.answeredLarge}
	if method == http.MethodPost && role != RoleOpen {
		all = append(all, s.idempotent)
	}
	return all
}
