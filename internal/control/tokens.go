package control

import (
	"context"

	"github.com/swrun/swrun/internal/access"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/duration"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
	"time"
)

// Tokens returns the tokens that identify callers of the deployment.
func (c *Control) Tokens() *access.Tokens { return c.tokens }

// Registry returns the registry of the deployment.
func (c *Control) Registry() store.Registry { return c.store }

// IssueToken creates a token. An invalid request is an *access.InvalidError.
func (c *Control) IssueToken(ctx context.Context, in *api.TokenStart) (api.IssuedToken, error) {
	r := in.Body
	lasts, err := expiry(r.ExpiresIn)
	if err != nil {
		return api.IssuedToken{}, err
	}
	grant := access.Grant{Role: access.Role(r.Role), Namespaces: r.Namespaces, Everywhere: r.AllNamespaces, HidesData: r.HideData}
	text, made, err := c.tokens.New(ctx, r.Name, grant, lasts, client.Actor(ctx))
	if err != nil {
		return api.IssuedToken{}, err
	}
	return api.IssuedToken{Token: api.NewToken(made), Text: text}, nil
}

// ListTokens returns all tokens without their texts, which are not stored.
func (c *Control) ListTokens(ctx context.Context, _ *api.None) (api.TokenList, error) {
	all, err := c.tokens.List(ctx)
	if err != nil {
		return api.TokenList{}, err
	}
	list := api.TokenList{Tokens: []api.Token{}}
	for _, t := range all {
		list.Tokens = append(list.Tokens, api.NewToken(t))
	}
	return list, nil
}

// RevokeToken deletes a token: servers refuse it within access.KnownFor.
func (c *Control) RevokeToken(ctx context.Context, in *api.TokenPath) error {
	return c.tokens.Revoke(ctx, in.Name)
}

// expiry parses the lifetime of a token; empty means unlimited.
func expiry(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	lasts, err := duration.Parse(text)
	switch {
	case err != nil:
		return 0, &access.InvalidError{Field: "expiresIn", Detail: err.Error()}
	case lasts == 0:
		return 0, &access.InvalidError{Field: "expiresIn", Detail: "must be at least 1s; leave it out for a token that does not expire"}
	}
	return lasts, nil
}
