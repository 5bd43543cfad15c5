package oauth

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
)

// parameters returns the parameters of a request for a token. A refresh token takes the place of the grant, if there is one.
func (p *Policy) parameters(refresh string) (url.Values, error) {
	v := url.Values{"grant_type": {p.Grant}}
	switch {
	case refresh != "":
		v.Set("grant_type", GrantRefresh)
		v.Set("refresh_token", refresh)
	case p.Grant == GrantRefresh:
		v.Set("refresh_token", p.Subject.Token)
	case p.Grant == GrantCode:
		v.Set("code", p.Subject.Token)
	case p.Grant == GrantPassword:
		v.Set("username", p.Username)
		v.Set("password", p.Password)
	case p.Grant == GrantTokenExchange:
		v.Set("subject_token", p.Subject.Token)
		v.Set("subject_token_type", p.Subject.Type)
		if p.Actor != nil {
			v.Set("actor_token", p.Actor.Token)
			v.Set("actor_token_type", p.Actor.Type)
		}
	}
	if scopes := p.scopes(); len(scopes) > 0 {
		v.Set("scope", strings.Join(scopes, " "))
	}
	if len(p.Audiences) > 0 {
		v["audience"] = p.Audiences
	}
	for name, value := range p.Request.Parameters {
		if v.Has(name) || strings.HasPrefix(name, "client_") {
			return nil, fmt.Errorf("`request.parameters` must not have %s: the policy says it", name)
		}
		v.Set(name, value)
	}
	return v, nil
}

// scopes returns the requested scopes. A request to a provider of OpenID Connect must contain the scope openid. For a code, the request of the code
// already contained the scopes.
func (p *Policy) scopes() []string {
	if !p.OpenID || p.Grant == GrantCode || slices.Contains(p.Scopes, oidc.ScopeOpenID) {
		return p.Scopes
	}
	return append([]string{oidc.ScopeOpenID}, p.Scopes...)
}
