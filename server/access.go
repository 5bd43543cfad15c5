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

// This file says who asks, and refuses who may not.

// Role and Caller are those of package access.
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

// Authorize says who sends a request. An *api.Problem refuses it.
type Authorize func(*http.Request) (Caller, error)

// TrustEveryone takes whoever asks for an administrator. It is for an address that only this machine reaches.
func TrustEveryone(*http.Request) (Caller, error) { return access.Local(), nil }

// TrustOwner takes whoever asks for an administrator of the name that they give. It is for a socket that only the owner of the store can open.
func TrustOwner(r *http.Request) (Caller, error) {
	owner := access.Local()
	if name := r.Header.Get(api.ActorHeader); name != "" {
		owner.Name = shorten.To(name, maxActor)
	}
	return owner, nil
}

// maxActor is how many bytes of who asks are recorded.
const maxActor = 100

// trustNobody is used where nothing says who may ask.
func trustNobody(*http.Request) (Caller, error) { return Caller{}, nil }

// TrustTokens knows callers by their tokens.
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
	p := newProblem(http.StatusUnauthorized, "unauthorized", "Who asks is not known", detail)
	p.Help = "swrun token new makes a token; it is sent as Authorization: Bearer TOKEN"
	return p
}

func forbidden(c Caller, need Role) *api.Problem {
	if c.Role == "" {
		return unauthorized("this needs a token")
	}
	return newProblem(http.StatusForbidden, "forbidden", "Not allowed", fmt.Sprintf("this needs the role %s, and the token's is %s", need, c.Role))
}

// ofAll is in the metadata of operations that change something for all namespaces.
const ofAll = "ofAll"

// concernsAll reports whether an operation that names no namespace is for callers who see all of them.
func concernsAll(o *huma.Operation, role Role) bool {
	_, marked := o.Metadata[ofAll]
	return role == RoleAdmin || marked
}

func notForSome() *api.Problem {
	p := newProblem(http.StatusForbidden, "forbidden", "Not allowed", "this is about all namespaces, and the token is for some")
	p.Help = "a token that swrun token new has made with --all-namespaces may do it"
	return p
}

// hiddenData refuses what is nothing but data of runs.
func hiddenData() *api.Problem {
	return newProblem(http.StatusForbidden, "forbidden", "Not allowed", "the data of runs is hidden from this token")
}

type callerKey struct{}

// callerOf returns who has sent the request of a context.
func callerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

// authorized refuses a request whose caller may not use the operation. A namespace in the path that the caller does not see has no runs
// and no workflows for them. What administrators do without naming a namespace is about all of them, and so is what is marked ofAll.
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
			writeProblem(w, p)
			return
		}
		defer leave()
		x.check = func() error { return s.stillAllowed(request, role, ctx.Param("namespace")) }
		known := client.WithActor(context.WithValue(ctx.Context(), callerKey{}, caller), caller.Name)
		if role != RoleOpen { // what is open tells of no namespace
			known = definition.WithGranted(known, caller.Audience())
		}
		x.room = func(bytes int64) (*held, error) { return s.reserve(known, s.memory.answers, bytes) }
		x.try = func(bytes int64) *held { return s.memory.answers.try(caller.Name, bytes) }
		defer x.endAnswer()
		if _, streams := ctx.Operation().Metadata[holds]; !streams { // a stream reads a piece at a time
			known = client.WithMemory(known, x)
		}
		next(huma.WithContext(ctx, client.WithTraceParent(known, request.Header.Get("Traceparent"))))
	}
}

// stillAllowed returns why who has sent a request that goes on may not use it any more: a token that is revoked, or expires, ends what its
// bearer follows.
func (s *Server) stillAllowed(r *http.Request, role Role, namespace string) error {
	caller, err := s.config.Authorize(r)
	switch {
	case err != nil:
		return err
	case !caller.Role.Allows(role), namespace != "" && !caller.Sees(namespace):
		return forbidden(caller, role)
	}
	return nil
}

// identified returns who sends a request, as far as that is known, and an error unless they may use what needs a role, and not too often.
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

// guessed counts a wrong token, and returns the error of its request: who has shown too many from an address learns nothing more. A right token from
// there is taken all the same, since many callers may share an address, and a request without a token is no guess.
func (s *Server) guessed(r *http.Request, err error) error {
	var p *api.Problem
	if !errors.As(err, &p) || p.Status != http.StatusUnauthorized {
		return err
	}
	return cmp.Or(s.refusals.take(remoteAddress(r)), err)
}

// challenge says how to identify oneself, and why that was not enough.
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

// credentialParameters are what others call a token in a query, where it would end up in logs and histories of browsers.
var credentialParameters = []string{"access_token", "token", "api_key", "apikey", "auth", "authorization", "bearer"}

// credentialInQuery refuses a request whose query holds a token.
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
