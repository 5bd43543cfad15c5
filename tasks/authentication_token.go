package tasks

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/oauth"
	"github.com/swrun/swrun/interpreter"
)

// takesToken reports whether a scheme asks an authority for a token.
func takesToken(scheme string) bool { return scheme == "oauth2" || scheme == "oidc" }

// compileAuthority returns the authority of a policy: a URI like the URIs of endpoints.
func compileAuthority(b *interpreter.Builder, a *dsl.Authentication) *uri {
	properties, _ := a.Properties.Data.(map[string]any) // the parser checked the type
	text, _ := properties["authority"].(string)
	return compileURI(b, &dsl.Endpoint{Pointer: a.Pointer, URI: dsl.Value{Pointer: a.Properties.Pointer.Key("authority"), Data: text, Form: dsl.FormText}})
}

// fillOAuth takes the properties of a policy.
func (c *credential) fillOAuth(properties map[string]any) *errors.Error {
	client, _ := properties["client"].(map[string]any) // a value that is no object is reported below
	grant, _ := properties["grant"].(string)
	method, _ := client["authentication"].(string)
	for _, needed := range dsl.OAuth2Needs(grant, method) {
		if !slices.ContainsFunc(needed, func(name string) bool { return isGiven(properties, name) }) {
			return errors.Authenticationf("%s authentication by %s needs %s", c.Scheme, cut(grant), strings.Join(needed, " or "))
		}
	}
	policy, err := oauth.Decode(properties, c.Scheme == "oidc")
	if err != nil {
		return errors.Authenticationf("the policy of %s authentication is wrong: %s", c.Scheme, err)
	}
	c.OAuth = policy
	return nil
}

// isGiven reports whether a property, for example client.id, exists. Only the name or the password of a user may be empty.
func isGiven(properties map[string]any, name string) bool {
	first, inner, nested := strings.Cut(name, ".")
	v := properties[first]
	if nested {
		object, isObject := v.(map[string]any)
		if v != nil && !isObject {
			return true // which is reported
		}
		v = object[inner]
	}
	text, isText := v.(string)
	return v != nil && (!isText || !nested || strings.TrimSpace(text) != "")
}

// getToken gets the token to be sent.
func (c *credential) getToken(ctx context.Context) error {
	c.OAuth.OpenID = c.Scheme == "oidc" // OpenID is not stored
	token, err := c.config.Credentials.tokens.Get(withCall(ctx), c.OAuth, c.config.transport())
	if err != nil {
		return c.withoutToken(ctx, err)
	}
	c.take(token)
	return nil
}

// renew gets another token after a service refused the first one, and reports whether it got one. A call does so once.
func (c *credential) renew(ctx context.Context) (bool, error) {
	if c == nil || len(c.tokens) != 1 {
		return false, nil
	}
	token, err := c.config.Credentials.tokens.Renew(withCall(ctx), c.OAuth, c.config.transport(), c.tokens[0])
	if err != nil {
		return false, c.withoutToken(ctx, err)
	}
	if token == nil {
		return false, nil
	}
	c.take(token)
	return true, nil
}

// renewRefused is like renew, if a service refused a call as unauthenticated.
func (c *credential) renewRefused(ctx context.Context, err error) (bool, error) {
	fault := errors.AsError(err)
	if fault == nil || fault.Type != errors.Communication || fault.Status != http.StatusUnauthorized {
		return false, nil
	}
	return c.renew(ctx)
}

func (c *credential) take(token *oauth.Token) {
	c.tokens, c.Token = append(slices.Clip(c.tokens), token), token.Access
}

// withoutToken returns the error of a call for which there is no token (semantics 11.6). If the authority may not be called here, another worker may
// call it.
func (c *credential) withoutToken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	what := "no token from " + withoutQuery(c.OAuth.Authority)
	if fault, need := unreached(what, err); need != "" {
		return &interpreter.NeedError{Need: need, Err: fault}
	}
	fault := errors.Authenticationf("%s: %s", what, cut(err.Error()))
	var refused *oauth.RefusedError
	if !errors.As(err, &refused) {
		return fault
	}
	if refused.Code != "" {
		fault = fault.With("error", cut(refused.Code))
	}
	if refused.Method != "" { // the call itself was not sent
		fault = fault.With(errors.MemberRequest, map[string]any{"method": refused.Method, "uri": refused.URI})
	}
	return fault
}

// hide removes the sent tokens from the answer of a service: no run may store them.
func (c *credential) hide(result any, err error) (any, error) {
	if c == nil {
		return result, err
	}
	for _, token := range c.tokens {
		var need *interpreter.NeedError
		switch fault := errors.AsError(err); {
		case errors.As(err, &need):
		case fault != nil:
			err = token.Hidden.Error(fault)
		case err == nil:
			result = token.Hidden.Value(result)
		}
	}
	return result, err
}

// again sends a request once more with another token, if the service refused the first token. Otherwise it returns the answer.
func (c *credential) again(transport http.RoundTripper, sent *http.Request, answer *http.Response) (*http.Response, error) {
	if answer.StatusCode != http.StatusUnauthorized || sent.Body != nil && sent.Body != http.NoBody && sent.GetBody == nil {
		return answer, nil
	}
	renewed, err := c.renew(sent.Context())
	if err != nil {
		answer.Body.Close()
		return nil, err
	}
	if !renewed {
		return answer, nil
	}
	again, err := repeated(sent, answer)
	if err != nil {
		return nil, err
	}
	again.Header.Set("Authorization", c.header())
	return sendOnce(transport, again)
}
