package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/server"
)

// cutStore is a store whose reads of runs fail after it has accepted a start.
type cutStore struct {
	store.Store
	armed, cut atomic.Bool
}

func (s *cutStore) Start(ctx context.Context, c store.Start) (store.Started, error) {
	d, err := s.Store.Start(ctx, c)
	s.cut.Store(s.armed.Load() && err == nil)
	return d, err
}

func (s *cutStore) Load(ctx context.Context, i store.Instance) (store.Loaded, error) {
	if s.cut.Load() {
		return store.Loaded{}, errors.New("the connection is cut")
	}
	return s.Store.Load(ctx, i)
}

// TestUnreadStarts: a start and an import that the store has accepted are answered as successes, also if the run cannot be read afterwards.
func TestUnreadStarts(t *testing.T) {
	var cut *cutStore
	engine, s := napping(t, func(is store.Store) store.Store {
		cut = &cutStore{Store: is}
		return cut
	})
	h := httptest.NewServer(server.New(server.Config{Control: control.New(engine, s, time.Now), Authorize: server.TrustEveryone}))
	t.Cleanup(h.Close)
	export := askedRun(t, h.URL+"/v1/runs/demo/nap/export", "", "", http.StatusOK)
	definition := `"definition": {"file": "w.yaml", "document": "document: {dsl: 1.0.3, namespace: demo, name: w, version: 1.0.0}\ndo: [{a: {wait: {hours: 1}}}]"}`
	elsewhere, err := swrun.OpenStore(t.Context(), "memory:", swrun.StoreConfig{})
	if err != nil {
		t.Fatal(err)
	}
	other := &cutStore{Store: elsewhere.Store}
	elsewhere.Store = other
	imports, err := swrun.NewEngine(elsewhere, swrun.EngineConfig{})
	if err != nil {
		t.Fatal(err)
	}
	importing := httptest.NewServer(server.New(server.Config{Control: control.New(imports, elsewhere, time.Now), Authorize: server.TrustEveryone}))
	t.Cleanup(importing.Close)
	cut.armed.Store(true)
	other.armed.Store(true)
	for _, c := range []struct {
		url, body, prefer, id string
		status                int
	}{
		{h.URL + "/v1/runs", `{"workflow": "demo/w:1.0.0", "id": "a", ` + definition + `}`, "", "a", http.StatusCreated},
		{h.URL + "/v1/runs", `{"workflow": "demo/w:1.0.0", "id": "b", ` + definition + `}`, "wait=1", "b", http.StatusAccepted},
		{importing.URL + "/v1/import", export, "", "nap", http.StatusCreated},
	} {
		cut.cut.Store(false)
		text := askedRun(t, c.url, c.body, c.prefer, c.status)
		var d struct{ ID, Namespace, Status, Why string }
		if err := json.Unmarshal([]byte(text), &d); err != nil || d.ID != c.id || d.Namespace != "demo" || d.Status != "pending" || !strings.Contains(d.Why, "could not be read") {
			t.Errorf("%s is answered with %s, %v", c.url, text, err)
		}
	}
	cut.cut.Store(false)
	askedRun(t, h.URL+"/v1/runs/demo/a", "", "", http.StatusOK)
	askedRun(t, h.URL+"/v1/runs/demo/b", "", "", http.StatusOK)
	other.cut.Store(false)
	askedRun(t, importing.URL+"/v1/runs/demo/nap", "", "", http.StatusOK)
}

// askedRun posts a body, or gets a path without one, and returns the body of the answer, which has a status. The answer to a post has the
// path of the run as Location.
func askedRun(t *testing.T, url, body, prefer string, status int) string {
	t.Helper()
	method := http.MethodPost
	if body == "" {
		method = http.MethodGet
	}
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if r.Header.Set("Content-Type", "application/json"); prefer != "" {
		r.Header.Set("Prefer", prefer)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != status || method == http.MethodPost && !strings.HasPrefix(answer.Header.Get("Location"), "/v1/runs/demo/") {
		t.Fatalf("%s %s is answered with %s: %s, %v", method, url, answer.Status, text, err)
	}
	return string(text)
}
