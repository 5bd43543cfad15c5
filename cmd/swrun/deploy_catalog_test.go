package main

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// catalogOverHTTP is a catalog of functions on a server, which counts the requests for each file.
type catalogOverHTTP struct {
	URL   string
	mu    sync.Mutex
	asked map[string]int
}

// times returns the number of requests for a file since the last call.
func (c *catalogOverHTTP) times(file string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.asked[file]
	c.asked[file] = 0
	return n
}

// catalogServer serves files by their paths, until the test ends.
func catalogServer(t *testing.T, files map[string]string) *catalogOverHTTP {
	c := &catalogOverHTTP{asked: map[string]int{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		c.asked[r.URL.Path]++
		c.mu.Unlock()
		text, ok := files[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write([]byte(text)) // the command reports a reader that disconnected
	}))
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

// TestDeployLooksIntoCatalogs: deploy looks for workflows that functions of a catalog over HTTP run, in a store and by a server. A function is read
// once. A catalog that fails gives its error, and nothing is deployed.
func TestDeployLooksIntoCatalogs(t *testing.T) {
	const pay, runsBank = "/functions/pay/1.0.0/function.yaml", "run: {workflow: {namespace: demo, name: bank, version: latest}}"
	catalog := catalogServer(t, map[string]string{
		pay:                                    runsBank,
		"/functions/huge/1.0.0/function.yaml":  "set: {a: " + strings.Repeat("x", 5<<20) + "}",
		"/functions/deep/1.0.0/function.yaml":  strings.Repeat("[", 100_000),
		"/functions/empty/1.0.0/function.yaml": "",
		"/functions/null/1.0.0/function.yaml":  "null",
		"/functions/page/1.0.0/function.yaml":  "<!doctype html><title>Sign in</title>",
	})
	h := &hosted{t, "file:" + filepath.Join(t.TempDir(), "runs.db")}
	served := h.listening("serve", t.TempDir(), "--listen", "127.0.0.1:0")
	calls := func(function, endpoint string) string {
		return mustWriteFile(t, "calls.yaml", "document: {dsl: 1.0.3, namespace: demo, name: calls, version: 1.0.0}\n"+
			"use: {catalogs: {shop: {endpoint: \""+endpoint+"\"}}}\ndo:\n- a: {call: "+function+":1.0.0@shop}\n")
	}
	deploy := func(want int, document string, flags ...string) string {
		t.Helper()
		c := capture(nil)
		if code := run(append([]string{"deploy", document}, flags...), c.streams); code != want {
			t.Errorf("deploy %q ended with %d, not %d: %s", flags, code, want, &c.stderr)
		}
		return c.stderr.String()
	}
	for _, at := range [][]string{{"--server", served.url}, {"--store", "file:" + filepath.Join(t.TempDir(), "other.db")}} {
		document := calls("pay", catalog.URL)
		want := document + ":4 calls the function at " + catalog.URL + pay + ", which runs bank of demo, and no such workflow is deployed"
		if said := deploy(exitOK, document, at...); !strings.Contains(said, want) {
			t.Errorf("%q is not said of %q, but %s", want, at, said)
		}
		if n := catalog.times(pay); n != 1 {
			t.Errorf("%q: the function was read %d times", at, n)
		}
		for function, want := range map[string]string{
			"absent": "404", "huge": "larger than 4194304 bytes", "deep": "is not valid", "empty": "is not valid", "null": "is not valid", "page": "is not valid",
		} {
			if said := deploy(exitInvalid, calls(function, catalog.URL), at...); !strings.Contains(said, want) || strings.Contains(said, "warning:") {
				t.Errorf("%q: of %s is said %s", at, function, said)
			}
		}
		if said := deploy(exitInvalid, calls("pay", "http://127.0.0.1:1"), at...); !strings.Contains(said, "connection refused") {
			t.Errorf("%q: a catalog that is gone: %s", at, said)
		}
	}
	served.stop()
}
