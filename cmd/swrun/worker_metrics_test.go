package main

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// TestMetricsOfAWorker: a worker serves its metrics, and no part of the API, to requests for this machine by its name.
func TestMetricsOfAWorker(t *testing.T) {
	h := &hosted{t, "file:" + filepath.Join(t.TempDir(), "runs.db")}
	w := h.listening("worker", "--metrics", "127.0.0.1:0")
	for _, c := range []struct {
		path, host string
		status     int
		has        string
	}{
		{"/metrics", "", http.StatusOK, "\nswrun_store_up 1\n"},
		{"/metrics", "evil.example", http.StatusMisdirectedRequest, "foreign-host"},
		{"/livez", "", http.StatusOK, ""},
		{"/v1/runs", "", http.StatusNotFound, ""},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = c.host
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != c.status || !strings.Contains(string(body), c.has) {
			t.Errorf("%s of %q: %d %.300s, %v", c.path, c.host, answer.StatusCode, body, err)
		}
	}
	if code := w.stop(); code != exitOK {
		t.Errorf("it ends with %d: %s", code, w.err)
	}
}
