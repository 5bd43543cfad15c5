package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/server"
)

// fuzzedHeaders are the headers that an operation reads.
func fuzzedHeaders() []string {
	return []string{"Last-Event-ID", "Idempotency-Key", "If-None-Match", "Traceparent", "Prefer", "Authorization", api.ActorHeader}
}

// unsendable reports whether a server refuses a character of a header before any handler reads it.
func unsendable(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// mustHave deploys a workflow, and starts a run of it, so that operations have a subject.
func mustHave(f *testing.F, s http.Handler) {
	for _, ask := range [][3]string{
		{"PUT", "/v1/workflows/demo/one/1.0.0", `{"document": {"dsl": "1.0.3", "namespace": "demo", "name": "one", "version": "1.0.0"}, "do": [{"a": {"wait": "PT1H"}}]}`},
		{"POST", "/v1/runs", `{"workflow": "demo/one", "id": "one"}`},
	} {
		r := httptest.NewRequest(ask[0], "http://127.0.0.1"+ask[1], strings.NewReader(ask[2]))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		if s.ServeHTTP(w, r); w.Code != http.StatusCreated {
			f.Fatalf("%s %s: %d %s", ask[0], ask[1], w.Code, w.Body)
		}
	}
}

// FuzzRequests sends any text as each part of a request of each operation. No text leads to a status of 500 or above, or to a problem without the
// mistake.
func FuzzRequests(f *testing.F) {
	s, err := swrun.OpenStore(f.Context(), "memory:", swrun.StoreConfig{})
	if err != nil {
		f.Fatal(err)
	}
	engine, err := swrun.NewEngine(s, swrun.EngineConfig{})
	if err != nil {
		f.Fatal(err)
	}
	a := server.New(server.Config{Control: control.New(engine, s, time.Now), Authorize: server.TrustEveryone, AnyHost: true, Rate: 1 << 30, Requests: 1 << 20})
	routes := a.Routes()
	slices.SortFunc(routes, func(a, b server.Route) int { return strings.Compare(a.ID, b.ID) })
	mustHave(f, a)
	for n := range routes {
		f.Add(n, "demo", "one", "limit=1", "", "{}")
		f.Add(n, "demo", "one", "", "one-1", `{"workflow": "demo/one", "queues": ["q"], "token": "eA", "reason": "r", "by": "+10m", "to": "1.0.0", "task": "/do/0/a", "limit": 1}`)
	}
	for _, body := range []string{"", "null", "[]", `{"workflow": "demo/x", "input": ` + strings.Repeat("[", 100) + `}`, "{\"a\":\xff}", `{"reason": "\ud800"}`, "document: {dsl: 1.0.3}", "{{}}", "&a [*a]"} {
		f.Add(0, "..", "%2e%2e", "where=status%3Dodd", "*", body)
		f.Add(7, "{tag}", "*", "cursor=%00", "Bearer nothing", body)
	}
	f.Fuzz(func(t *testing.T, n int, first, second, query, header, body string) {
		r := routes[uint(n)%uint(len(routes))]
		path := strings.NewReplacer("{namespace}", url.PathEscape(first), "{id}", url.PathEscape(second), "{name}", url.PathEscape(second),
			"{version}", url.PathEscape(second), "{code}", url.PathEscape(first), "{seq}", url.PathEscape(second)).Replace(r.Path)
		target, err := url.Parse("http://127.0.0.1" + path)
		if err != nil || strings.Contains(path, "//") || strings.HasSuffix(path, "/") || strings.Contains(query+header, "wait") || strings.ContainsFunc(header, unsendable) {
			t.Skip()
		}
		target.RawQuery = query
		request := httptest.NewRequest(r.Method, "/", strings.NewReader(body))
		request.URL = target
		for _, name := range fuzzedHeaders() {
			request.Header.Set(name, header)
		}
		request.Header.Set("Content-Type", "application/json")
		ctx, stop := context.WithTimeout(request.Context(), time.Second) // a poll waits
		defer stop()
		request = request.WithContext(ctx)
		w := httptest.NewRecorder()
		a.ServeHTTP(w, request)
		if w.Code >= http.StatusInternalServerError {
			t.Errorf("%s %s with %q: %d %s", r.Method, target, body, w.Code, w.Body)
		}
		if w.Code >= http.StatusBadRequest {
			var p struct{ Type, Detail string }
			if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p.Type == "" || p.Detail == "" {
				t.Errorf("%s %s: %d %s", r.Method, target, w.Code, w.Body)
			}
		}
	})
}
