// Package oauth gets tokens by OAuth 2.0 and OpenID Connect, as a policy of a workflow requires. golang.org/x/oauth2 and go-oidc implement the
// protocols. This package reads policies, decides which answers are accepted as tokens, and decides how long a token is kept.
package oauth

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/swrun/swrun/redact"
)

// The grants.
const (
	GrantCode          = "authorization_code"
	GrantClient        = "client_credentials"
	GrantPassword      = "password"
	GrantRefresh       = "refresh_token"
	GrantTokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
)

// The methods by which a client proves its identity.
const (
	methodBasic     = "client_secret_basic"
	methodPost      = "client_secret_post"
	methodSecretJWT = "client_secret_jwt"
	methodKeyJWT    = "private_key_jwt"
	methodNone      = "none"
)

// The encodings of a request.
const (
	encodingForm = "application/x-www-form-urlencoded"
	encodingJSON = "application/json"
)

// Policy specifies the requested token, and the request. Its JSON is the form of the DSL.
type Policy struct {
	OpenID bool `json:"-"` // the authority describes itself, and identifies the user

	Authority string         `json:"authority"`
	Grant     string         `json:"grant"`
	Client    Client         `json:"client"`
	Request   Request        `json:"request"`
	Endpoints Endpoints      `json:"endpoints"`
	Issuers   []string       `json:"issuers,omitempty"`
	Scopes    []string       `json:"scopes,omitempty"`
	Audiences []string       `json:"audiences,omitempty"`
	Username  string         `json:"username,omitempty"`
	Password  string         `json:"password,omitempty"`
	Subject   *SecurityToken `json:"subject,omitempty"`
	Actor     *SecurityToken `json:"actor,omitempty"`
}

// Client is the client that requests the token.
type Client struct {
	ID             string `json:"id,omitempty"`
	Secret         string `json:"secret,omitempty"`
	Assertion      string `json:"assertion,omitempty"`
	Authentication string `json:"authentication,omitempty"`
}

// Request specifies the form of the request for a token.
type Request struct {
	Encoding   string            `json:"encoding,omitempty"`
	Parameters map[string]string `json:"parameters,omitempty"` // besides the parameters that the policy makes
}

// Endpoints are paths below the authority, or URLs.
type Endpoints struct {
	Token string `json:"token,omitempty"`
}

// SecurityToken represents a subject or an actor. The token of a subject is also used as a refresh token or a code.
type SecurityToken struct {
	Token string `json:"token"`
	Type  string `json:"type"`
}

// Decode returns the policy of some properties. The caller checks that the properties for its grant are there.
func Decode(properties map[string]any, openID bool) (*Policy, error) {
	text, err := json.Marshal(properties)
	if err != nil {
		return nil, errors.New("its properties do not form a policy")
	}
	p := &Policy{}
	if err := json.Unmarshal(text, p); err != nil {
		var mistaken *json.UnmarshalTypeError
		if !errors.As(err, &mistaken) {
			return nil, errors.New("its properties do not form a policy")
		}
		kind, _, _ := strings.Cut(mistaken.Value, " ") // a number may follow, which may be a secret
		return nil, fmt.Errorf("`%s` cannot be of type %s", mistaken.Field, kind)
	}
	p.OpenID = openID
	return p, p.check()
}

// check reports parts of the policy that cannot be requested.
func (p *Policy) check() error {
	u, err := url.Parse(p.Authority)
	switch {
	case err != nil, u.Scheme != "https" && u.Scheme != "http", u.Hostname() == "":
		return errors.New("the authority must be a URL such as https://example.com")
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return errors.New("the authority must be a URL without a user, a query and a fragment")
	}
	for _, one := range []struct {
		name, value string
		allowed     []string
	}{
		{"grant", p.Grant, []string{GrantCode, GrantClient, GrantPassword, GrantRefresh, GrantTokenExchange}},
		{"client.authentication", p.Client.Authentication, []string{"", methodBasic, methodPost, methodSecretJWT, methodKeyJWT, methodNone}},
		{"request.encoding", p.Request.Encoding, []string{"", encodingForm, encodingJSON}},
	} {
		if !slices.Contains(one.allowed, one.value) {
			return fmt.Errorf("`%s` must be one of %s", one.name, strings.TrimSpace(strings.Join(one.allowed, " ")))
		}
	}
	for _, list := range [][]string{p.Issuers, p.Scopes, p.Audiences} {
		if slices.ContainsFunc(list, func(text string) bool { return strings.TrimSpace(text) == "" }) {
			return errors.New("issuers, scopes and audiences must not be empty")
		}
	}
	return nil
}

// method returns the method by which the client proves its identity. If the policy names no method, the method follows from the client's properties.
func (c Client) method() string {
	switch {
	case c.Authentication != "":
		return c.Authentication
	case c.Secret != "":
		return methodPost
	case c.Assertion != "":
		return methodKeyJWT
	}
	return methodNone
}

// hidden returns the secrets to be hidden in answers of a server: the secrets of the policy, and a refresh token.
func (p *Policy) hidden(refresh string) *redact.Set {
	secrets := map[string]any{
		"refresh": refresh, "client.secret": p.Client.Secret, "client.assertion": p.Client.Assertion, "password": p.Password, "parameters": parametersOf(p.Request.Parameters),
	}
	for name, token := range map[string]*SecurityToken{"subject.token": p.Subject, "actor.token": p.Actor} {
		if token != nil {
			secrets[name] = token.Token
		}
	}
	return redact.New(secrets, true)
}

func parametersOf(named map[string]string) map[string]any {
	all := map[string]any{}
	for name, value := range named {
		all[name] = value
	}
	return all
}
