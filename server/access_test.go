package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/access"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/internal/metrics"
	"github.com/swrun/swrun/server"
)

// guarded is a server whose callers need tokens, with its log. No worker advances its runs.
type guarded struct {
	*server.Server
	tokens *access.Tokens
	engine *swrun.Engine
	store  *swrun.Store
	log    *lockedBuffer
	now    *tick
}

// tick is a clock that tests move, or that runs.
type tick struct {
	mu    sync.Mutex
	at    time.Time
	since time.Time // the start of its run; zero while the clock is stopped
}

func (c *tick) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.since.IsZero() {
		return c.at.Add(time.Since(c.since))
	}
	return c.at
}

// run starts the clock for workers, which rely on the passing of the store's time.
func (c *tick) run() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.since.IsZero() { // a second start would set the clock back
		c.since = time.Now()
	}
}

func (c *tick) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// mustGuard returns a server whose callers need tokens; change modifies its configuration.
func mustGuard(t *testing.T, change func(*server.Config)) *guarded {
	t.Helper()
	return mustGuardOn(t, "memory:", change)
}

// mustGuardOn is mustGuard with a store.
func mustGuardOn(t *testing.T, url string, change func(*server.Config)) *guarded {
	t.Helper()
	now := &tick{at: time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)}
	s, err := swrun.OpenStore(t.Context(), url, swrun.StoreConfig{Now: now.now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	engine, err := swrun.NewEngine(s, swrun.EngineConfig{})
	if err != nil {
		t.Fatal(err)
	}
	g := &guarded{tokens: access.NewTokens(s, now.now), engine: engine, store: s, log: &lockedBuffer{}, now: now}
	asked := control.New(engine, s, now.now)
	c := server.Config{Control: asked, Authorize: server.TrustTokens(g.tokens), AnyHost: true, Metrics: metrics.New(engine, s, asked.Monitor, now.now), Log: slog.New(slog.NewTextHandler(g.log, nil)), Now: now.now}
	if change != nil {
		change(&c)
	}
	g.Server = server.New(c)
	return g
}

// send sends a request; headers are names and values in turn.
func (g *guarded) send(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if resource, _, _ := strings.Cut(path, "?"); strings.HasSuffix(resource, "/runs/events") { // this stream does not end
		ctx, leave := context.WithTimeout(r.Context(), 100*time.Millisecond)
		defer leave()
		r = r.WithContext(ctx)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for n := 0; n < len(headers); n += 2 {
		switch headers[n] {
		case "Host":
			r.Host = headers[n+1]
			continue
		case "Content-Type":
			r.Header.Del("Content-Type")
		}
		r.Header.Add(headers[n], headers[n+1])
	}
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	return w
}

// TestWrongCredentials: wrong credentials are refused, and the answer contains the right form.
func TestWrongCredentials(t *testing.T) {
	g := mustGuard(t, nil)
	right := g.token(t, "ci", access.Grant{Role: access.RoleAdmin, Everywhere: true})
	const path = "/openapi.json"
	if w := g.send("GET", path, "", "Authorization", right); w.Code != 200 {
		t.Fatalf("got %d %s", w.Code, w.Body)
	}
	if w := g.send("GET", path, "", "authorization", strings.Replace(right, "Bearer ", "bEARER  ", 1)); w.Code != 200 {
		t.Errorf("another way to write Bearer: got %d %s", w.Code, w.Body)
	}
	for name, headers := range map[string][]string{
		"nothing": {}, "an empty one": {"Authorization", ""}, "no token": {"Authorization", "Bearer"}, "an unknown one": {"Authorization", "Bearer nothing"},
		"basic": {"Authorization", "Basic Og=="}, "a JWT without a signature": {"Authorization", "Bearer eyJhbGciOiJub25lIn0.e30."},
		"two of them": {"Authorization", right, "Authorization", right}, "one of them wrong": {"Authorization", "Bearer x", "Authorization", right},
		"in another header": {"X-Api-Key", strings.TrimPrefix(right, "Bearer ")}, "as a cookie": {"Cookie", "token=" + strings.TrimPrefix(right, "Bearer ")},
		"cut": {"Authorization", right[:len(right)-1]},
	} {
		w := g.send("GET", path, "", headers...)
		if w.Code != 401 || !strings.HasPrefix(w.Header().Get("WWW-Authenticate"), `Bearer realm="swrun"`) || !strings.Contains(w.Body.String(), "swrun token new") {
			t.Errorf("%s: got %d %v %s", name, w.Code, w.Header(), w.Body)
		}
	}
	w := g.send("GET", path+"?access_token="+strings.TrimPrefix(right, "Bearer "), "", "Authorization", right)
	if w.Code != 400 || !strings.Contains(w.Body.String(), "token-in-query") {
		t.Errorf("a token in the query: got %d %s", w.Code, w.Body)
	}
	secret := strings.TrimPrefix(right, "Bearer swrun_ci_")
	if strings.Contains(g.log.String(), secret) || strings.Contains(w.Body.String(), secret) {
		t.Error("the token is repeated")
	}
}

// TestGuessedTokens: a caller that repeatedly sends wrong tokens gets no further answers about tokens for a while. A right token is accepted from the
// same address, and a request without a token is no guess.
func TestGuessedTokens(t *testing.T) {
	g := mustGuard(t, nil)
	right := g.token(t, "ci", access.Grant{Role: access.RoleAdmin, Everywhere: true})
	for range 100 {
		if w := g.send("GET", "/v1/workflows", ""); w.Code != 401 {
			t.Fatalf("without a token: %d", w.Code)
		}
	}
	if w := g.send("GET", "/v1/workflows", "", "Authorization", "Bearer swrun_ci_x"); w.Code != 401 {
		t.Errorf("the first wrong token: %d", w.Code)
	}
	var last *httptest.ResponseRecorder
	for range 100 {
		last = g.send("GET", "/v1/workflows", "", "Authorization", "Bearer swrun_ci_x")
		if w := g.send("GET", "/v1/workflows", "", "Authorization", right); w.Code != 200 {
			t.Fatalf("the right token: %d", w.Code)
		}
	}
	if last.Code != 429 || last.Header().Get("Retry-After") != "1" || !strings.Contains(last.Body.String(), `"name":"refused tokens"`) {
		t.Errorf("got %d %v %s", last.Code, last.Header(), last.Body)
	}
	if w := g.send("GET", "/v1/workflows", ""); w.Code != 401 {
		t.Errorf("without a token: %d", w.Code)
	}
	if w := g.send("GET", "/livez", ""); w.Code != 200 {
		t.Errorf("/livez: %d", w.Code)
	}
	g.now.pass(2 * time.Second)
	if w := g.send("GET", "/v1/workflows", "", "Authorization", "Bearer swrun_ci_x"); w.Code != 401 {
		t.Errorf("two seconds later: %d", w.Code)
	}
}

// TestRateOfACaller: the refusal contains the limit, and each caller has its own limit.
func TestRateOfACaller(t *testing.T) {
	g := mustGuard(t, func(c *server.Config) { c.Rate = 3 })
	everything := access.Grant{Role: access.RoleAdmin, Everywhere: true}
	a, b := g.token(t, "a", everything), g.token(t, "b", everything)
	for n := range 4 {
		w := g.send("GET", "/openapi.json", "", "Authorization", a)
		if (w.Code == 200) != (n < 3) {
			t.Errorf("request %d: %d", n, w.Code)
		}
		if n == 3 && (w.Header().Get("Retry-After") != "1" || !strings.Contains(w.Body.String(), `"limit":{"max":3,"name":"requests a second"}`)) {
			t.Errorf("got %v %s", w.Header(), w.Body)
		}
	}
	if w := g.send("GET", "/openapi.json", "", "Authorization", b); w.Code != 200 {
		t.Errorf("another caller: %d", w.Code)
	}
	g.now.pass(time.Second)
	if w := g.send("GET", "/openapi.json", "", "Authorization", a); w.Code != 200 {
		t.Errorf("a second later: %d", w.Code)
	}
}

// TestRequestsInProgress: a request above the limit is refused immediately, and health is answered anyway.
func TestRequestsInProgress(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	g := mustGuard(t, func(c *server.Config) {
		c.Requests = 1
		c.Authorize = func(*http.Request) (server.Caller, error) {
			entered <- struct{}{}
			<-leave
			return access.Local(), nil
		}
	})
	answered := make(chan int)
	go func() { answered <- g.send("GET", "/openapi.json", "").Code }()
	<-entered
	w := g.send("GET", "/openapi.json", "")
	if w.Code != 429 || !strings.Contains(w.Body.String(), `"limit":{"max":1,"name":"requests in progress"}`) {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if w := g.send("GET", "/readyz", ""); w.Code != 200 {
		t.Errorf("/readyz: %d", w.Code)
	}
	close(leave)
	if code := <-answered; code != 200 {
		t.Errorf("the first: %d", code)
	}
	go func() { answered <- g.send("GET", "/openapi.json", "").Code }()
	<-entered
	if code := <-answered; code != 200 {
		t.Errorf("the next: %d", code)
	}
}

// TestOtherSites: requests of a browser on behalf of a page of another site change nothing, and their answers cannot be read.
func TestOtherSites(t *testing.T) {
	g := mustGuard(t, func(c *server.Config) { c.AnyHost, c.Authorize = false, server.TrustEveryone })
	for name, c := range map[string]struct {
		headers []string
		status  int
	}{
		"no browser":                  {[]string{"Host", "localhost:7474"}, 404},
		"this machine by its address": {[]string{"Host", "127.0.0.1:7474"}, 404},
		"by its IPv6 address":         {[]string{"Host", "[::1]:7474"}, 404},
		"without a port":              {[]string{"Host", "LOCALHOST"}, 404},
		"a page of its own":           {[]string{"Host", "localhost:7474", "Origin", "http://localhost:7474"}, 404},
		"a page of another port":      {[]string{"Host", "localhost:7474", "Origin", "http://localhost:8080"}, 403},
		"another site":                {[]string{"Host", "localhost:7474", "Origin", "https://evil.test"}, 403},
		"a sandboxed page":            {[]string{"Host", "localhost:7474", "Origin", "null"}, 403},
		"another site, as it says":    {[]string{"Host", "localhost:7474", "Sec-Fetch-Site", "cross-site"}, 403},
		"another host that is us":     {[]string{"Host", "evil.test"}, 421},
		"with our port":               {[]string{"Host", "evil.test:7474"}, 421},
		"a name that begins like us":  {[]string{"Host", "localhost.evil.test"}, 421},
		"an address in a name":        {[]string{"Host", "127.0.0.1.nip.io"}, 421},
		"no host":                     {[]string{"Host", ""}, 421},
	} {
		if w := g.send("POST", "/v1/nothing", "", c.headers...); w.Code != c.status {
			t.Errorf("%s: got %d %s", name, w.Code, w.Body)
		}
	}
	w := g.send("GET", "/livez", "", "Host", "localhost", "Origin", "https://evil.test")
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Access-Control-Allow-Origin": "", "Cross-Origin-Resource-Policy": "same-origin", "Referrer-Policy": "no-referrer",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestTokensOverHTTP: an administrator of all namespaces issues and revokes tokens. A new token works immediately, and its text is returned once.
func TestTokensOverHTTP(t *testing.T) {
	g := mustGuard(t, nil)
	admin := g.token(t, "root", access.Grant{Role: access.RoleAdmin, Everywhere: true})
	w := g.send("POST", "/v1/tokens", `{"name":"ci","role":"viewer","namespaces":["demo"],"expiresIn":"1h"}`, "Authorization", admin)
	var made struct{ Token, CreatedBy, ExpiresAt string }
	if err := json.Unmarshal(w.Body.Bytes(), &made); err != nil || w.Code != 201 || !strings.HasPrefix(made.Token, "swrun_ci_") || made.CreatedBy != "root" || made.ExpiresAt == "" {
		t.Fatalf("got %d %s (%v)", w.Code, w.Body, err)
	}
	if w := g.send("GET", "/v1/runs/demo/nothing", "", "Authorization", "Bearer "+made.Token); w.Code != 404 {
		t.Errorf("with the token made: %d %s", w.Code, w.Body)
	}
	if w := g.send("GET", "/v1/tokens", "", "Authorization", admin); w.Code != 200 || !strings.Contains(w.Body.String(), `"name":"ci"`) || strings.Contains(w.Body.String(), made.Token[10:]) {
		t.Errorf("the list is %d %s", w.Code, w.Body)
	}
	for body, status := range map[string]int{
		``: 400, `null`: 422, `{}`: 422, `[]`: 422, `{"name":"ci","role":"viewer","namespaces":["demo"]}`: 409, `{"name":"cd","role":"root","allNamespaces":true}`: 422,
		`{"name":"cd","role":"viewer"}`: 422, `{"name":"cd","role":"viewer","namespaces":[]}`: 422, `{"name":"cd","role":"viewer","namespaces":["*"]}`: 422,
		`{"name":"cd","role":"viewer","allNamespaces":true,"expiresIn":"0s"}`: 422, `{"name":"cd","role":"viewer","allNamespaces":true,"expiresIn":"soon"}`: 422,
		`{"name":"cd","role":"viewer","allNamespaces":true,"hash":"x"}`: 422, `{"name":"local","role":"viewer","allNamespaces":true}`: 422,
	} {
		if w := g.send("POST", "/v1/tokens", body, "Authorization", admin); w.Code != status {
			t.Errorf("%s: got %d %s", body, w.Code, w.Body)
		}
	}
	if w := g.send("DELETE", "/v1/tokens/ci", "", "Authorization", admin); w.Code != 204 {
		t.Errorf("revoked with %d %s", w.Code, w.Body)
	}
	if w := g.send("DELETE", "/v1/tokens/ci", "", "Authorization", admin); w.Code != 404 {
		t.Errorf("revoked again with %d %s", w.Code, w.Body)
	}
	g.now.pass(access.KnownFor)
	if w := g.send("GET", "/v1/runs/demo/nothing", "", "Authorization", "Bearer "+made.Token); w.Code != 401 {
		t.Errorf("with a revoked token: %d %s", w.Code, w.Body)
	}
	for _, line := range []string{`msg=audit actor=root operation=issueToken method=POST path=/v1/tokens status=201`, `msg=audit actor=root operation=revokeToken method=DELETE path=/v1/tokens/ci status=204`} {
		if !strings.Contains(g.log.String(), line) {
			t.Errorf("the log does not say %s:\n%s", line, g.log)
		}
	}
	if strings.Contains(g.log.String(), made.Token[9:]) {
		t.Error("the log has a token")
	}
}

// TestOtherNamespacesInBodies: for a token, an object in a body does not exist if it is in a namespace that the token does not see.
func TestOtherNamespacesInBodies(t *testing.T) {
	g := mustGuard(t, nil)
	document, err := swrun.Parse("", []byte("document: {dsl: 1.0.3, namespace: theirs, name: order, version: 1.0.0}\ndo: [{a: {wait: PT1H}}]"))
	if err != nil {
		t.Fatal(err)
	}
	if err := g.engine.Deploy(t.Context(), document); err != nil {
		t.Fatal(err)
	}
	if _, err := g.engine.StartDocument(t.Context(), document, nil, swrun.StartOptions{ID: "one"}); err != nil {
		t.Fatal(err)
	}
	const token = `"dGhlaXJzL29uZSAxIG4"` // theirs/one 1 n
	of := func(namespaces ...string) string {
		return g.token(t, "of-"+namespaces[0], access.Grant{Role: access.RoleOperator, Namespaces: namespaces})
	}
	mine, theirs := of("mine"), of("theirs")
	for _, c := range []struct{ path, body, mine, theirs string }{
		{"/v1/runs", `{"workflow":"theirs/order"}`, "404 the workflow theirs/order is not deployed", "201 "},
		{"/v1/activities/poll", `{"queues":["default"],"namespace":"theirs"}`, "404 there is no namespace theirs", "200 "},
		{"/v1/activities/complete", `{"token":` + token + `}`, "404 there is no run theirs/one", "409 "},
		{"/v1/activities/heartbeat", `{"token":` + token + `}`, "404 there is no run theirs/one", "200 "},
		{"/v1/activities/report", `{"completed":[{"token":` + token + `}]}`, "200 there is no run theirs/one", "200 "},
		{"/v1/runs/cancel", `{"runs":["theirs/one"]}`, "200 there is no run theirs/one", `200 "outcome":"accepted"`},
		{"/v1/runs/cancel", `{"where":"id=one"}`, `200 "outcomes":[]`, `200 "outcomes":[{`},
	} {
		for authorization, want := range map[string]string{mine: c.mine, theirs: c.theirs} {
			w := g.send("POST", c.path, c.body, "Authorization", authorization)
			if status, text, _ := strings.Cut(want, " "); strconv.Itoa(w.Code) != status || !strings.Contains(w.Body.String(), text) {
				t.Errorf("%s %s: got %d %.300s, want %s", c.path, c.body, w.Code, w.Body, want)
			}
		}
	}
}
