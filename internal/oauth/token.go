package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/swrun/swrun/redact"
)

// Token is a token for calls of services.
type Token struct {
	Access string
	Hidden *redact.Set // hides the token in answers of services

	refresh string    // gets another one; may be empty
	until   time.Time // when it is no longer used
}

// RefusedError explains why a server gave no token, or an unusable one. It contains no secret of the policy.
type RefusedError struct {
	Code   string // of OAuth, if the server has given one
	Method string // of the last request that was sent to the server; empty if none was
	URI    string // of that request, without its query
	text   string
	err    error
}

// Error implements error.
func (e *RefusedError) Error() string { return e.text }

// Unwrap returns the cause, if there is one.
func (e *RefusedError) Unwrap() error { return e.err }

// ask asks the authority for a token. It ends with ctx.
func (p *Policy) ask(ctx context.Context, transport http.RoundTripper, refresh string, now func() time.Time) (*Token, error) {
	s := &server{transport: transport, asJSON: p.Request.Encoding == encodingJSON}
	within := oidc.ClientContext(ctx, s.client())
	token, err := p.askServer(within, s, refresh, now)
	if err == nil || ctx.Err() != nil {
		return token, err
	}
	hidden := p.hidden(refresh)
	refused := &RefusedError{Method: s.method, URI: hidden.Text(s.uri), text: hidden.Text(s.explain(err)), err: err}
	var answered *oauth2.RetrieveError
	if errors.As(err, &answered) {
		refused.Code = hidden.Text(answered.ErrorCode)
	}
	return nil, refused
}

// explain returns the text of an error, without text of the server's answer.
func (s *server) explain(err error) string {
	var answered *oauth2.RetrieveError
	var failed *url.Error
	switch {
	case s.tooLarge:
		return fmt.Sprintf("the answer has more than %d bytes", maxAnswer)
	case errors.As(err, &answered):
		return refusal(answered)
	case errors.As(err, &failed): // its text would have the URL, too
		return failed.Err.Error()
	case s.useless != "" && s.method == http.MethodPost && strings.HasPrefix(s.status, "2"):
		return fmt.Sprintf("the server answers %s, but the answer %s", s.status, s.useless)
	case errors.As(err, new(*rejection)):
		return err.Error()
	case s.status != "" && errors.As(err, new(*undescribed)):
		return fmt.Sprintf("the server answers %s to %s, where it has to describe itself", s.status, wellKnown)
	case s.status != "":
		return fmt.Sprintf("the server answers %s, with %s that cannot be understood", s.status, quotedMedia(s.media))
	}
	return err.Error()
}

func quotedMedia(media string) string {
	media, _, _ = strings.Cut(media, ";")
	if media == "" {
		return "something"
	}
	return fmt.Sprintf("%.100q", media)
}

// rejection explains why an answer is not accepted. Its text contains no data of the answer.
type rejection struct{ text string }

func (r *rejection) Error() string { return r.text }

func rejectf(format string, args ...any) error { return &rejection{fmt.Sprintf(format, args...)} }

func (p *Policy) askServer(ctx context.Context, s *server, refresh string, now func() time.Time) (*Token, error) {
	provider, endpoint, err := p.endpoint(ctx)
	if err != nil {
		return nil, err
	}
	parameters, err := p.parameters(refresh)
	if err != nil {
		return nil, &rejection{err.Error()}
	}
	request := &clientcredentials.Config{TokenURL: endpoint, EndpointParams: parameters}
	if err := p.Client.identify(request, now()); err != nil {
		return nil, &rejection{err.Error()}
	}
	answer, err := request.Token(ctx)
	if err != nil {
		return nil, err
	}
	if err := p.accept(answer); err != nil {
		return nil, err
	}
	if err := p.verifyIdentity(ctx, provider, answer, now); err != nil {
		return nil, err
	}
	return keep(answer, now()), nil
}

// accept reports why a token cannot be sent to services.
func (p *Policy) accept(answer *oauth2.Token) error {
	if media := answer.TokenType; media != "" && !strings.EqualFold(media, "bearer") {
		return rejectf("the server gives a token of type %.100q: only bearer tokens can be sent", media)
	}
	if strings.ContainsFunc(answer.AccessToken, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return rejectf("the server gives a token with characters that cannot be sent")
	}
	if len(p.Issuers) == 0 {
		return nil
	}
	issuer, signed := issuerOf(answer.AccessToken)
	if signed && !slices.Contains(p.Issuers, issuer) {
		return rejectf("the token is of the issuer %.200q, which is not among the policy's issuers", issuer)
	}
	return nil
}

// issuerOf returns the issuer that a token names, if it is a JWT. The service checks its signature, because the token comes from the authority
// itself.
func issuerOf(access string) (issuer string, signed bool) {
	if strings.Count(access, ".") != 2 {
		return "", false // only the authority can read it
	}
	parsed, err := jwt.ParseSigned(access, signatures())
	var claims jwt.Claims
	if err == nil {
		err = parsed.UnsafeClaimsWithoutVerification(&claims)
	}
	if err != nil {
		return "", true
	}
	return claims.Issuer, true
}

func signatures() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{
		jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA, jose.HS256, jose.HS384, jose.HS512,
	}
}

// verifyIdentity checks the token about the identity of the user, which a provider of OpenID Connect may give besides.
func (p *Policy) verifyIdentity(ctx context.Context, provider *oidc.Provider, answer *oauth2.Token, now func() time.Time) error {
	identity, _ := answer.Extra("id_token").(string) // none, where there is no user
	if !p.OpenID || identity == "" {
		return nil
	}
	verifier := provider.VerifierContext(ctx, &oidc.Config{ClientID: p.Client.ID, SkipClientIDCheck: p.Client.ID == "", Now: now})
	verified, err := verifier.Verify(ctx, identity)
	if err != nil {
		return rejectf("the ID token cannot be trusted: %s", strings.TrimPrefix(err.Error(), "oidc: "))
	}
	if verified.AccessTokenHash != "" && verified.VerifyAccessToken(answer.AccessToken) != nil {
		return rejectf("the ID token is about another access token")
	}
	return nil
}

// The time for which tokens are used: a little shorter than their validity, because a request takes time and clocks differ, and never forever.
const (
	maxEarly = 30 * time.Second
	maxKept  = 24 * time.Hour
)

// keep returns a token with the time for which it is used. A token without an expiry is used until a service refuses it.
func keep(answer *oauth2.Token, now time.Time) *Token {
	t := &Token{Access: answer.AccessToken, Hidden: redact.New(map[string]any{"token": answer.AccessToken}, true), refresh: answer.RefreshToken, until: now.Add(maxKept)}
	if said := answer.Extra("expires_in"); said == nil || said == "" {
		return t
	}
	valid := min(max(answer.Expiry.Sub(now), 0), maxKept) // an Expiry of zero is long ago
	t.until = now.Add(valid - min(valid/10, maxEarly))
	return t
}
