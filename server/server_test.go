package server_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/access"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/internal/metrics"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/server"
)

// deployment is a server over a store in memory, with an engine.
type deployment struct {
	*httptest.Server
	engine *swrun.Engine
	api    *server.Server
	store  *watchedStore
}

// watchedStore counts the reads of histories, and can return a later time than the time of the written events.
type watchedStore struct {
	store.Store
	histories atomic.Int64
	ahead     atomic.Int64 // a time.Duration
}

func (s *watchedStore) Written(ctx context.Context) ([]store.Written, error) {
	all, err := s.Store.Written(ctx)
	for p := range all {
		all[p].At = all[p].At.Add(time.Duration(s.ahead.Load()))
	}
	return all, err
}

func (s *watchedStore) Diagnose(err error) (store.Ailment, bool) {
	if d, ok := s.Store.(store.Diagnoser); ok {
		return d.Diagnose(err)
	}
	return store.Ailment{}, false
}

func (s *watchedStore) History(ctx context.Context, i store.Instance, from, n int) ([]store.StoredEntry, error) {
	s.histories.Add(1)
	return s.Store.History(ctx, i, from, n)
}

func mustDeployment(t *testing.T) *deployment {
	return mustDeploymentWith(t, func(*server.Config, *access.Tokens) {})
}

// mustDeploymentWith is mustDeployment with another configuration; change also gets the tokens of its store.
func mustDeploymentWith(t *testing.T, change func(*server.Config, *access.Tokens)) *deployment {
	t.Helper()
	return mustServe(t, "memory:", change)
}

// mustServe serves a store.
func mustServe(t *testing.T, url string, change func(*server.Config, *access.Tokens)) *deployment {
	t.Helper()
	s, err := swrun.OpenStore(t.Context(), url, swrun.StoreConfig{})
	if err != nil {
		t.Fatal(err)
	}
	watched := &watchedStore{Store: s.Store}
	s.Store = watched
	engine, err := swrun.NewEngine(s, swrun.EngineConfig{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	worked := make(chan error, 1)
	go func() { worked <- engine.Work(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-worked; err != nil {
			t.Error(err)
		}
	})
	asked := control.New(engine, s, time.Now)
	c := server.Config{Control: asked, Authorize: server.TrustEveryone, Metrics: metrics.New(engine, s, asked.Monitor, time.Now)}
	change(&c, access.NewTokens(s, time.Now))
	a := server.New(c)
	h := httptest.NewServer(a)
	t.Cleanup(h.Close)
	return &deployment{h, engine, a, watched}
}

// answer is an answer of the server.
type answer struct {
	*http.Response
	body string
}

// ask sends a request; body is JSON, or empty for none.
func (d *deployment) ask(t *testing.T, method, path, body string, headers ...string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, d.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for n := 0; n < len(headers); n += 2 {
		r.Header.Set(headers[n], headers[n+1])
	}
	response, err := d.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response, string(text)}
}

// isProblem reports the differences between an answer and a problem with a status and a name.
func (a answer) isProblem(t *testing.T, status int, name string) api.Problem {
	t.Helper()
	var p api.Problem
	if err := json.Unmarshal([]byte(a.body), &p); err != nil {
		t.Fatalf("%s: %v: %s", a.Status, err, a.body)
	}
	if a.StatusCode != status || p.Status != status || !strings.HasSuffix(p.Type, "/"+name) || a.Header.Get("Content-Type") != api.ProblemMediaType {
		t.Errorf("want %d %s, got %s %s: %s", status, name, a.Status, a.Header.Get("Content-Type"), a.body)
	}
	return p
}

// TestMethodsOfEveryPath: a path supports the methods in the description, and HEAD if it supports GET. Another method is answered with these in
// Allow.
func TestMethodsOfEveryPath(t *testing.T) {
	d := mustDeployment(t)
	methods := map[string][]string{}
	for _, r := range d.api.Routes() {
		methods[r.Path] = append(methods[r.Path], r.Method)
		if r.Method == http.MethodGet {
			methods[r.Path] = append(methods[r.Path], http.MethodHead)
		}
	}
	for pattern, has := range methods {
		slices.Sort(has)
		path := strings.NewReplacer("{seq}", "1", "{", "", "}", "").Replace(pattern)
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"} {
			if slices.Contains(has, method) {
				continue
			}
			a := d.ask(t, method, path, "")
			allowed := strings.Split(a.Header.Get("Allow"), ", ")
			slices.Sort(allowed)
			if a.StatusCode != http.StatusMethodNotAllowed || !slices.Equal(allowed, has) {
				t.Errorf("%s %s: %s, Allow %v, want %v", method, path, a.Status, allowed, has)
			}
			if method != "HEAD" {
				a.isProblem(t, http.StatusMethodNotAllowed, "method-not-allowed")
			}
		}
	}
}

// TestHead: the answer to HEAD has the status and the headers of the answer to GET, and no body.
func TestHead(t *testing.T) {
	d := mustDeployment(t)
	d.mustDeploy(t, "echo", echoes)
	location := d.mustStart(t, "echo", "one")
	d.ask(t, "GET", location+"/output?wait=30s", "")
	for _, path := range []string{location, location + "/output", location + "/history", location + "/graph.svg", "/v1/runs", "/v1/runs/demo/nothing", "/v1/workflows/demo/echo", "/openapi.json", "/livez"} {
		get, head := d.ask(t, "GET", path, ""), d.ask(t, "HEAD", path, "")
		if head.StatusCode != get.StatusCode || head.body != "" || head.Header.Get("Content-Type") != get.Header.Get("Content-Type") || head.Header.Get("ETag") != get.Header.Get("ETag") {
			t.Errorf("%s: GET %s %v, HEAD %s %v", path, get.Status, get.Header, head.Status, head.Header)
		}
	}
}

// TestConditions: a change with a condition that cannot be kept is refused, and so is a body in an unsupported encoding.
func TestConditions(t *testing.T) {
	d := mustDeployment(t)
	d.mustDeploy(t, "wait", waits)
	location := d.mustStart(t, "wait", "one")
	etag := d.ask(t, "GET", location, "").Header.Get("ETag")
	for name, c := range map[string]struct {
		method, path, body, header, value string
		status                            int
		problem                           string
	}{
		"a run as it was":                {"POST", location + "/suspend", "", "If-Match", etag, 412, "precondition-failed"},
		"another run":                    {"DELETE", location, "", "If-Match", `"other"`, 412, "precondition-failed"},
		"a document that is deployed":    {"PUT", "/v1/workflows/demo/wait/1.0.0", document("wait", "1.0.0", waits), "If-None-Match", "*", 412, "precondition-failed"},
		"a compressed body":              {"POST", "/v1/runs", "\x1f\x8b", "Content-Encoding", "gzip", 415, "unsupported-media-type"},
		"a compressed document":          {"PUT", "/v1/workflows/demo/wait/1.0.0", "\x1f\x8b", "Content-Encoding", "br", 415, "unsupported-media-type"},
		"a body that is compressed thus": {"POST", "/v1/validate", "\x1f\x8b", "Content-Encoding", "identity, gzip", 415, "unsupported-media-type"},
	} {
		t.Run(name, func(t *testing.T) {
			d.ask(t, c.method, c.path, c.body, c.header, c.value).isProblem(t, c.status, c.problem)
		})
	}
	if run := mustRead[api.Description](t, d.ask(t, "GET", location, ""), http.StatusOK); run.Suspended || len(run.Commands) > 0 {
		t.Errorf("the run was commanded: %+v", run.Commands)
	}
	mustRead[api.Description](t, d.ask(t, "POST", "/v1/runs", `{"workflow": "demo/wait"}`, "If-None-Match", etag), http.StatusCreated)
	mustRead[api.Outcome](t, d.ask(t, "POST", location+"/suspend", "", "If-Match", "*"), http.StatusAccepted)
	d.ask(t, "PUT", "/v1/workflows/demo/wait/1.0.0", document("wait", "1.0.0", echoes), "If-None-Match", "*").isProblem(t, http.StatusPreconditionFailed, "precondition-failed")
	mustRead[api.DeployedWorkflow](t, d.ask(t, "PUT", "/v1/workflows/demo/wait/1.0.0", document("wait", "1.0.0", waits), "Content-Encoding", "identity"), http.StatusOK)
	mustRead[api.DeployedWorkflow](t, d.ask(t, "PUT", "/v1/workflows/demo/wait/2.0.0", document("wait", "2.0.0", waits), "If-None-Match", "*"), http.StatusCreated)
}

// TestMisdirectedRequests checks the answers to requests for unknown objects.
func TestMisdirectedRequests(t *testing.T) {
	d := mustDeployment(t)
	for name, c := range map[string]struct {
		method, path string
		status       int
		problem      string
	}{
		"an unknown path":               {"GET", "/nothing", 404, "not-found"},
		"another method":                {"POST", "/livez", 405, "method-not-allowed"},
		"two slashes":                   {"GET", "//livez", 404, "not-found"},
		"a slash at the end":            {"GET", "/livez/", 404, "not-found"},
		"a semicolon":                   {"GET", "/livez;a=b", 404, "not-found"},
		"a path of gRPC":                {"POST", "/swrun.v1.Runs/Start", 404, "not-found"},
		"a path through a parent":       {"GET", "/v1/../livez", 404, "not-found"},
		"the same, encoded":             {"GET", "/v1/%2e%2e/livez", 404, "not-found"},
		"an unknown parameter":          {"GET", "/livez?verbose=1", 422, "invalid-request"},
		"a parameter that is empty":     {"GET", "/livez?verbose=", 422, "invalid-request"},
		"a parameter that stands twice": {"GET", "/livez?a=1&a=2", 422, "invalid-request"},
		"a query that cannot be read":   {"GET", "/livez?a=%zz", 400, "invalid-request"},
		"a run that is not there":       {"GET", "/v1/runs/demo/nothing", 404, "not-found"},
		"a run that cannot be there":    {"GET", "/v1/runs/demo/%7Btag%7D", 404, "not-found"},
		"a run that is a parent":        {"GET", "/v1/runs/demo/%2e%2e", 404, "not-found"},
	} {
		t.Run(name, func(t *testing.T) { d.ask(t, c.method, c.path, "").isProblem(t, c.status, c.problem) })
	}
}

// TestNamesOfFoldersAreRefused checks names that clients remove from a URL, and names with a slash, which the operation checks.
func TestNamesOfFoldersAreRefused(t *testing.T) {
	d := mustDeployment(t)
	for path, want := range map[string]string{
		"/v1/queues/%2e%2e/pause":         `".." is not a valid name: it means a folder in a URL; use a name with a letter or a digit`,
		"/v1/queues/%2E/pause":            `"." is not a valid name: it means a folder in a URL; use a name with a letter or a digit`,
		"/v1/schedules/demo/.%2e/trigger": `".." is not a valid name: it means a folder in a URL; use a name with a letter or a digit`,
		"/v1/sinks/../retry":              `".." is not a valid name: it means a folder in a URL; use a name with a letter or a digit`,
		"/v1/queues/a%2F/pause":           `queue is wrong: a queue is named by at most 128 letters and digits, with . _ - inside, got "a/"`,
		"/v1/queues/a%2F%2e%2e/pause":     `queue is wrong: a queue is named by at most 128 letters and digits, with . _ - inside, got "a/.."`,
		"/v1/sinks/a%2F%2Fb/retry":        `there is no sink "a//b"`,
		"/v1/queues//pause":               `there is no path "/v1/queues//pause"`,
	} {
		answer := d.ask(t, "POST", path, "")
		if p := mustRead[api.Problem](t, answer, answer.StatusCode); p.Detail != want {
			t.Errorf("%s: %d %q, want %q", path, answer.StatusCode, p.Detail, want)
		}
	}
}
