package tasks_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/tasks"
)

// described returns a loader whose only resource is a document in YAML, whose operation x is a GET.
func described(servers ...string) interpreter.Loader {
	return describes(fmt.Sprintf("openapi: 3.1.0\nservers: [{url: '%s'}]\npaths: {/x: {get: {operationId: x}}}\n", strings.Join(servers, "'}, {url: '")))
}

const callX = "  - ask: { call: openapi, with: { document: { endpoint: openapi.yaml }, operationId: x }, timeout: { after: %s } }\n"

// TestTimeoutCutsOperation: the server sees its request end.
func TestTimeoutCutsOperation(t *testing.T) {
	for _, text := range []string{"", "first"} {
		wantCut(t, text, "/do/0/ask", func(url, after string) execution.Outcome {
			return runDocument(t, tasks.Config{Load: described(url)}, fmt.Sprintf(callX, after))
		})
	}
}

// TestTimeoutCutsDocument: a timeout also ends the request for a document that only the run knows.
func TestTimeoutCutsDocument(t *testing.T) {
	wantCut(t, "openapi: ", "/do/0/ask", func(url, after string) execution.Outcome {
		return runDocument(t, tasks.Config{Load: tasks.Loader("t.yaml", tasks.Sources{Transport: http.DefaultTransport})}, strings.Replace(fmt.Sprintf(callX, after), "openapi.yaml", fmt.Sprintf(`'${ "%s/openapi.yaml" }'`, url), 1))
	})
}

// TestOtherServers: all servers of an unavailable operation get the same key and the same credential. Any other answer ends the call.
func TestOtherServers(t *testing.T) {
	var mu sync.Mutex
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, fmt.Sprint(r.URL.Path, " ", r.Header.Get("X-Swrun-Attempt"), " ", r.Header.Get("Authorization"), " ", r.Header.Get("Idempotency-Key")))
		var status int
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &status) // 0 is not a status: the test would see it
		w.WriteHeader(status)
	}))
	defer server.Close()
	document := strings.Replace(fmt.Sprintf(callX, "PT60S"), "operationId: x", "operationId: x, authentication: {bearer: {token: t}}", 1)
	outcome := runDocument(t, tasks.Config{Load: described(server.URL+"/503/a", server.URL+"/503/b", server.URL+"/502", server.URL+"/200")}, document)
	if outcome.Fault == nil || outcome.Fault.Status != 502 || len(got) != 3 {
		t.Fatalf("the run is %s: %v after %q", outcome.Status, outcome.Fault, got)
	}
	_, key, _ := strings.Cut(got[0], " ")
	for i, path := range []string{"/503/a/x ", "/503/b/x ", "/502/x "} {
		if got[i] != path+key || !strings.HasPrefix(key, "1 Bearer t ") || strings.HasSuffix(key, " ") {
			t.Errorf("request %d is %q, want %q", i, got[i], path+key)
		}
	}
}

// TestHostileOperations: regardless of the servers of an operation, the call ends, and leaves no connection (reliability B39).
func TestHostileOperations(t *testing.T) {
	busy := func(c *counterpart, conn net.Conn) {
		for r := bufio.NewReader(conn); c.request(r); {
			_, _ = io.WriteString(conn, "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
		}
	}
	for name, c := range map[string]struct {
		talk  func(*counterpart, net.Conn)
		early bool
	}{
		"accepts and never answers":                    {(*counterpart).listen, false},
		"has a body that drips":                        {drips("HTTP/1.1 200 OK\r\n\r\n"), false},
		"is unavailable at length":                     {drips("HTTP/1.1 503 Busy\r\n\r\n"), false},
		"has a body without end":                       {floods("HTTP/1.1 200 OK\r\n\r\n", strings.Repeat("x", 1<<16)), true},
		"has a small body that becomes a large one":    {answers(zipped(50 << 20)), true},
		"announces more than anybody takes":            {answers("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"), true},
		"is unavailable, and so is every other server": {busy, true},
	} {
		t.Run(name, func(t *testing.T) {
			wantEnd(t, c.talk, c.early, func(config tasks.Config, url, after string) execution.Outcome {
				config.Load = described(url, url+"/b")
				return runDocument(t, config, fmt.Sprintf(callX, after))
			})
		})
	}
}

// TestHostileResources: documents that never end, or are too large once they are decompressed, end with an error that can be caught.
func TestHostileResources(t *testing.T) {
	for name, c := range map[string]struct {
		talk func(*counterpart, net.Conn)
		want string
	}{
		"without end":         {floods("HTTP/1.1 200 OK\r\n\r\n", strings.Repeat("x", 1<<16)), errors.Configuration},
		"large once unzipped": {answers(zipped(50 << 20)), errors.Configuration},
		"shorter than it says": {func(c *counterpart, conn net.Conn) {
			c.request(bufio.NewReader(conn))
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
		}, errors.Communication},
		"leads to a file": {answers("HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n"), errors.Communication},
		"leads round in circle": {func(c *counterpart, conn net.Conn) {
			for r := bufio.NewReader(conn); c.request(r); {
				_, _ = io.WriteString(conn, "HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n")
			}
		}, errors.Communication},
	} {
		t.Run(name, func(t *testing.T) {
			server := mustListen(t, c.talk)
			transport := tasks.NewTransport(tasks.TransportConfig{})
			document := strings.Replace(fmt.Sprintf(callX, "PT60S"), "openapi.yaml", fmt.Sprintf(`'${ "http://%s/openapi.yaml" }'`, server.Addr()), 1)
			outcome := runDocument(t, tasks.Config{Transport: transport, Load: tasks.Loader("t.yaml", tasks.Sources{Transport: transport})}, document)
			if f := outcome.Fault; f == nil || !errors.Same(f.Type, c.want) {
				t.Errorf("the run is %s: %v, want %s", outcome.Status, outcome.Fault, c.want)
			}
			transport.CloseIdleConnections()
			server.Close()
			server.talks.Wait() // it returns when no connection is left
		})
	}
}

// TestCredentialsOfResources: they are sent only to the origin that the document names.
func TestCredentialsOfResources(t *testing.T) {
	var mu sync.Mutex
	got := map[string]string{}
	note := func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got[r.Host+r.URL.Path] = r.Header.Get("Authorization")
	}
	other := httptest.NewServer(http.HandlerFunc(note))
	defer other.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note(w, r)
		http.Redirect(w, r, map[string]string{"/a": "/b", "/b": other.URL + "/c"}[r.URL.Path], http.StatusFound)
	}))
	defer server.Close()
	document := strings.Replace(fmt.Sprintf(callX, "PT60S"), "openapi.yaml", fmt.Sprintf(`{uri: '%s/a', authentication: {bearer: {token: t}}}`, server.URL), 1)
	outcome := runDocument(t, tasks.Config{Load: tasks.Loader("t.yaml", tasks.Sources{Transport: http.DefaultTransport})}, document)
	if outcome.Fault == nil || !errors.Same(outcome.Fault.Type, errors.Configuration) { // the received value is empty
		t.Errorf("the run is %s: %v", outcome.Status, outcome.Fault)
	}
	a, b, c := server.Listener.Addr().String()+"/a", server.Listener.Addr().String()+"/b", other.Listener.Addr().String()+"/c"
	if token, asked := got[c]; got[a] != "Bearer t" || got[b] != "Bearer t" || token != "" || !asked {
		t.Errorf("got %q", got)
	}
}
