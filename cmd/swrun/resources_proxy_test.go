package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// resourceProxy is a proxy that serves every resource, and records the requested ones.
type resourceProxy struct {
	URL   string
	mu    sync.Mutex
	asked []string
}

func newResourceProxy(t *testing.T) *resourceProxy {
	p := &resourceProxy{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.asked = append(p.asked, r.URL.String())
		p.mu.Unlock()
		text := "set: {a: 1}\n"
		switch {
		case strings.HasSuffix(r.URL.Path, "openapi.json"):
			text = `{"openapi":"3.0.0","info":{"title":"a","version":"1"},"servers":[{"url":"http://api.invalid"}],"paths":{"/a":{"get":{"operationId":"a","responses":{"200":{"description":"a"}}}}}}`
		case strings.HasSuffix(r.URL.Path, "schema.json"):
			text = `{"type":"object"}`
		}
		_, _ = io.WriteString(w, text) // the command reports a reader that disconnected
	}))
	t.Cleanup(server.Close)
	p.URL = server.URL
	return p
}

// wasAsked returns the resources that were requested since the last call.
func (p *resourceProxy) wasAsked() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	asked := strings.Join(p.asked, " ")
	p.asked = nil
	return asked
}

// resourcesOfProxies returns documents with an external resource of each sort, which only a proxy can reach.
func resourcesOfProxies() map[string]string {
	return map[string]string{
		"http://catalog.invalid/functions/f/1.0.0/function.yaml": "use: {catalogs: {c: {endpoint: {uri: 'http://catalog.invalid/'}}}}\ndo: [{a: {call: 'f:1.0.0@c'}}]",
		"http://function.invalid/f/function.yaml":                "do: [{a: {call: 'http://function.invalid/f'}}]",
		"http://schema.invalid/schema.json":                      "input: {schema: {resource: {endpoint: 'http://schema.invalid/schema.json'}}}\ndo: [{a: {set: {b: 1}}}]",
		"http://api.invalid/openapi.json":                        "do: [{a: {call: openapi, with: {document: {endpoint: 'http://api.invalid/openapi.json'}, operationId: a}}}]",
	}
}

// TestResourcesFollowNetworkAndProxy: every verb that reads the external resources of documents obeys --network and --proxy.
func TestResourcesFollowNetworkAndProxy(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "NO_PROXY", "no_proxy"} {
		t.Setenv(name, "")
	}
	proxy, n := newResourceProxy(t), 0
	for uri, text := range resourcesOfProxies() {
		folder := t.TempDir()
		file := filepath.Join(folder, "a.yaml")
		if err := os.WriteFile(file, []byte("document: {dsl: 1.0.3, namespace: demo, name: a, version: 1.0.0}\n"+text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		function := mustWriteFile(t, "function.yaml", text[strings.Index(text, "do:"):])
		for _, verb := range [][]string{
			{"validate", "--fetch", file}, {"lint", "--fetch", file}, {"deploy", file}, {"run", file}, {"run", file, "--id", "a"}, {"serve", folder}, {"serve", folder, "--strict"}, {"dev", folder},
			{"function", "deploy", "g:1.0.0", function},
		} {
			if verb[0] == "function" && !strings.Contains(uri, "function.invalid") {
				continue
			}
			n++
			ends := func(flags ...string) string { return endsWith(t, append(verb, flags...)) }
			said := ends("--network", "public", "--proxy", proxy.URL)
			if asked := proxy.wasAsked(); !strings.Contains(asked, uri) {
				t.Errorf("%v does not read %s through the proxy: it asked for %q\n%s", verb, uri, asked, said)
			}
			if said := ends("--network", "deny", "--proxy", proxy.URL); !strings.Contains(said, "the network policy is deny") || proxy.wasAsked() != "" {
				t.Errorf("%v reads %s although nothing may be called:\n%s", verb, uri, said)
			}
		}
	}
	if n < 33 {
		t.Errorf("only %d commands were given", n)
	}
}

// endsWith runs a command with a store of its own, and returns its output. A command that serves is ended after it has read its folder.
func endsWith(t *testing.T, args []string) string {
	t.Helper()
	c := capture(map[string]string{"SWRUN_STORE": "file:" + filepath.Join(t.TempDir(), "runs.db")})
	c.now = time.Now
	if args[0] != "serve" && args[0] != "dev" {
		run(args, c.streams)
		return c.stdout.String() + c.stderr.String()
	}
	said, signals, ended := &told{lines: make(chan struct{}, 1)}, make(chan os.Signal, 1), make(chan int, 1)
	c.streams.out, c.streams.err = said, said
	c.streams.signals = func() (<-chan os.Signal, func()) { return signals, func() {} }
	go func() { ended <- run(append(args, "--listen", "127.0.0.1:0"), c.streams) }()
	read := regexp.MustCompile(map[string]string{"serve": "documents of the folders are deployed", "dev": "dev.1 deployed|network policy is deny"}[args[0]])
	if slices.Contains(args, "--strict") { // it reads its folder before it listens
		read = regexp.MustCompile("listening on")
	}
	for !read.MatchString(said.String()) {
		select {
		case <-said.lines:
		case <-ended:
			return said.String()
		}
	}
	signals <- syscall.SIGTERM
	<-ended
	return said.String()
}
