package oauth

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
)

// wellKnown is the path at which an authority describes itself.
const wellKnown = "/.well-known/openid-configuration"

// defaultToken is the default path of the token endpoint, unless a policy or the authority specifies another one.
const defaultToken = "/oauth2/token"

// endpoint returns the token endpoint, and the provider if the authority describes itself.
func (p *Policy) endpoint(ctx context.Context) (*oidc.Provider, string, error) {
	issuer, described := strings.CutSuffix(strings.TrimSuffix(p.Authority, "/"), wellKnown)
	if !p.OpenID && !described {
		endpoint, err := p.tokenEndpoint()
		return nil, endpoint, err
	}
	if !described {
		issuer = p.Authority
	}
	provider, err := oidc.NewProvider(ctx, issuer)
	var mismatch *oidc.IssuerMismatchError
	if errors.As(err, &mismatch) {
		if !p.trusts(issuer, mismatch.Discovered) {
			return nil, "", rejectf("the authority describes %.200q, which is neither itself nor among the policy's issuers", mismatch.Discovered)
		}
		provider, err = oidc.NewProvider(oidc.InsecureIssuerURLContext(ctx, mismatch.Discovered), issuer)
	}
	if err != nil {
		return nil, "", &undescribed{err}
	}
	endpoint := provider.Endpoint().TokenURL
	if err := checkEndpoint(endpoint, p.Authority); err != nil {
		return nil, "", err
	}
	return provider, endpoint, nil
}

// undescribed explains why a required description of an authority is missing.
type undescribed struct{ err error }

func (e *undescribed) Error() string { return e.err.Error() }

func (e *undescribed) Unwrap() error { return e.err }

// trusts reports whether an authority may use another issuer than the policy: with or without a slash at the end, or one of the issuers that the
// policy names.
func (p *Policy) trusts(issuer, discovered string) bool {
	return discovered != "" && (strings.TrimSuffix(issuer, "/") == strings.TrimSuffix(discovered, "/") || slices.Contains(p.Issuers, discovered))
}

// tokenEndpoint returns the token endpoint of the policy: a path below the authority, or a URL.
func (p *Policy) tokenEndpoint() (string, error) {
	path := p.Endpoints.Token
	if path == "" {
		path = defaultToken
	}
	if u, err := url.Parse(path); err == nil && u.IsAbs() {
		return path, checkEndpoint(path, p.Authority)
	}
	path, query, _ := strings.Cut(path, "?")
	endpoint, err := url.JoinPath(p.Authority, path)
	if err != nil {
		return "", rejectf("the endpoint of tokens is no path")
	}
	if query != "" {
		endpoint += "?" + query
	}
	return endpoint, nil
}

// checkEndpoint reports why credentials cannot be sent to an endpoint.
func checkEndpoint(endpoint, authority string) error {
	u, err := url.Parse(endpoint)
	switch {
	case endpoint == "":
		return rejectf("the authority describes no endpoint of tokens")
	case err != nil, u.Scheme != "https" && u.Scheme != "http", u.Hostname() == "":
		return rejectf("the endpoint of tokens is no URL")
	case u.Scheme == "http" && strings.HasPrefix(strings.ToLower(authority), "https:"):
		return rejectf("the endpoint of tokens has no TLS, which the authority has")
	}
	return nil
}
