package tasks

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/interpreter"
)

// authentication is a compiled policy (semantics section 17). A nil one sends no credential.
type authentication struct {
	scheme     string
	secret     string         // name of the secret that holds the properties
	properties *expr.Template // nil if a secret holds them
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
	switch a.Scheme {
	case "basic", "bearer", "digest":
	default:
		b.Report("SW801", a.Pointer, fmt.Sprintf("authentication by `%s` is not supported yet", a.Scheme))
		return nil
	}
	if a.Secret.Name != "" {
		b.NeedsSecret(a.Secret.Name)
	}
	return &authentication{scheme: a.Scheme, secret: a.Secret.Name, properties: b.Value(a.Properties)}
}

// credential is what a frozen request holds of a policy: the name of a secret, or the properties.
type credential struct {
	Scheme   string `json:"scheme"`
	Secret   string `json:"secret,omitempty"`
	Username string `json:"username,omitempty"`
	Password string `json:"password,omitempty"`
	Token    string `json:"token,omitempty"`
}

func (a *authentication) prepare(s *interpreter.Scope, input any) (*credential, *errors.Error) {
	if a == nil {
		return nil, nil
	}
	c := &credential{Scheme: a.scheme, Secret: a.secret}
	if a.secret != "" {
		_, err := s.Secret(a.secret) // that it is missing is found before anything is sent
		return c, err
	}
	properties, err := evalObject(s, a.properties, input, "an authentication policy")
	if err != nil {
		return nil, err
	}
	if err := c.fill(properties); err != nil {
		return c, s.WithExpression(err, a.properties)
	}
	return c, nil
}

// fill takes the scheme's properties; what is missing in a secret is an authentication error.
func (c *credential) fill(properties map[string]any) *errors.Error {
	needed := map[string]*string{"username": &c.Username, "password": &c.Password}
	if c.Scheme == "bearer" {
		needed = map[string]*string{"token": &c.Token}
	}
	for _, name := range slices.Sorted(maps.Keys(needed)) { // sorted, so that the same mistake is reported each time
		field := needed[name]
		text, ok := properties[name].(string)
		if !ok {
			return errors.Authenticationf("%s authentication needs a %s, got %s", c.Scheme, name, kindOf(properties[name]))
		}
		if name == "token" && strings.TrimSpace(text) == "" {
			return errors.Authenticationf("the token of %s authentication must not be empty", c.Scheme)
		}
		*field = text
	}
	return nil
}

// resolve reads the secret, if there is one.
func (c *credential) resolve(secrets interpreter.Secrets) *errors.Error {
	if c.Secret == "" {
		return nil
	}
	if secrets != nil {
		if v, ok := secrets(c.Secret); ok {
			return c.fromSecret(v)
		}
	}
	return errors.Authorizationf("the secret %q is not available", c.Secret)
}

func (c *credential) fromSecret(v any) *errors.Error {
	if _, ok := v.(string); ok && c.Scheme == "bearer" { // a secret that is nothing but the token
		v = map[string]any{"token": v}
	}
	properties, ok := v.(map[string]any)
	if !ok {
		return errors.Authenticationf("the secret %q must be an object with the properties of %s authentication", c.Secret, c.Scheme)
	}
	return c.fill(properties)
}

// apply puts the credential on a request, unless it is made of the answer.
func (c *credential) apply(header http.Header) {
	if c.Scheme != "digest" {
		header.Set("Authorization", c.header())
	}
}

func (c *credential) header() string {
	if c.Scheme == "bearer" {
		return "Bearer " + c.Token
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(c.Username+":"+c.Password))
}

// descriptor is $authorization, known for the rest of the task (semantics 17.4). A digest is made per request, so
// that only its scheme is known.
func (a *authentication) descriptor(s *interpreter.Scope) any {
	c, err := a.prepare(s, s.Input())
	if err != nil || c == nil {
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
