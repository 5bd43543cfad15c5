// Package oauthtest contains an authority that issues signed tokens by OAuth 2.0 and OpenID Connect, for tests and examples.
package oauthtest

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// The users, codes and refresh tokens that an authority knows.
const (
	Username = "ada"
	Password = "lovelace-1843"
	Code     = "code-of-ada-77"
	Refresh  = "refresh-of-ada-0"
)

// Client is a client that may request tokens.
type Client struct {
	Secret string
	Key    any  // a public key, for assertions that are signed with a private one
	Public bool // it needs no proof
}

// Server is an authority. Its fields are set before it is used.
type Server struct {
	Issuer  string // its URL
	Named   string // its own name for itself, if it differs
	Clients map[string]Client
	Valid   any  // the lifetime in its answers; nil for none
	Once    bool // a code, or a refresh token, can be used only once

	mu     sync.Mutex
	asked  []Asked
	spent  map[string]bool
	issued int
}

// Asked is a granted request for a token.
type Asked struct {
	Grant, Client, Method, Encoding, Scope string
	Audience                               []string
}

// Claims are the claims of a token.
type Claims struct {
	jwt.Claims
	Scope    string            `json:"scope,omitempty"`
	Client   string            `json:"client_id,omitempty"`
	Grant    string            `json:"grant,omitempty"`
	Method   string            `json:"method,omitempty"` // the method by which the client has authenticated itself
	Encoding string            `json:"encoding,omitempty"`
	Actor    map[string]string `json:"act,omitempty"`
	Number   int               `json:"number,omitempty"` // among the tokens that the authority has issued
	Hash     string            `json:"at_hash,omitempty"`
}

// New returns an authority at a URL.
func New(issuer string, clients map[string]Client) *Server {
	return &Server{Issuer: issuer, Clients: clients, Valid: 3600, spent: map[string]bool{}}
}

// Asked returns the granted requests.
func (s *Server) Asked() []Asked {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// Handler returns the HTTP handler of the authority.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	base := ""
	if u, err := url.Parse(s.Issuer); err == nil {
		base = strings.TrimSuffix(u.Path, "/")
	}
	mux.HandleFunc("GET "+base+"/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{
			"issuer": s.name(), "token_endpoint": s.Issuer + "/issue", "jwks_uri": s.Issuer + "/keys", "id_token_signing_alg_values_supported": []string{"EdDSA"},
		})
	})
	mux.HandleFunc("GET "+base+"/keys", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: s.key().Public(), KeyID: "1", Algorithm: "EdDSA", Use: "sig"}}})
	})
	mux.HandleFunc("POST "+base+"/issue", s.issue)
	mux.HandleFunc("POST "+base+"/oauth2/token", s.issue)
	return mux
}

func (s *Server) name() string {
	if s.Named != "" {
		return s.Named
	}
	return s.Issuer
}

// key returns the key that signs tokens. It follows from the issuer, so that every server of the same issuer can verify the tokens.
func (s *Server) key() ed25519.PrivateKey {
	seed := sha256.Sum256([]byte(s.Issuer))
	return ed25519.NewKeyFromSeed(seed[:])
}

// refused is an error of the protocol.
type refused struct {
	status            int
	code, description string
}

func (r *refused) Error() string { return r.code }

func invalid(code, format string, args ...any) error {
	status := http.StatusBadRequest
	if code == "invalid_client" {
		status = http.StatusUnauthorized
	}
	return &refused{status, code, fmt.Sprintf(format, args...)}
}

func (s *Server) issue(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answered, err := s.grant(r)
	if wrong, ok := err.(*refused); ok {
		answer(w, wrong.status, map[string]any{"error": wrong.code, "error_description": wrong.description})
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	answer(w, http.StatusOK, answered)
}

// grant returns the answer to a request.
func (s *Server) grant(r *http.Request) (map[string]any, error) {
	form, encoding, err := parametersOf(r)
	if err != nil {
		return nil, err
	}
	client, method, err := s.client(r, form)
	if err != nil {
		return nil, err
	}
	claims := Claims{
		Claims: jwt.Claims{Issuer: s.name(), Subject: client, Audience: form["audience"], IssuedAt: jwt.NewNumericDate(time.Now())},
		Scope:  form.Get("scope"), Client: client, Grant: form.Get("grant_type"), Method: method, Encoding: encoding,
	}
	answered := map[string]any{"token_type": "Bearer"}
	if err := s.check(form, &claims, answered); err != nil {
		return nil, err
	}
	s.issued++
	claims.Number = s.issued
	s.asked = append(s.asked, Asked{claims.Grant, client, method, encoding, claims.Scope, form["audience"]})
	access := s.Sign(claims)
	answered["access_token"] = access
	if s.Valid != nil {
		answered["expires_in"] = s.Valid
	}
	if slices.Contains(strings.Fields(claims.Scope), "openid") && claims.Subject == Username {
		answered["id_token"] = s.identity(client, access)
	}
	return answered, nil
}

// identity returns a token with the identity of the user.
func (s *Server) identity(client, access string) string {
	return s.Sign(Claims{
		Claims: jwt.Claims{Issuer: s.name(), Subject: Username, Audience: jwt.Audience{client}, IssuedAt: jwt.NewNumericDate(time.Now()), Expiry: jwt.NewNumericDate(time.Now().Add(time.Hour))},
		Hash:   hashOf(access),
	})
}

// check checks the credentials of a grant, and fills in the claims.
func (s *Server) check(form url.Values, claims *Claims, answered map[string]any) error {
	switch claims.Grant {
	case "client_credentials":
		if claims.Method == "none" {
			return invalid("unauthorized_client", "a public client has no credentials")
		}
		return nil
	case "password":
		if form.Get("username") != Username || form.Get("password") != Password {
			return invalid("invalid_grant", "wrong password %s", form.Get("password")) // a careless server would do this
		}
	case "authorization_code":
		if !s.spend(form.Get("code"), Code) || form.Get("redirect_uri") != "https://app.example.com/back" {
			return invalid("invalid_grant", "the code %s is not good", form.Get("code"))
		}
		answered["refresh_token"] = Refresh
	case "refresh_token":
		if !s.spend(form.Get("refresh_token"), fmt.Sprintf("%s%d", Refresh[:len(Refresh)-1], s.turn())) {
			return invalid("invalid_grant", "the refresh token %s is not good", form.Get("refresh_token"))
		}
		if s.Once {
			answered["refresh_token"] = fmt.Sprintf("%s%d", Refresh[:len(Refresh)-1], s.turn())
		}
	case "urn:ietf:params:oauth:grant-type:token-exchange":
		return s.exchange(form, claims, answered)
	default:
		return invalid("unsupported_grant_type", "%s", claims.Grant)
	}
	claims.Subject = Username
	return nil
}

// turn returns the number of used refresh tokens.
func (s *Server) turn() int {
	n := 0
	for text := range s.spent {
		if strings.HasPrefix(text, Refresh[:len(Refresh)-1]) {
			n++
		}
	}
	return n
}

// spend reports whether a credential is the expected one, and has not been used if it can be used only once.
func (s *Server) spend(given, wanted string) bool {
	if given != wanted || s.spent[given] {
		return false
	}
	s.spent[given] = s.Once
	if !s.Once {
		delete(s.spent, given)
	}
	return true
}

// exchange issues a token on behalf of a subject, and perhaps of an actor.
func (s *Server) exchange(form url.Values, claims *Claims, answered map[string]any) error {
	answered["issued_token_type"] = "urn:ietf:params:oauth:token-type:access_token"
	subject, known := strings.CutPrefix(form.Get("subject_token"), "token-of-")
	if !known || form.Get("subject_token_type") == "" {
		return invalid("invalid_request", "the subject %s is not known", form.Get("subject_token"))
	}
	claims.Subject = subject
	if form.Has("actor_token") {
		actor, known := strings.CutPrefix(form.Get("actor_token"), "token-of-")
		if !known || form.Get("actor_token_type") == "" {
			return invalid("invalid_request", "the actor is not known")
		}
		claims.Actor = map[string]string{"sub": actor}
	}
	return nil
}

// Sign returns a token.
func (s *Server) Sign(claims any) string {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: jose.JSONWebKey{Key: s.key(), KeyID: "1"}}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		panic(err) // the key is valid
	}
	text, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		panic(err)
	}
	return text
}

// Verify returns the claims of the token in a request to a service, if the authority has issued it.
func (s *Server) Verify(authorization string) (Claims, error) {
	var claims Claims
	text, bearer := strings.CutPrefix(authorization, "Bearer ")
	if !bearer {
		return claims, fmt.Errorf("no token")
	}
	token, err := jwt.ParseSigned(text, []jose.SignatureAlgorithm{jose.EdDSA})
	if err != nil {
		return claims, err
	}
	return claims, token.Claims(s.key().Public(), &claims)
}

// parametersOf returns the parameters of a request, and its encoding.
func parametersOf(r *http.Request) (form url.Values, encoding string, err error) {
	encoding, _, _ = strings.Cut(r.Header.Get("Content-Type"), ";")
	if encoding != "application/json" {
		if r.ParseForm() != nil {
			return nil, "", invalid("invalid_request", "it is no form")
		}
		return r.PostForm, encoding, nil
	}
	var object map[string]any
	if json.NewDecoder(r.Body).Decode(&object) != nil {
		return nil, "", invalid("invalid_request", "it is no JSON")
	}
	form = url.Values{}
	for name, v := range object {
		if all, isList := v.([]any); isList {
			for _, one := range all {
				form.Add(name, fmt.Sprint(one))
			}
			continue
		}
		form.Set(name, fmt.Sprint(v))
	}
	return form, encoding, nil
}

// client returns the client of a request, and the method of its authentication.
func (s *Server) client(r *http.Request, form url.Values) (id, method string, err error) {
	wrong := invalid("invalid_client", "the client is not known, or its proof %s%s is wrong", form.Get("client_secret"), form.Get("client_assertion"))
	user, password, basic := r.BasicAuth()
	switch {
	case basic:
		id, _ = url.QueryUnescape(user)
		secret, _ := url.QueryUnescape(password) // a text that cannot be decoded is wrong
		known, ok := s.Clients[id]
		if !ok || known.Secret == "" || known.Secret != secret {
			return "", "", wrong
		}
		return id, "client_secret_basic", nil
	case form.Has("client_assertion"):
		return s.asserted(form, wrong)
	}
	id = form.Get("client_id")
	known, ok := s.Clients[id]
	switch {
	case !ok, !known.Public && (known.Secret == "" || known.Secret != form.Get("client_secret")):
		return "", "", wrong
	case known.Public && !form.Has("client_secret"):
		return id, "none", nil
	}
	return id, "client_secret_post", nil
}

// asserted returns the client that an assertion is about.
func (s *Server) asserted(form url.Values, wrong error) (id, method string, err error) {
	token, failed := jwt.ParseSigned(form.Get("client_assertion"), []jose.SignatureAlgorithm{jose.HS256, jose.RS256, jose.ES256, jose.ES384, jose.EdDSA})
	if failed != nil || form.Get("client_assertion_type") != "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" {
		return "", "", wrong
	}
	var claims jwt.Claims
	if token.UnsafeClaimsWithoutVerification(&claims) != nil {
		return "", "", wrong
	}
	known := s.Clients[claims.Subject]
	method = "private_key_jwt"
	key := any(known.Key)
	if token.Headers[0].Algorithm == string(jose.HS256) {
		method, key = "client_secret_jwt", []byte(known.Secret)
	}
	aimed := slices.ContainsFunc(claims.Audience, func(at string) bool { return strings.HasPrefix(at, s.Issuer) })
	if key == nil || token.Claims(key, &claims) != nil || claims.Issuer != claims.Subject || !aimed || claims.ID == "" || claims.Validate(jwt.Expected{Time: time.Now()}) != nil {
		return "", "", wrong
	}
	return claims.Subject, method, nil
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the caller may be gone
}

// hashOf returns the hash of an access token for its ID token.
func hashOf(access string) string {
	sum := sha512.Sum512([]byte(access)) // the hash for EdDSA
	return base64.RawURLEncoding.EncodeToString(sum[:len(sum)/2])
}

// Pets is a service that requires a token of the authority.
func Pets(authority *Server) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		claims, err := authority.Verify(r.Header.Get("Authorization"))
		if err != nil {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "a token is needed", http.StatusUnauthorized)
			return
		}
		answer(w, http.StatusOK, map[string]any{"pets": []string{"Milou", "Idefix"}, "for": claims.Subject})
	})
}
