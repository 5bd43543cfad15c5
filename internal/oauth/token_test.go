package oauth_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/internal/oauth"
	"github.com/swrun/swrun/internal/oauthtest"
)

const secret = "a-secret-of-32-bytes-or-more-0123456789"

// authority is an authority that answers without a network.
type authority struct {
	*oauthtest.Server
	key string // of the client that signs, as PEM
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{
		Server: oauthtest.New("https://auth.test/realm", map[string]oauthtest.Client{
			"app": {Secret: secret}, "signer": {Key: key.Public()}, "public": {Public: true}, "odd:id &%": {Secret: "odd:secret +&%"},
		}),
		key: string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	}
}

// RoundTrip implements http.RoundTripper.
func (a *authority) RoundTrip(sent *http.Request) (*http.Response, error) {
	return answer(a.Handler(), sent)
}

// answer has a handler answer a request.
func answer(handler http.Handler, sent *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	received := sent.Clone(sent.Context())
	if received.Body == nil {
		received.Body = http.NoBody
	}
	handler.ServeHTTP(w, received)
	if err := context.Cause(sent.Context()); err != nil {
		return nil, err
	}
	response := w.Result()
	response.Request = sent
	return response, nil
}

// roundTrip answers requests.
type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTrip) RoundTrip(sent *http.Request) (*http.Response, error) { return f(sent) }

// policy returns a policy with the given properties beside its authority, of OpenID Connect if openID is one of them.
func policy(t *testing.T, properties string) *oauth.Policy {
	t.Helper()
	p, err := decode(properties)
	if err != nil {
		t.Fatal(properties, err)
	}
	return p
}

func decode(properties string) (*oauth.Policy, error) {
	all := map[string]any{"authority": "https://auth.test/realm"}
	var given map[string]any
	if err := json.Unmarshal([]byte(properties), &given); err != nil {
		return nil, err
	}
	maps.Copy(all, given)
	openID, _ := all["openID"].(bool)
	delete(all, "openID")
	return oauth.Decode(all, openID)
}

const credentials = `"grant": "client_credentials", "client": {"id": "app", "secret": "` + secret + `"}`

func TestClientsProveWhoTheyAre(t *testing.T) {
	a := newAuthority(t)
	asJWK, err := json.Marshal(jose.JSONWebKey{Key: mustKey(t, a.key), KeyID: "k"})
	if err != nil {
		t.Fatal(err)
	}
	quotedKey, quotedJWK := mustQuote(t, a.key), mustQuote(t, string(asJWK))
	for name, c := range map[string]struct{ client, want string }{
		"as the default has it": {`{"id": "app", "secret": "` + secret + `"}`, "client_secret_post"},
		"basic":                 {`{"id": "app", "secret": "` + secret + `", "authentication": "client_secret_basic"}`, "client_secret_basic"},
		"basic, of odd letters": {`{"id": "odd:id &%", "secret": "odd:secret +&%", "authentication": "client_secret_basic"}`, "client_secret_basic"},
		"post, of odd letters":  {`{"id": "odd:id &%", "secret": "odd:secret +&%", "authentication": "client_secret_post"}`, "client_secret_post"},
		"a signed secret":       {`{"id": "app", "secret": "` + secret + `", "authentication": "client_secret_jwt"}`, "client_secret_jwt"},
		"a private key":         {`{"id": "signer", "secret": ` + quotedKey + `, "authentication": "private_key_jwt"}`, "private_key_jwt"},
		"a private key as JWK":  {`{"id": "signer", "secret": ` + quotedJWK + `, "authentication": "private_key_jwt"}`, "private_key_jwt"},
		"nothing":               {`{"id": "public", "authentication": "none"}`, "none"},
		"nothing to prove with": {`{"id": "public"}`, "none"},
	} {
		for _, encoding := range []string{"application/x-www-form-urlencoded", "application/json"} {
			p := policy(t, `{"grant": "password", "username": "`+oauthtest.Username+`", "password": "`+oauthtest.Password+`", "request": {"encoding": "`+encoding+`"}, "client": `+c.client+`}`)
			token, err := new(oauth.Tokens).Get(t.Context(), p, a)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			claims, err := a.Verify("Bearer " + token.Access)
			if err != nil || claims.Method != c.want || claims.Encoding != encoding {
				t.Errorf("%s: by %q, with %q, %v", name, claims.Method, claims.Encoding, err)
			}
		}
	}
}

func mustKey(t *testing.T, text string) any {
	t.Helper()
	block, _ := pem.Decode([]byte(text))
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func mustQuote(t *testing.T, text string) string {
	t.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(quoted)
}

// TestAssertionsOfThePolicy: an assertion in the policy is sent unchanged.
func TestAssertionsOfThePolicy(t *testing.T) {
	var sent string
	_, err := new(oauth.Tokens).Get(t.Context(), policy(t, `{"grant": "client_credentials", "client": {"id": "x", "assertion": "a.b.c"}}`), roundTrip(func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		sent = string(body)
		return nil, errors.Join(err, io.EOF)
	}))
	if err == nil || !strings.Contains(sent, "client_assertion=a.b.c&client_assertion_type=urn") || strings.Contains(sent, "client_secret") {
		t.Errorf("%s, %v", sent, err)
	}
}

func TestGrants(t *testing.T) {
	a := newAuthority(t)
	for name, c := range map[string]struct {
		properties string
		want       oauthtest.Asked
		subject    string
	}{
		"client credentials": {`{` + credentials + `, "scopes": ["read", "write"], "audiences": ["one", "two"]}`, oauthtest.Asked{Grant: "client_credentials", Scope: "read write", Audience: []string{"one", "two"}}, "app"},
		"password":           {`{"grant": "password", "username": "ada", "password": "lovelace-1843", "client": {"id": "app", "secret": "` + secret + `"}}`, oauthtest.Asked{Grant: "password"}, "ada"},
		"refresh token":      {`{"grant": "refresh_token", "subject": {"token": "refresh-of-ada-0", "type": "x"}, "client": {"id": "app", "secret": "` + secret + `"}}`, oauthtest.Asked{Grant: "refresh_token"}, "ada"},
		"code": {`{"grant": "authorization_code", "subject": {"token": "code-of-ada-77", "type": "x"}, "client": {"id": "app", "secret": "` + secret + `"}, "request": {"parameters": {"redirect_uri": "https://app.example.com/back"}}}`,
			oauthtest.Asked{Grant: "authorization_code"}, "ada"},
		"exchange": {`{"grant": "urn:ietf:params:oauth:grant-type:token-exchange", "subject": {"token": "token-of-bob", "type": "x"}, "actor": {"token": "token-of-eve", "type": "y"}, "client": {"id": "app", "secret": "` + secret + `"}}`,
			oauthtest.Asked{Grant: "urn:ietf:params:oauth:grant-type:token-exchange"}, "bob"},
	} {
		token, err := new(oauth.Tokens).Get(t.Context(), policy(t, c.properties), a)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		claims, err := a.Verify("Bearer " + token.Access)
		if err != nil || claims.Subject != c.subject || (name == "exchange") != (claims.Actor["sub"] == "eve") {
			t.Errorf("%s: %+v, %v", name, claims, err)
		}
		c.want.Client, c.want.Method, c.want.Encoding = "app", "client_secret_post", "application/x-www-form-urlencoded"
		asked := a.Asked()
		if diff := cmp.Diff(c.want, asked[len(asked)-1]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestDiscovery: an authority that describes itself, given as its issuer or as the place of its description.
func TestDiscovery(t *testing.T) {
	for name, c := range map[string]struct{ properties, named, wantErr string }{
		"an issuer":                  {`{"openID": true, ` + credentials + `}`, "", ""},
		"with a slash at the end":    {`{"openID": true, "authority": "https://auth.test/realm/", ` + credentials + `}`, "", ""},
		"its description":            {`{"openID": true, "authority": "https://auth.test/realm/.well-known/openid-configuration", ` + credentials + `}`, "", ""},
		"its description, of OAuth2": {`{"authority": "https://auth.test/realm/.well-known/openid-configuration", ` + credentials + `}`, "", ""},
		"a user":                     {`{"openID": true, "grant": "password", "username": "ada", "password": "lovelace-1843", "client": {"id": "app", "secret": "` + secret + `"}}`, "", ""},
		"of another name":            {`{"openID": true, ` + credentials + `}`, "https://evil.test", "the authority describes \"https://evil.test\""},
		"of another name, trusted":   {`{"openID": true, "issuers": ["https://other.test"], ` + credentials + `}`, "https://other.test", ""},
		"that is not there":          {`{"openID": true, "authority": "https://auth.test/none", ` + credentials + `}`, "", "the server answers 404 Not Found to /.well-known/openid-configuration, where it has to describe itself"},
	} {
		a := newAuthority(t)
		a.Named = c.named
		_, err := new(oauth.Tokens).Get(t.Context(), policy(t, c.properties), a)
		if (err == nil) != (c.wantErr == "") || err != nil && !strings.Contains(err.Error(), c.wantErr) {
			t.Errorf("%s: %v", name, err)
		}
		if asked := a.Asked(); err == nil && strings.Contains(c.properties, "openID") != (asked[0].Scope == "openid") {
			t.Errorf("%s: %+v", name, asked)
		}
	}
}

// TestAnswersThatAreNoToken: the answers of servers and proxies that contain no token. No error repeats a secret, or text that may be a page.
func TestAnswersThatAreNoToken(t *testing.T) {
	for name, c := range map[string]struct {
		status      int
		media, body string
		want        string
	}{
		"an error":                  {400, "application/json", `{"error": "invalid_client", "error_description": "no ` + secret + `"}`, "invalid_client: no ‹redacted: client.secret›"},
		"an error that succeeds":    {200, "application/json", `{"error": "slow_down"}`, "slow_down"},
		"a page":                    {200, "text/html; charset=utf-8", "<html>" + secret, `the server answers 200 OK, with "text/html" that cannot be understood`},
		"a page of a failure":       {502, "text/html", "<html>", "the server answers 502 Bad Gateway"},
		"nothing":                   {204, "", "", "the server answers 204 No Content, with something that cannot be understood"},
		"an empty object":           {200, "application/json", `{}`, "the server answers 200 OK, but the answer has no `access_token`"},
		"a token that is null":      {200, "application/json", `{"access_token": null}`, "the answer has `access_token: null`"},
		"an empty token":            {200, "application/json", `{"access_token": ""}`, "the answer has an empty `access_token`"},
		"a number":                  {200, "application/json", `{"access_token": 5}`, "the answer has an `access_token` that is no text"},
		"a list":                    {200, "application/json", `{"access_token": ["a"]}`, "the answer has an `access_token` that is no text"},
		"null":                      {200, "application/json", `null`, "cannot be understood"},
		"half of it":                {200, "application/json", `{"access_token": "a`, "cannot be understood"},
		"more than there may be":    {200, "application/json", `{"access_token": "` + strings.Repeat("a", 300<<10) + `"}`, "more than 262144 bytes"},
		"a redirect":                {307, "", "", "the server answers 307 Temporary Redirect"},
		"another type":              {200, "application/json", `{"access_token": "a", "token_type": "mac"}`, `of type "mac"`},
		"no token at all":           {200, "application/json", `{"access_token": "a", "token_type": "N_A"}`, `of type "N_A"`},
		"a token of two lines":      {200, "application/json", `{"access_token": "a\nX-Evil: 1", "token_type": "Bearer"}`, "characters that cannot be sent"},
		"a blank token":             {200, "application/json", `{"access_token": " ", "token_type": "Bearer"}`, "the answer has an empty `access_token`"},
		"an odd time":               {200, "application/json", `{"access_token": "a", "expires_in": "soon"}`, "cannot be understood"},
		"an issuer that is unknown": {200, "application/json", `{"access_token": "` + newAuthority(t).Sign(map[string]any{"iss": "https://evil.test"}) + `"}`, `of the issuer "https://evil.test"`},
		"an issuer that is none":    {200, "application/json", `{"access_token": "a.b.c"}`, `of the issuer ""`},
	} {
		var asked []string
		_, err := new(oauth.Tokens).Get(t.Context(), policy(t, `{"issuers": ["https://auth.test/realm"], `+credentials+`}`), roundTrip(func(r *http.Request) (*http.Response, error) {
			asked = append(asked, r.URL.String())
			w := httptest.NewRecorder()
			w.Header().Set("Content-Type", c.media)
			w.Header().Set("Location", "https://evil.test/")
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
			return w.Result(), nil
		}))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secret) || len(asked) != 1 || asked[0] != "https://auth.test/realm/oauth2/token" {
			t.Errorf("%s: %v of %q", name, err, asked)
		}
	}
}

// TestIdentities: a token about the identity of the user must be issued by the authority, for the client, and about the other token.
func TestIdentities(t *testing.T) {
	for name, c := range map[string]struct{ change, want string }{
		"of another key":     {"https://evil.test", "failed to verify signature"},
		"for another client": {`"other"`, "audience"},
	} {
		a, evil := newAuthority(t), oauthtest.New("https://evil.test", nil)
		_, err := new(oauth.Tokens).Get(t.Context(), policy(t, `{"openID": true, `+credentials+`}`), roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodGet {
				return a.RoundTrip(r)
			}
			signed := a.Sign
			if c.change == evil.Issuer {
				signed = evil.Sign
			}
			audience := "app"
			if c.change == `"other"` {
				audience = "other"
			}
			w := httptest.NewRecorder()
			w.Header().Set("Content-Type", "application/json")
			body, err := json.Marshal(map[string]any{"access_token": "x", "id_token": signed(map[string]any{"iss": a.Issuer, "sub": "u", "aud": audience, "exp": time.Now().Add(time.Hour).Unix()})})
			_, _ = w.Write(body)
			return w.Result(), err
		}))
		if err == nil || !strings.Contains(err.Error(), "the ID token cannot be trusted") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPoliciesThatAreWrong(t *testing.T) {
	for properties, want := range map[string]string{
		`{"authority": ""}`:                                                   "the authority must be a URL",
		`{"authority": " "}`:                                                  "the authority must be a URL",
		`{"authority": "ftp://x"}`:                                            "the authority must be a URL",
		`{"authority": "https://u:p@x"}`:                                      "without a user",
		`{"authority": 48151623}`:                                             "`authority` cannot be of type number",
		`{"grant": "implicit"}`:                                               "`grant` must be one of",
		`{"grant": "password", "scopes": "a"}`:                                "`scopes` cannot be of type string",
		`{"grant": "password", "scopes": [" "]}`:                              "must not be empty",
		`{"grant": "password", "client": "x"}`:                                "`client` cannot be of type string",
		`{"grant": "password", "client": {"authentication": "tls"}}`:          "`client.authentication` must be one of",
		`{"grant": "password", "request": {"encoding": "text/plain"}}`:        "`request.encoding` must be one of",
		`{"grant": "password", "request": {"parameters": {"a": {"b": "c"}}}}`: "cannot be of type object",
	} {
		if _, err := decode(properties); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "48151623") {
			t.Errorf("%s: %v", properties, err)
		}
	}
	a := newAuthority(t)
	for properties, want := range map[string]string{
		`{` + credentials + `, "request": {"parameters": {"grant_type": "x"}}}`:                                                      "must not have grant_type",
		`{` + credentials + `, "request": {"parameters": {"client_secret": "x"}}}`:                                                   "must not have client_secret",
		`{` + credentials + `, "endpoints": {"token": "http://auth.test/t"}}`:                                                        "has no TLS",
		`{` + credentials + `, "endpoints": {"token": "ftp://auth.test/t"}}`:                                                         "no URL",
		`{"grant": "client_credentials", "client": {"id": "a", "secret": "no key", "authentication": "private_key_jwt"}}`:            "must be a private key",
		`{"grant": "client_credentials", "client": {"id": "a", "secret": "{\"kty\":\"oct\"}", "authentication": "private_key_jwt"}}`: "must be a private key",
		`{"grant": "client_credentials", "client": {"id": "nobody", "secret": "` + secret + `"}}`:                                    "invalid_client: the client is not known, or its proof ‹redacted: client.secret› is wrong",
	} {
		if _, err := new(oauth.Tokens).Get(t.Context(), policy(t, properties), a); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", properties, err)
		}
	}
}

// TestAnswersOfAnotherForm: some servers send the JSON of a token with a byte order mark, or with another content type.
func TestAnswersOfAnotherForm(t *testing.T) {
	for _, c := range []struct{ media, before, after string }{
		{"text/plain", "", ""}, {"text/plain; charset=utf-8", "", "\n"}, {"application/json", "\ufeff", ""}, {"text/html", "\ufeff ", " "}, {"", "", ""}, {"application/x-www-form-urlencoded", "", ""},
	} {
		a := newAuthority(t)
		token, err := new(oauth.Tokens).Get(t.Context(), policy(t, `{`+credentials+`}`), roundTrip(func(sent *http.Request) (*http.Response, error) {
			response, err := a.RoundTrip(sent)
			if err != nil {
				return nil, err
			}
			response.Header.Set("Content-Type", c.media)
			response.Body = io.NopCloser(io.MultiReader(strings.NewReader(c.before), response.Body, strings.NewReader(c.after)))
			return response, nil
		}))
		if err != nil || token.Access == "" {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
