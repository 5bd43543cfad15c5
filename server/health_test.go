package server_test

import (
	"encoding/json"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/server"
)

// TestHealth: warnings have the status 200. The status 503 means that the store takes no new runs (promises 136 to 138).
func TestHealth(t *testing.T) {
	s, err := swrun.OpenStore(t.Context(), "file:"+filepath.Join(t.TempDir(), "runs.db"), swrun.StoreConfig{})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := swrun.NewEngine(s, swrun.EngineConfig{})
	if err != nil {
		t.Fatal(err)
	}
	c := control.New(engine, s, time.Now)
	a := server.New(server.Config{Control: c, Authorize: server.TrustEveryone})
	ask := func(status int, worst string) map[string]string {
		t.Helper()
		r := httptest.NewRequest("GET", "/v1/health", nil)
		r.Host = "localhost"
		w := httptest.NewRecorder()
		a.ServeHTTP(w, r)
		var h api.Health
		if err := json.Unmarshal(w.Body.Bytes(), &h); err != nil || w.Code != status || h.Status != worst || h.Schema != api.SchemaHealth || h.Version != swrun.Version() {
			t.Errorf("want %d %s, got %d %s (%v)", status, worst, w.Code, w.Body, err)
		}
		found := map[string]string{}
		for _, check := range h.Checks {
			if check.Code == "" || check.Name == "" || check.Reason == "" {
				t.Errorf("a check says %+v", check)
			}
			found[check.Name] = check.Status
		}
		return found
	}
	if found := ask(200, "ok"); found["workers"] != "ok" || found["store"] != "ok" {
		t.Errorf("of an empty store: %v", found)
	}
	d, err := swrun.Parse("nap.yaml", []byte("document: {dsl: 1.0.3, namespace: demo, name: nap, version: 1.0.0}\ndo: [{nap: {wait: {hours: 1}}}]"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := engine.StartDocument(t.Context(), d, nil, swrun.StartOptions{}); err != nil {
		t.Fatal(err)
	}
	if found := ask(200, "warning"); found["workers"] != "warning" || found["overdue"] != "ok" {
		t.Errorf("without a worker: %v", found)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	ask(503, "error")
}
