package server_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/server"
	"time"
)

// FuzzRequests sends any text as each part of a request of each operation: nothing of it leads to a status of 500 or above, or to a problem that
// does not say what is wrong.
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
	for n := range routes {
		f.Add(n, "demo", "one", "limit=1", "{}")
	}
	for _, body := range []string{"", "null", "[]", `{"workflow": "demo/x", "input": ` + strings.Repeat("[", 100) + `}`, "{\"a\":\xff}", `{"reason": "\ud800"}`, "document: {dsl: 1.0.3}", "{{}}", "&a [*a]"} {
		f.Add(0, "..", "%2e%2e", "where=status%3Dodd", body)
		f.Add(7, "{tag}", "*", "cursor=%00", body)
	}
	f.Fuzz(func(t *testing.T, n int, first, second, query, body string) {
		r := routes[uint(n)%uint(len(routes))]
		path := strings.NewReplacer("{namespace}", url.PathEscape(first), "{id}", url.PathEscape(second), "{name}", url.PathEscape(second),
			"{version}", url.PathEscape(second), "{code}", url.PathEscape(first), "{seq}", url.PathEscape(second)).Replace(r.Path)
		target, err := url.Parse("http://127.0.0.1" + path)
		if err != nil || strings.Contains(path, "//") || strings.HasSuffix(path, "/") || strings.Contains(query, "wait") {
			t.Skip()
		}
		target.RawQuery = query
		request := httptest.NewRequest(r.Method, "/", strings.NewReader(body))
		request.URL = target
		request.Header.Set("Content-Type", "application/json")
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
