package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/swrun/swrun/internal/access"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
)

// This file identifies callers, and refuses callers without the right to an operation.

// Role and Caller are the types of package access.
type (
	Role   = access.Role
	Caller = access.Caller
)

// The roles.
const (
	RoleOpen     = access.RoleOpen
	RoleViewer   = access.RoleViewer
	RoleAuthor   = access.RoleAuthor
	RoleOperator = access.RoleOperator
	RoleAdmin    = access.RoleAdmin
)

// Authorize returns the caller of a request. An *api.Problem refuses the request.
type Authorize func(*http.Request) (Caller, error)

// TrustEveryone treats every caller as an administrator. It is for an address that only this machine reaches.
func TrustEveryone(*http.Request) (Caller, error) { return access.Local(), nil }

// TrustOwner treats every caller as an administrator with the name in the request. It is for a socket that only the owner of the store can open.
func TrustOwner(r *http.Request) (Caller, error) {
	owner := access.Local()
	if name := r.Header.Get(api.ActorHeader); name != "" {
		owner.Name = shorten.To(name, maxActor)
	}
	return owner, nil
}

// maxActor is the maximum length of a recorded name of a caller, in bytes.
const maxActor = 100

// trustNobody is the default without an Authorize: it identifies no caller.
func trustNobody(*http.Request) (Caller, error) { return Caller{}, nil }

// TrustTokens identifies callers by their tokens.
func TrustTokens(tokens *access.Tokens) Authorize {
	return func(r *http.Request) (Caller, error) {
		given := r.Header.Values("Authorization")
		if len(given) == 0 {
			return Caller{}, nil
		}
		scheme, token, _ := strings.Cut(given[0], " ")
		if len(given) > 1 || !strings.EqualFold(scheme, "Bearer") {
			return Caller{}, unauthorized("the header Authorization must be given once, as Bearer and a token")
		}
		caller, err := tokens.Authenticate(r.Context(), strings.TrimSpace(token))
		if errors.Is(err, access.ErrUnknown) {
			err = unauthorized(err.Error())
		}
		return caller, err
	}
}

func unauthorized(detail string) *api.Problem {
	p := newProblem(http.StatusUnauthorized, "unauthorized", "Unknown caller", detail)
	p.Help = "swrun token new makes a token; it is sent as Authorization: Bearer TOKEN"
	return p
}

func forbidden(c Caller, need Role) *api.Problem {
	if c.Role == "" {
		return unauthorized("this needs a token")
	}
	return newProblem(http.StatusForbidden, "forbidden", "Not allowed", fmt.Sprintf("this needs the role %s; the token has the role %s", need, c.Role))
}

// ofAll is in the metadata of operations that change something for all namespaces.
const ofAll = "ofAll"

// concernsAll reports whether an operation that names no namespace requires a caller that sees all namespaces.
func concernsAll(o *huma.Operation, role Role) bool {
	_, marked := o.Metadata[ofAll]
	return role == RoleAdmin || marked
}

func notForSome() *api.Problem {
	p := newProblem(http.StatusForbidden, "forbidden", "Not allowed", "this is about all namespaces, and the token is for some")
	p.Help = "a token that swrun token new has made with --all-namespaces may do it"
	return p
}

// hiddenData refuses an operation that returns only data of runs.
func hiddenData() *api.Problem {
	return newProblem(http.StatusForbidden, "forbidden", "Not allowed", "the data of runs is hidden from this token")
}

type callerKey struct{}

// callerOf returns the caller of a request by its context.
func callerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

// authorized refuses a request whose caller may not use the operation. For a caller, a namespace in the path that it does not see contains no runs
// and no workflows. Operations of administrators without a namespace concern all namespaces, and so do operations that are marked ofAll.
func (s *Server) authorized(role Role) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		request, w := humago.Unwrap(ctx)
		x := exchangeOf(request.Context())
		x.route = ctx.Operation().OperationID
		_, x.unaudited = ctx.Operation().Metadata[unaudited]
		caller, err := s.identified(request, role)
		x.caller = caller
		switch namespace := ctx.Param("namespace"); {
		case err != nil, role == RoleOpen, caller.Everywhere:
		case namespace != "" && !caller.Sees(namespace):
			err = notFound("namespace " + namespace)
		case namespace == "" && concernsAll(ctx.Operation(), role):
			err = notForSome()
		}
		leave := func() {}
		if err == nil {
			leave, err = s.placed(ctx, request, caller)
		}
		if err != nil {
			p := s.problem(ctx.Context(), err)
			challenge(w.Header(), request, p.Status)
			x.writeProblem(p)
			return
		}
		defer leave()
		x.check = func() error { return s.stillAllowed(request, role, ctx.Param("namespace")) }
		known := client.WithActor(context.WithValue(ctx.Context(), callerKey{}, caller), caller.Name)
		if role != RoleOpen { // open operations return nothing about a namespace
			known = definition.WithGranted(known, caller.Audience())
		}
		x.room = func(bytes int64) (*held, error) { return s.reserve(known, s.memory.answers, bytes) }
		x.try = func(bytes int64) *held { return s.memory.answers.try(caller.Name, bytes) }
		defer x.endAnswer()
		if _, streams := ctx.Operation().Metadata[holds]; !streams { // a stream reads one piece at a time
			known = client.WithMemory(known, x)
		}
		next(huma.WithContext(ctx, client.WithTraceParent(known, request.Header.Get("Traceparent"))))
	}
}

// stillAllowed returns the reason why the caller of a request in progress may no longer use the operation: a revoked or expired token ends the
// streams of its bearer.
func (s *Server) stillAllowed(r *http.Request, role Role, namespace string) error {
	caller, err := s.config.Authorize(r)
	switch {
	case err != nil:
		return err
	case !caller.Role.Allows(role):
		return forbidden(caller, role)
	case namespace != "" && !caller.Sees(namespace):
		return notFound("namespace " + namespace)
	}
	return nil
}

// identified returns the caller of a request, if it is known. It returns an error if the caller lacks the role, or sends too many requests.
func (s *Server) identified(r *http.Request, role Role) (Caller, error) {
	if role == RoleOpen {
		return Caller{}, nil
	}
	ctx, done := s.limited(r.Context(), store.RefusesAll, s.readWithin())
	defer done()
	caller, err := s.config.Authorize(r.WithContext(ctx))
	if err != nil {
		return caller, s.guessed(r, err)
	}
	if !caller.Role.Allows(role) {
		return caller, forbidden(caller, role)
	}
	return caller, s.rates.take(caller.Name)
}

// guessed counts a wrong token, and returns the error of its request. An address with too many wrong tokens gets the refusal of its rate instead of
// that error. A right token from the address is accepted anyway, because many callers may share an address. A request without a token is no guess.
func (s *Server) guessed(r *http.Request, err error) error {
	var p *api.Problem
	if !errors.As(err, &p) || p.Status != http.StatusUnauthorized {
		return err
	}
	return cmp.Or(s.refusals.take(remoteAddress(r)), err)
}

// challenge sets the header that describes the required credential, and the reason why the given one was not enough.
func challenge(h http.Header, r *http.Request, status int) {
	why := ""
	switch {
	case status == http.StatusForbidden:
		why = `, error="insufficient_scope"`
	case status != http.StatusUnauthorized:
		return
	case r.Header.Get("Authorization") != "":
		why = `, error="invalid_token"`
	}
	h.Set("WWW-Authenticate", `Bearer realm="swrun"`+why)
}

// credentialParameters are the usual names of a token in a query. Logs and histories of browsers would keep the token.
var credentialParameters = []string{"access_token", "token", "api_key", "apikey", "auth", "authorization", "bearer"}

// credentialInQuery refuses a request whose query contains a token.
func credentialInQuery(r *http.Request) *api.Problem {
	for name := range r.URL.Query() {
		if slices.Contains(credentialParameters, strings.ToLower(name)) {
			p := newProblem(http.StatusBadRequest, "token-in-query", "A token in the query", "a token must not stand in the query, where logs keep it: revoke this one")
			p.Help = "send it as Authorization: Bearer TOKEN"
			return p
		}
	}
	return nil
}
