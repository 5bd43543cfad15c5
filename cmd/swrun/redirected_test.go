package main

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// movedResources are two servers: the first one redirects everything below /old to /new/place of the second one, and serves nothing else.
type movedResources struct {
	url  string
	gone atomic.Bool // the second one serves only the described API, and no resources any more
}

func newMovedResources(t *testing.T) *movedResources {
	m := &movedResources{}
	files := map[string]string{
		"/new/place/f/function.yaml":  "do:\n- inner: {call: 'file://inner.yaml', input: {schema: {resource: {endpoint: schema.json}}}}\n",
		"/new/place/f/inner.yaml":     "run: {script: {language: js, source: {endpoint: more/script.js}}}\n",
		"/new/place/f/more/script.js": "console.log('moved')\n",
		"/new/place/f/schema.json":    `{"type": "object"}`,
		"/new/place/ops.json":         `{"openapi": "3.1.0", "servers": [{"url": "api"}], "paths": {"/x": {"get": {"operationId": "x"}}}}`,
		"/new/place/a.proto":          "syntax = 'proto3'; package a; import 'more/b.proto'; service S { rpc One(b.M) returns (b.M); }",
		"/new/place/more/b.proto":     "syntax = 'proto3'; package b; message M { string text = 1; }",
	}
	second := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := files[r.URL.Path]
		if r.URL.Path == "/new/place/api/x" {
			w.Header().Set("Content-Type", "application/json")
			text = `{"answers": "moved"}`
		} else if !ok || m.gone.Load() {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write([]byte(text)) // the command reports a reader that disconnected
	}))
	t.Cleanup(second.Close)
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rest, ok := strings.CutPrefix(r.URL.Path, "/old")
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		http.Redirect(w, r, second.URL+"/new/place"+rest+"?signature=s3cret", http.StatusFound)
	}))
	t.Cleanup(first.Close)
	m.url = first.URL + "/old"
	return m
}

// TestReferencesStartBehindRedirects: relative references in a resource start from the URL to which it was redirected (RFC 3986, section 5.1.3). This
// holds for references of functions, of OpenAPI documents and of .proto documents, read with the document and by the task. A deployed definition
// needs no server any more.
func TestReferencesStartBehindRedirects(t *testing.T) {
	m := newMovedResources(t)
	write := func(tasks string) string {
		return mustWriteFile(t, "moved.yaml", "document: {dsl: 1.0.3, namespace: demo, name: moved, version: 1.0.0}\ndo:\n"+strings.ReplaceAll(tasks, "OLD", m.url))
	}
	frozen := write("- called: {call: 'OLD/f', export: {as: '{called: .}'}}\n" +
		"- asked: {call: openapi, with: {document: {endpoint: 'OLD/ops.json'}, operationId: x}, output: {as: '$context + .'}}\n")
	later := write("- asked: {call: openapi, with: {document: {endpoint: '${ \"OLD/ops.json\" }'}, operationId: x}}\n")
	const output, answer = `{"answers":"moved","called":"moved"}`, `{"answers":"moved"}`
	h := &hosted{t, "file:" + filepath.Join(t.TempDir(), "runs.db")}
	h.prints(output, "run", frozen, "--progress", "none")
	h.prints(answer, "run", later, "--progress", "none")
	grpc := func(proto string) string {
		return write("- ask: {call: grpc, with: {proto: {endpoint: " + proto + "}, service: {name: a.S, host: 127.0.0.1, port: 1}, method: One}}\n")
	}
	h.exits(exitOK, "validate", "--fetch", grpc("'OLD/a.proto'"))
	if said := h.stderr(exitFaulted, "run", grpc(`'${ "OLD/a.proto" }'`)); !strings.Contains(said, "127.0.0.1:1") {
		t.Errorf("the document of a call that only the run knows is not used: %s", said)
	}
	other := &hosted{t, "file:" + filepath.Join(t.TempDir(), "other.db")}
	h.serve("--allow-processes", "--network", "any")
	other.work("--allow-processes", "--network", "any")
	for _, by := range []*hosted{h, other} { // through a server, and on a store
		m.gone.Store(false)
		by.exits(exitOK, "deploy", frozen)
		m.gone.Store(true)
		by.exits(exitOK, "start", "demo/moved", "--id", "a")
		by.until(output, "output", "a")
		contains(t, by.exits(exitOK, "export", "a"), `"locations"`, "!s3cret")
	}
}
