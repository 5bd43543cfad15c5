package tasks

import (
	"context"
	"encoding/base64"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/oauth"
	"github.com/swrun/swrun/interpreter"
)

// authentication is a compiled policy (semantics section 17). A nil one sends no credential.
type authentication struct {
	scheme     string
	secret     string         // name of the secret that contains the properties
	properties *expr.Template // nil if a secret contains them
	authority  *uri           // of oauth2 and oidc; nil if a secret contains it
}

func compileAuthentication(b *interpreter.Builder, a *dsl.Authentication) *authentication {
	if a == nil {
		return nil
	}
	if a.Use.Name != "" {
		named := b.Workflow().Use.Authentications[a.Use.Name]
		if named == nil {
			b.Add(a.Use.Undefined())
			return nil
		}
		a = named
	}
	if a.Secret.Name != "" {
		b.NeedsSecret(a.Secret.Name)
	}
	compiled := &authentication{scheme: a.Scheme, secret: a.Secret.Name, properties: b.Value(a.Properties)}
	if compiled.secret == "" && takesToken(a.Scheme) {
		compiled.authority = compileAuthority(b, a)
	}
	return compiled
}

// Credentials are the proofs of identity that calls obtained: the tokens of oauth2 and oidc, and the connections of certificates. They are in memory
// only. All calls of a process should share one.
type Credentials struct {
	tokens    oauth.Tokens
	certified certified
}

// credential is the part of a policy in a frozen request: the name of a secret, or the properties. Tokens and certificates that it leads to are only
// in memory.
type credential struct {
	Scheme   string        `json:"scheme"`
	Secret   string        `json:"secret,omitempty"`
	Username string        `json:"username,omitempty"`
	Password string        `json:"password,omitempty"`
	Token    string        `json:"token,omitempty"`
	OAuth    *oauth.Policy `json:"oauth,omitempty"` // of oauth2 and oidc

	config      Config             // of the caller that resolves it
	tokens      []*oauth.Token     // of oauth2 and oidc; the last one counts
	certificate *clientCertificate // of certificate
}

func (a *authentication) prepare(s *interpreter.Scope, input any) (*credential, *errors.Error) {
	if a == nil {
		return nil, nil
	}
	c := &credential{Scheme: a.scheme, Secret: a.secret}
	if a.secret != "" {
		_, err := s.Secret(a.secret) // a missing secret is found before anything is sent
		return c, err
	}
	properties, err := evalObject(s, a.properties, input, "an authentication policy")
	if err != nil {
		return nil, err
	}
	if a.authority != nil {
		properties = maps.Clone(properties)
		if properties["authority"], err = a.authority.expand(s, input); err != nil {
			return nil, err
		}
	}
	if err := c.fill(properties); err != nil {
		return c, s.WithExpression(err, a.properties)
	}
	return c, nil
}

// fill takes the scheme's properties. A property that is missing in a secret is an authentication error.
func (c *credential) fill(properties map[string]any) *errors.Error {
	needed := map[string]*string{"username": &c.Username, "password": &c.Password}
	switch {
	case takesToken(c.Scheme):
		return c.fillOAuth(properties)
	case c.Scheme == dsl.SchemeCertificate:
		return c.fillCertificate(properties)
	case c.Scheme == "bearer":
		needed = map[string]*string{"token": &c.Token}
	}
	for _, name := range slices.Sorted(maps.Keys(needed)) { // sorted, so that the same mistake is reported each time
		field := needed[name]
		text, ok := properties[name].(string)
		if !ok {
			return errors.Authenticationf("%s authentication needs a %s, got %s", c.Scheme, name, kindOf(properties[name]))
		}
		switch {
		case name != "token":
		case strings.TrimSpace(text) == "":
			return errors.Authenticationf("the token of %s authentication must not be empty", c.Scheme)
		case strings.ContainsFunc(text, dsl.IsControl): // files end in a line break
			return errors.Authenticationf("the token of %s authentication holds characters that cannot be sent, such as a line break", c.Scheme)
		}
		*field = text
	}
	return nil
}

// resolve reads the secret, if the policy names one, and gets the token, if the scheme needs one. It does not change the policy. It returns a copy
// with the data to be sent; nil for no policy.
func (c *credential) resolve(ctx context.Context, config Config) (*credential, error) {
	if c == nil {
		return nil, nil
	}
	resolved := *c
	resolved.config = config
	if c.Secret != "" {
		v, ok := any(nil), false
		if config.Secrets != nil {
			v, ok = config.Secrets(c.Secret)
		}
		if !ok {
			return nil, errors.Authorizationf("the secret %q is not available", c.Secret)
		}
		if err := resolved.fromSecret(v); err != nil {
			return nil, err
		}
	}
	if takesToken(c.Scheme) {
		return &resolved, resolved.getToken(ctx)
	}
	return &resolved, nil
}

func (c *credential) fromSecret(v any) *errors.Error {
	if _, ok := v.(string); ok && c.Scheme == "bearer" { // a secret that consists only of the token
		v = map[string]any{"token": v}
	}
	properties, ok := v.(map[string]any)
	if !ok {
		return errors.Authenticationf("the secret %q must be an object with the properties of %s authentication", c.Secret, c.Scheme)
	}
	return c.fill(properties)
}

// apply puts the credential on a request, unless it is computed from the answer or is no part of the message.
func (c *credential) apply(header http.Header) {
	if h := c.header(); h != "" {
		header.Set("Authorization", h)
	}
}

// header returns the value of Authorization; "" if it is not known before the answer, or if no such header is sent.
func (c *credential) header() string {
	switch c.Scheme {
	case "digest", dsl.SchemeCertificate:
		return ""
	case "basic":
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(c.Username+":"+c.Password))
	}
	return "Bearer " + c.Token
}

// descriptor returns $authorization, which is known for the rest of the task (semantics 17.4). A digest and a token are made per request, so that
// only their schemes are known. A certificate authorizes without one.
func (a *authentication) descriptor(s *interpreter.Scope) any {
	if a == nil || a.scheme == dsl.SchemeCertificate {
		return nil
	}
	if takesToken(a.scheme) {
		return map[string]any{"scheme": "Bearer", "parameter": nil}
	}
	c, err := a.prepare(s, s.Input())
	if err != nil {
		return nil
	}
	if c.Scheme == "digest" {
		return map[string]any{"scheme": "Digest", "parameter": nil}
	}
	if c.Secret != "" {
		v, err := s.Secret(c.Secret)
		if err != nil || c.fromSecret(v) != nil {
			return nil
		}
	}
	if c.Scheme == "bearer" {
		return map[string]any{"scheme": "Bearer", "parameter": c.Token}
	}
	return map[string]any{"scheme": "Basic", "parameter": c.header()[len("Basic "):]}
}
