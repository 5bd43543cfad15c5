package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWhatAServerFindsInDocuments: if a server of another version refuses a document that this command accepts, the command quotes its diagnostics
// with the lines of the document. Here a server that reads another document simulates it.
func TestWhatAServerFindsInDocuments(t *testing.T) {
	h := &hosted{t, "file:" + filepath.Join(t.TempDir(), "runs.db")}
	at, err := url.Parse(h.serve().url)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(at)
	older := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		text = bytes.ReplaceAll(text, []byte("PT1S"), []byte("P1XS"))
		r.Host, r.ContentLength, r.Body = at.Host, int64(len(text)), io.NopCloser(bytes.NewReader(text))
		proxy.ServeHTTP(w, r)
	}))
	defer older.Close()
	file := filepath.Join(t.TempDir(), "a.yaml")
	document := "document: {dsl: 1.0.3, namespace: demo, name: a, version: 0.1.0}\ndo:\n  - later: {wait: PT1S}\n"
	if err := os.WriteFile(file, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, more := range [][]string{nil, {"--check-runs"}, {"--check-runs", "--dry-run"}} {
		streams := capture(nil)
		code := run(append([]string{"deploy", file, "--server", older.URL}, more...), streams.streams)
		said := streams.stderr.String()
		for _, want := range []string{"error[SW110]", file + ":3:19", " 3 |   - later: {wait: PT1S}\n   |                   ^^^^\n", "1 error"} {
			if code != exitInvalid || !strings.Contains(said, want) {
				t.Errorf("deploy %v: exit %d, want %q:\n%s", more, code, want, said)
			}
		}
	}
}
