package conformance

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/swrun/swrun/internal/oauthtest"
)

// The authorities of cases. Guarded hosts answer with the content of the token that they received.
const (
	authority = "https://auth.test/realm"
	impostor  = "https://impostor.test"
)

// oauthSecret is the secret of the client app: long enough to sign with.
const oauthSecret = "s3cret-of-the-application-0123456789"

// clientKey is the private key of the client signer.
func clientKey() ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed([]byte("the key of a client in the cases"))
}

// oauthSecrets returns the secrets of clients, users and whole policies.
func oauthSecrets() map[string]any {
	der, err := x509.MarshalPKCS8PrivateKey(clientKey())
	if err != nil {
		panic(err) // the key is valid
	}
	client := map[string]any{"id": "app", "secret": oauthSecret}
	return map[string]any{
		"client":     map[string]any{"secret": oauthSecret},
		"user":       map[string]any{"password": oauthtest.Password},
		"signer":     string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
		"policy":     map[string]any{"authority": authority, "grant": "client_credentials", "client": client, "scopes": []any{"pets:read"}},
		"halfPolicy": map[string]any{"authority": authority, "grant": "password", "username": "ada"},
		"mySecret": map[string]any{ // used by the specification's examples
			"authority": authority, "grant": "password", "client": client, "username": oauthtest.Username, "password": oauthtest.Password,
		},
	}
}

// authorizing answers for authorities, for services that require their tokens, and for servers that are no authorities.
func authorizing(mux *http.ServeMux) {
	clients := map[string]oauthtest.Client{
		"app": {Secret: oauthSecret}, "signer": {Key: clientKey().Public()}, "public": {Public: true}, "workflow-runtime-id": {Secret: "workflow-runtime-secret"},
	}
	server := oauthtest.New(authority, clients)
	mux.Handle("auth.test/", server.Handler())
	other := oauthtest.New(impostor, clients)
	other.Named = authority
	mux.Handle("impostor.test/", other.Handler())
	keycloak := oauthtest.New("http://keycloak/realms/fake-authority", clients) // used by the specification's examples
	mux.Handle("keycloak/", keycloak.Handler())
	mux.HandleFunc("keycloak/realms/fake-authority/auth/token", func(w http.ResponseWriter, r *http.Request) {
		r.URL.Path = "/realms/fake-authority/oauth2/token"
		keycloak.Handler().ServeHTTP(w, r)
	})
	mux.HandleFunc("api.test/{rest...}", guarded(server, func(oauthtest.Claims) bool { return true }))
	mux.HandleFunc("api.test/second", guarded(server, func(c oauthtest.Claims) bool { return c.Number >= 2 }))
	mux.HandleFunc("api.test/never", guarded(server, func(oauthtest.Claims) bool { return false }))
	mux.HandleFunc("api.test/away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://stand-in.test/echo", http.StatusFound)
	})
	mux.HandleFunc("api.test/pets.json", func(w http.ResponseWriter, r *http.Request) {
		if _, err := server.Verify(r.Header.Get("Authorization")); err != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, `{"openapi": "3.0.3", "servers": [{"url": "https://api.test"}], "paths": {"/pets": {"post": {"operationId": "addPet"}}}}`)
	})
	noAuthorities(mux)
}

// guarded answers with the content of an accepted token, and with the request.
func guarded(server *oauthtest.Server, accepts func(oauthtest.Claims) bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		claims, err := server.Verify(r.Header.Get("Authorization"))
		if err != nil || !accepts(claims) {
			w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
			http.Error(w, "no: "+r.Header.Get("Authorization"), http.StatusUnauthorized)
			return
		}
		body, _ := io.ReadAll(r.Body) // the answer shows a broken body
		said := map[string]any{"method": r.Method, "subject": claims.Subject, "client": claims.Client, "by": claims.Method, "grant": claims.Grant, "body": string(body)}
		if claims.Scope != "" {
			said["scope"] = claims.Scope
		}
		if len(claims.Audience) > 0 {
			said["audience"] = slices.Clone([]string(claims.Audience))
		}
		if claims.Actor != nil {
			said["actor"] = claims.Actor["sub"]
		}
		if strings.HasSuffix(claims.Encoding, "json") {
			said["encoding"] = "json"
		}
		answer(said)(w, r)
	}
}

// maySee reports whether the sender of a request may see a pet: two pets are for users of an authority.
func maySee(pet int, r *http.Request) bool {
	issuer := map[int]string{8: "http://keycloak/realms/fake-authority", 9: authority}[pet]
	if issuer == "" {
		return true
	}
	_, err := oauthtest.New(issuer, nil).Verify(r.Header.Get("Authorization"))
	return err == nil
}

// noAuthorities answers requests for tokens as servers without tokens do.
func noAuthorities(mux *http.ServeMux) {
	mux.HandleFunc("broken.test/page/oauth2/token", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		body, _ := io.ReadAll(r.Body) // the answer repeats it as far as it arrived
		_, _ = io.WriteString(w, "<html>"+string(body))
	})
	mux.HandleFunc("broken.test/huge/oauth2/token", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"access_token": "`+strings.Repeat("a", 1<<20)+`"}`)
	})
	mux.HandleFunc("broken.test/mac/oauth2/token", answer(map[string]any{"access_token": "abcdefgh", "token_type": "mac"}))
	mux.HandleFunc("broken.test/away/oauth2/token", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, authority+"/oauth2/token", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("broken.test/refused/oauth2/token", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set(refused, "yes") })
	mux.HandleFunc("broken.test/slow/oauth2/token", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
}
