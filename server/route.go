package server

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/control"
)

// Role is what a caller must at least be to use an operation. Each role may do what those before it may.
type Role string

// The roles.
const (
	RoleOpen     Role = "open"     // nobody in particular: the operation tells nothing about runs or workflows
	RoleViewer   Role = "viewer"   // looks at workflows and runs
	RoleAuthor   Role = "author"   // deploys workflows and starts runs
	RoleOperator Role = "operator" // commands runs and deletes them
	RoleAdmin    Role = "admin"    // looks after the deployment
)

// Roles returns all of them, the weakest first.
func Roles() []Role { return []Role{RoleOpen, RoleViewer, RoleAuthor, RoleOperator, RoleAdmin} }

// Allows reports whether a caller of this role may use what needs another; an unknown role may nothing.
func (r Role) Allows(need Role) bool {
	mine, needed := slices.Index(Roles(), r), slices.Index(Roles(), need)
	return needed >= 0 && (need == RoleOpen || mine >= needed)
}

// Caller is who asks. The zero value may use nothing but what is open.
type Caller struct {
	Name       string // for the records of commands
	Role       Role
	Namespaces []string // whose workflows and runs the caller sees
	Everywhere bool     // the caller sees all namespaces
}

// Sees reports whether the caller sees the workflows and runs of a namespace.
func (c Caller) Sees(namespace string) bool {
	return c.Everywhere || slices.Contains(c.Namespaces, namespace)
}

// Authorize says who sends a request. An *api.Problem refuses it.
type Authorize func(*http.Request) (Caller, error)

// TrustEveryone takes whoever asks for an administrator. It is for an address that only this machine reaches.
func TrustEveryone(*http.Request) (Caller, error) {
	return Caller{Name: "local", Role: RoleAdmin, Everywhere: true}, nil
}

// trustNobody is used where nothing says who may ask.
func trustNobody(*http.Request) (Caller, error) { return Caller{}, nil }

type callerKey struct{}

// callerOf returns who has sent the request of a context.
func callerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

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
	if !slices.Contains(Roles(), role) {
		panic(fmt.Sprintf("%s %s: %q is no role", o.Method, o.Path, role))
	}
	s.routes = append(s.routes, Route{ID: o.OperationID, Method: o.Method, Path: o.Path, Role: role})
	o.Middlewares = append(huma.Middlewares{s.authorized(role)}, o.Middlewares...)
	o.Extensions = map[string]any{"x-swrun-role": role}
	s.describeProblems(&o)
	if o.MaxBodyBytes == 0 {
		o.MaxBodyBytes = maxBody + 1 // what has exactly so many bytes is refused by the library
	}
	huma.Register(s.api, o, func(ctx context.Context, in *I) (*O, error) {
		out, err := handle(ctx, in)
		if err != nil {
			return nil, s.problem(ctx, err)
		}
		return out, nil
	})
}

// authorized refuses a request whose caller may not use the operation. A namespace in the path that the caller does not see has no runs
// and no workflows for them.
func (s *Server) authorized(role Role) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		if role == RoleOpen {
			next(ctx)
			return
		}
		request, w := humago.Unwrap(ctx)
		caller, err := s.config.Authorize(request)
		if err == nil && !caller.Role.Allows(role) {
			err = forbidden(caller, role)
		}
		if namespace := ctx.Param("namespace"); err == nil && namespace != "" && !caller.Sees(namespace) {
			err = notFound("the namespace " + namespace)
		}
		if err != nil {
			writeProblem(w, s.problem(ctx.Context(), err))
			return
		}
		next(huma.WithValue(ctx, callerKey{}, caller))
	}
}

func forbidden(c Caller, need Role) *api.Problem {
	if c.Role == "" {
		return newProblem(http.StatusUnauthorized, "unauthorized", "Who asks is not known", "this needs a token")
	}
	return newProblem(http.StatusForbidden, "forbidden", "Not allowed", fmt.Sprintf("this needs the role %s, and the token's is %s", need, c.Role))
}
