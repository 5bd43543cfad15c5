package tasks_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/grpctest"
	"github.com/swrun/swrun/tasks"
)

// origins are two servers, of which the first redirects to the second.
type origins struct {
	first, second *httptest.Server
	mu            sync.Mutex
	reached       []*http.Request // by the second, and by the first below /end
	bodies        []string
}

// mustOrigins starts the servers. They do not share a port, and speak TLS if the parameters require it.
func mustOrigins(t *testing.T, secureFirst, secureSecond bool) *origins {
	t.Helper()
	o := &origins{}
	note := func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		defer o.mu.Unlock()
		body, _ := io.ReadAll(r.Body) // a broken one shows
		o.reached, o.bodies = append(o.reached, r), append(o.bodies, string(body))
	}
	start := func(secure bool, h http.HandlerFunc) *httptest.Server {
		server := httptest.NewUnstartedServer(h)
		if secure {
			server.StartTLS()
		} else {
			server.Start()
		}
		t.Cleanup(server.Close)
		return server
	}
	o.second = start(secureSecond, func(w http.ResponseWriter, r *http.Request) {
		note(w, r)
		switch r.URL.Path {
		case "/back":
			http.Redirect(w, r, o.first.URL+"/end", http.StatusFound)
		case "/digest":
			w.Header().Set("WWW-Authenticate", `Digest realm="a", nonce="b", qop="auth", algorithm=SHA-256`)
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	o.first = start(secureFirst, func(w http.ResponseWriter, r *http.Request) {
		code := http.StatusFound
		if r.URL.Query().Has("keep") {
			code = http.StatusTemporaryRedirect
		}
		switch r.URL.Path {
		case "/dead":
			http.Redirect(w, r, "http://127.0.0.1:1/end", code)
		case "/away":
			http.Redirect(w, r, o.second.URL+"/", code)
		case "/away-and-back":
			http.Redirect(w, r, o.second.URL+"/back", code)
		case "/away-digest":
			http.Redirect(w, r, o.second.URL+"/digest", code)
		case "/here":
			http.Redirect(w, r, "/end", code)
		case "/file":
			w.Header().Set("Location", "file:///etc/passwd")
			w.WriteHeader(code)
		default:
			note(w, r)
		}
	})
	return o
}

// received returns the values of a header that the servers received.
func (o *origins) received(name string) (all []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range o.reached {
		all = append(all, r.Header[name]...)
	}
	return all
}

const privateHeaders = `headers: {Authorization: Bearer t0ken, Cookie: a=b, Proxy-Authorization: Basic x, X-Api-Key: k3y, Referer: 'http://a.test/?k=k3y', Accept: text/plain, Accept-Language: '${ $secrets.token }'}`

// ask calls path of the first server.
func (o *origins) ask(t *testing.T, path, with string) *errors.Error {
	t.Helper()
	transport := tasks.NewTransport(tasks.TransportConfig{})
	if o.first.TLS != nil || o.second.TLS != nil {
		transport.DialTLSContext, transport.TLSClientConfig = nil, &tls.Config{InsecureSkipVerify: true}
	}
	t.Cleanup(transport.CloseIdleConnections)
	config := tasks.Config{Transport: transport, Secrets: func(name string) (any, bool) { return "s3cret", name == "token" }}
	outcome := runDocument(t, config, fmt.Sprintf("  - ask: {call: http, with: {redirect: true, endpoint: {uri: '%s%s'%s}}\nuse: {secrets: [token]}\n", o.first.URL, path, with))
	return outcome.Fault
}

// TestRedirectToAnotherOrigin: another port of the same host is another origin, and gets no credential of the first one.
func TestRedirectToAnotherOrigin(t *testing.T) {
	for _, c := range []struct{ name, path, with string }{
		{"the author's headers", "/away", "}, method: get, " + privateHeaders},
		{"a policy", "/away", ", authentication: {basic: {username: ada, password: lovelace}}}, method: get"},
		{"a policy from a secret", "/away", ", authentication: {bearer: {use: token}}}, method: get"},
		{"by way of the first again", "/away-and-back", "}, method: get, " + privateHeaders},
		{"a body that becomes none", "/away", "}, method: post, body: s3cret, " + privateHeaders},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := mustOrigins(t, false, false)
			if fault := o.ask(t, c.path, c.with); fault != nil {
				t.Fatal(fault)
			}
			if len(o.reached) == 0 {
				t.Fatal("nobody was reached, so that nothing is shown")
			}
			for _, r := range o.reached {
				for name, values := range r.Header {
					if name != "User-Agent" && name != "Accept-Encoding" || strings.Contains(strings.Join(values, ""), "s3cret") {
						t.Errorf("%s %s got %s: %q", r.Method, r.URL, name, values)
					}
				}
			}
			if body := strings.Join(o.bodies, ""); body != "" {
				t.Errorf("the body %q went along", body)
			}
		})
	}
}

// TestRedirectWithinAnOrigin: all headers go along, including the digest.
func TestRedirectWithinAnOrigin(t *testing.T) {
	o := mustOrigins(t, false, false)
	if fault := o.ask(t, "/here?keep", "}, method: post, body: whole, "+privateHeaders); fault != nil {
		t.Fatal(fault)
	}
	for _, name := range []string{"Authorization", "Cookie", "X-Api-Key", "Idempotency-Key", "X-Swrun-Attempt", "Accept-Language"} {
		if len(o.received(name)) != 1 {
			t.Errorf("%s: %q", name, o.received(name))
		}
	}
	if strings.Join(o.bodies, "") != "whole" {
		t.Errorf("got the bodies %q", o.bodies)
	}
}

// TestDescriptionsOfContentCrossOrigins: headers that describe the content and are no credentials go along.
func TestDescriptionsOfContentCrossOrigins(t *testing.T) {
	o := mustOrigins(t, false, false)
	if fault := o.ask(t, "/away?keep", "}, method: post, body: whole, headers: {Accept: text/plain, X-Mine: a}"); fault != nil {
		t.Fatal(fault)
	}
	if len(o.received("Accept")) != 1 || len(o.received("Content-Type")) != 1 || len(o.received("X-Mine"))+len(o.received("Idempotency-Key")) != 0 || strings.Join(o.bodies, "") != "whole" {
		t.Errorf("got %q with the bodies %q", o.reached[0].Header, o.bodies)
	}
}

// TestRedirectsThatAreRefused: no server is reached by them.
func TestRedirectsThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		name, path, with, want string
		secureFirst            bool
	}{
		{"the body of a request with a credential", "/away?keep", "}, method: post, body: x, headers: {Authorization: a}", "does not go to another origin", false},
		{"the body of a request with a policy", "/away?keep", ", authentication: {bearer: {use: token}}}, method: post, body: x", "does not go to another origin", false},
		{"a body that holds a secret", "/away?keep", "}, method: post, body: '${ $secrets.token }'", "does not go to another origin", false},
		{"from https to http", "/away", "}, method: get", "from https to http", true},
		{"to a file", "/file", "}, method: get", "neither http nor https", false},
		{"a DELETE that would become a GET", "/here", "}, method: delete", "/end is not followed: its status 302 would make a GET of the DELETE; ask that URI", false},
		{"a PUT that would become a GET", "/here", "}, method: put, body: x", "would make a GET of the PUT", false},
		{"to a server that is down", "/dead", "}, method: get", "GET http://127.0.0.1:1/end: connection refused", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := mustOrigins(t, c.secureFirst, false)
			fault := o.ask(t, c.path, c.with)
			if fault == nil || !errors.Same(fault.Type, errors.Communication) || !strings.Contains(fault.Detail, c.want) {
				t.Errorf("got %v", fault)
			}
			if len(o.reached) > 0 {
				t.Errorf("%s was reached", o.reached[0].URL)
			}
		})
	}
}

// TestDigestAnswersNobodyElse: a challenge of another origin is an answer like any other.
func TestDigestAnswersNobodyElse(t *testing.T) {
	o := mustOrigins(t, false, false)
	fault := o.ask(t, "/away-digest", ", authentication: {digest: {username: ada, password: lovelace}}}, method: get")
	if fault == nil || fault.Status != http.StatusUnauthorized {
		t.Errorf("got %v", fault)
	}
	if len(o.reached) != 1 || len(o.received("Authorization")) != 0 {
		t.Errorf("%d requests with %q", len(o.reached), o.received("Authorization"))
	}
}

// TestRedirectsToNoURL: the error does not quote text that may contain a password.
func TestRedirectsToNoURL(t *testing.T) {
	for _, location := range []string{"http://eve:pa55@[::1", "ftp://eve:pa55@h/%zz", "https://eve:pa55 @h/", "//eve:pa55@h:x/"} {
		server := mustListen(t, answers("HTTP/1.1 302 Found\r\nLocation: "+location+"\r\nContent-Length: 0\r\n\r\n"))
		transport := tasks.NewTransport(tasks.TransportConfig{})
		t.Cleanup(transport.CloseIdleConnections)
		outcome := runDocument(t, tasks.Config{Transport: transport}, fmt.Sprintf("  - ask: {call: http, with: {method: get, redirect: true, endpoint: 'http://%s/'}, timeout: {after: PT60S}}\n", server.Addr()))
		if f := outcome.Fault; f == nil || !errors.Same(f.Type, errors.Communication) || strings.Contains(fmt.Sprint(f.Detail, f.Extensions), "pa55") {
			t.Errorf("%s: the run is %s: %v", location, outcome.Status, f)
		}
	}
}

// TestCredentialsOfImports: the imports of a .proto document are read with its credential, unless redirects led to another origin.
func TestCredentialsOfImports(t *testing.T) {
	var mu sync.Mutex
	got := map[string]string{}
	serve := func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got[r.URL.Path] = r.Header.Get("Authorization")
		_, _ = io.WriteString(w, map[string]string{
			"a.proto": "syntax = 'proto3'; import 'b.proto'; service S { rpc One(M) returns (M); }", "b.proto": "syntax = 'proto3'; message M {}",
		}[path.Base(r.URL.Path)])
	}
	second := httptest.NewServer(http.HandlerFunc(serve))
	defer second.Close()
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/near.proto":
			http.Redirect(w, r, "/here/a.proto", http.StatusFound)
		case "/far.proto":
			http.Redirect(w, r, second.URL+"/there/a.proto", http.StatusFound)
		default:
			serve(w, r)
		}
	}))
	defer first.Close()
	service := grpctest.New(nil)
	defer service.Stop()
	config := tasks.Config{Dial: service.Dial, Load: tasks.Loader("t.yaml", tasks.Sources{Transport: http.DefaultTransport})}
	for _, name := range []string{"near", "far"} {
		at := fmt.Sprintf("{uri: '%s/%s.proto', authentication: {bearer: {token: t}}}", first.URL, name)
		_ = runDocument(t, config, strings.Replace(fmt.Sprintf(callGRPC, "S", "81", "One", "PT60S"), "a.proto", at, 1)) // the server has no such method
	}
	want := map[string]string{"/here/a.proto": "Bearer t", "/here/b.proto": "Bearer t", "/there/a.proto": "", "/there/b.proto": ""}
	if !maps.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
