package tasks_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/tasks"
)

// counterpart is a server that follows a script, and notes the received data.
type counterpart struct {
	net.Listener
	mu       sync.Mutex
	received bytes.Buffer
	talks    sync.WaitGroup
}

// mustListen serves each connection with talk until the test ends.
func mustListen(t *testing.T, talk func(*counterpart, net.Conn)) *counterpart {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &counterpart{Listener: l}
	c.talks.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // the test is over
			}
			c.talks.Go(func() {
				defer conn.Close()
				talk(c, conn)
			})
		}
	})
	t.Cleanup(func() { l.Close(); c.talks.Wait() })
	return c
}

// Write notes the data that a client sent.
func (c *counterpart) Write(data []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.received.Write(data)
}

func (c *counterpart) sent() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.received.String()
}

// listen reads the data of the client until the client ends the connection. The tests wait for this end.
func (c *counterpart) listen(conn net.Conn) { _, _ = io.Copy(c, conn) }

// request reads a request without a body.
func (c *counterpart) request(r *bufio.Reader) bool {
	request, err := http.ReadRequest(r)
	return err == nil && request.Body.Close() == nil
}

// answers writes text after the first request, and then listens.
func answers(text string) func(*counterpart, net.Conn) {
	return func(c *counterpart, conn net.Conn) {
		if c.request(bufio.NewReader(conn)) {
			_, _ = io.WriteString(conn, text)
			c.listen(conn)
		}
	}
}

// floods writes first, and then writes next repeatedly.
func floods(first, next string) func(*counterpart, net.Conn) {
	return func(c *counterpart, conn net.Conn) {
		if !c.request(bufio.NewReader(conn)) {
			return
		}
		for text := first; ; text = next {
			if _, err := io.WriteString(conn, text); err != nil {
				return
			}
		}
	}
}

// drips writes text, and then a single byte now and then.
func drips(text string) func(*counterpart, net.Conn) {
	return func(c *counterpart, conn net.Conn) {
		if !c.request(bufio.NewReader(conn)) {
			return
		}
		now := time.NewTicker(10 * time.Millisecond)
		defer now.Stop()
		for next := text; ; next = "x" {
			if _, err := io.WriteString(conn, next); err != nil {
				return
			}
			<-now.C
		}
	}
}

const (
	digestChallenge = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Digest realm=\"a\", nonce=\"b\", qop=\"auth\"\r\n"
	plainGet        = "method: get"
)

// zipped is an answer whose body has the given size after decompression.
func zipped(size int) string {
	var body bytes.Buffer
	w := gzip.NewWriter(&body)
	_, _ = w.Write(make([]byte, size)) // a buffer takes everything
	_ = w.Close()
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", body.Len(), body.String())
}

// TestHostileCounterparts: regardless of the server, the call ends at its task's deadline or before, and leaves neither a goroutine nor a connection.
func TestHostileCounterparts(t *testing.T) {
	for _, c := range []struct {
		name, scheme, with string
		talk               func(*counterpart, net.Conn)
		early              bool // the call ends before its deadline
	}{
		{"accepts and never answers", "http", plainGet, (*counterpart).listen, false},
		{"never speaks TLS", "https", plainGet, (*counterpart).listen, false},
		{"changes to a protocol that stays silent", "http", plainGet,
			answers("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"), true},
		{"changes to a protocol that talks without end", "http", plainGet,
			floods("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", strings.Repeat("x", 1<<16)), true},
		{"stops in the middle of its body", "http", plainGet, answers("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"), false},
		{"stops in the middle of a chunk", "http", plainGet, answers("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\nhalf"), false},
		{"has a body that drips", "http", plainGet, drips("HTTP/1.1 200 OK\r\n\r\n"), false},
		{"has a refusal that drips", "http", plainGet, drips("HTTP/1.1 500 Broken\r\n\r\n"), false},
		{"has a header that drips", "http", plainGet, drips("HTTP/1.1 200 OK\r\nX-A: "), false},
		{"asks for a digest with a body that drips", "http", plainGet, drips(digestChallenge + "\r\n"), false},
		{"stops in the middle of a refusal", "http", plainGet, answers("HTTP/1.1 500 Broken\r\nContent-Length: 100\r\n\r\nhalf"), false},
		{"stops in the middle of its header", "http", plainGet, answers("HTTP/1.1 200 OK\r\nX-A: "), false},
		{"has a header without end", "http", plainGet, floods("HTTP/1.1 200 OK\r\n", "X-A: "+strings.Repeat("a", 1000)+"\r\n"), true},
		{"has one header line without end", "http", plainGet, floods("HTTP/1.1 200 OK\r\nX-A: ", strings.Repeat("a", 1000)), true},
		{"says without end that it goes on", "http", plainGet, floods("", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"), true},
		{"has a body without end", "http", plainGet, floods("HTTP/1.1 200 OK\r\n\r\n", strings.Repeat("x", 1<<16)), true},
		{"has a refusal without end", "http", plainGet, floods("HTTP/1.1 500 Broken\r\n\r\n", strings.Repeat("x", 1<<16)), true},
		{"has a small body that becomes a large one", "http", plainGet, answers(zipped(50 << 20)), true},
		{"announces more than anybody takes", "http", plainGet, answers("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"), true},
		{"answers with what is not HTTP", "http", plainGet, floods("", strings.Repeat("x", 1<<16)), true},
		{"does not say whether to go on", "http", "method: post, body: x, headers: {Expect: 100-continue}", answers(""), false},
		{"says to go on, and then nothing", "http", "method: post, body: x, headers: {Expect: 100-continue}", answers("HTTP/1.1 100 Continue\r\n\r\n"), false},
		{"redirects in a circle", "http", "method: get, redirect: true", func(c *counterpart, conn net.Conn) {
			for r := bufio.NewReader(conn); c.request(r); {
				_, _ = io.WriteString(conn, "HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n")
			}
		}, true},
		{"redirects with a body that does not come", "http", "method: get, redirect: true",
			answers("HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 100\r\n\r\n"), false},
		{"asks for a digest with a body that does not come", "http", "method: get", answers(digestChallenge + "Content-Length: 100\r\n\r\n"), false},
		{"asks for a digest with a body without end", "http", "method: get", floods(digestChallenge+"\r\n", strings.Repeat("x", 1<<16)), true},
		{"takes a digest and never answers", "http", "method: get", answers(digestChallenge + "Content-Length: 0\r\n\r\n"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := goruntime.NumGoroutine()
			server := mustListen(t, c.talk)
			with := fmt.Sprintf("%s, endpoint: {uri: '%s://%s/'}", c.with, c.scheme, server.Addr())
			if strings.Contains(c.name, "digest") {
				with = strings.Replace(with, "/'}", "/', authentication: {digest: {username: ada, password: lovelace}}}", 1)
			}
			after := "PT0.3S"
			if c.early {
				after = "PT60S"
			}
			transport := tasks.NewTransport(tasks.TransportConfig{})
			outcome := runDocument(t, tasks.Config{Transport: transport}, fmt.Sprintf("  - ask: {call: http, with: {%s}, timeout: {after: %s}}\n", with, after))
			if !c.early {
				wantTimeout(t, outcome, "/do/0/ask")
			} else if f := outcome.Fault; f == nil || f.Type != errors.Limit && !errors.Same(f.Type, errors.Communication) {
				t.Errorf("the run is %s: %v", outcome.Status, outcome.Fault)
			}
			transport.CloseIdleConnections()
			server.Close()
			server.talks.Wait() // it returns when no connection is left
			wantGoroutines(t, before)
		})
	}
}

// wantGoroutines waits until the number of goroutines is at most before.
func wantGoroutines(t *testing.T, before int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for goruntime.NumGoroutine() > before {
		if ctx.Err() != nil {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines instead of %d:\n%s", goruntime.NumGoroutine(), before, stacks[:goruntime.Stack(stacks, true)])
		}
		goruntime.Gosched()
	}
}

// TestBytesOfARequest: the bytes of the request are exactly those in the document, and the connection can be used again.
func TestBytesOfARequest(t *testing.T) {
	for _, c := range []struct{ with, want, without string }{
		{"method: post", "Content-Length: 0\r\n", "Transfer-Encoding"},
		{"method: put", "Content-Length: 0\r\n", "Transfer-Encoding"},
		{"method: patch", "Content-Length: 0\r\n", "Transfer-Encoding"},
		{"method: post, body: ''", "Content-Length: 0\r\n", "Transfer-Encoding"},
		{"method: post, body: null", "Content-Length: 0\r\n", "Transfer-Encoding"},
		{"method: post, headers: {Content-Length: 5, Transfer-Encoding: chunked}", "Content-Length: 0\r\n", "chunked"},
		{"method: get", "GET / HTTP/1.1\r\n", "Content-Length"},
		{"method: head", "HEAD / HTTP/1.1\r\n", "Content-Length"},
		{"method: delete", "DELETE / HTTP/1.1\r\n", "Content-Length"},
		{"method: options", "OPTIONS / HTTP/1.1\r\n", "Content-Length"},
		{"method: purge", "PURGE / HTTP/1.1\r\n", "Content-Length"},
		{"method: post, body: abc", "Content-Length: 3\r\n", "Transfer-Encoding"},
		{"method: get, body: {a: 1}", "Content-Length: 7\r\n", "Transfer-Encoding"},
		{"method: delete, body: abc", "Content-Length: 3\r\n", "Transfer-Encoding"},
		{"method: get, headers: {Host: example.com}", "Host: example.com\r\n", "127.0.0.1"},
	} {
		t.Run(c.with, func(t *testing.T) {
			var mu sync.Mutex
			connections := 0
			server := mustListen(t, func(s *counterpart, conn net.Conn) {
				mu.Lock()
				connections++
				mu.Unlock()
				r := bufio.NewReader(io.TeeReader(conn, s))
				for {
					request, err := http.ReadRequest(r)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, request.Body)
					_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
				}
			})
			transport := tasks.NewTransport(tasks.TransportConfig{})
			defer transport.CloseIdleConnections()
			call := fmt.Sprintf("{call: http, with: {%s, endpoint: 'http://%s/'}}", c.with, server.Addr())
			outcome := runDocument(t, tasks.Config{Transport: transport}, "  - a: "+call+"\n  - b: "+call+"\n")
			if outcome.Fault != nil {
				t.Fatal(outcome.Fault)
			}
			sent := server.sent()
			if strings.Count(sent, c.want) != 2 || strings.Contains(sent, c.without) || connections != 1 {
				t.Errorf("over %d connections came %q", connections, sent)
			}
		})
	}
}

// TestHeadHasNoBody: the Content-Length of an answer to HEAD is the length of the answer to GET, and limits nothing.
func TestHeadHasNoBody(t *testing.T) {
	server := mustListen(t, answers("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n"))
	call := fmt.Sprintf("{call: http, with: {method: head, endpoint: 'http://%s/', output: response}, timeout: {after: PT60S}}", server.Addr())
	transport := tasks.NewTransport(tasks.TransportConfig{})
	defer transport.CloseIdleConnections()
	outcome := runDocument(t, tasks.Config{Transport: transport}, "  - size: "+call+"\n  - keep: {set: '${ .headers[\"Content-Length\"] }'}\n")
	if outcome.Fault != nil || outcome.Output != "99999999999" {
		t.Errorf("the run is %s: %v, and puts out %v", outcome.Status, outcome.Fault, outcome.Output)
	}
}

// TestHeadersThatCannotBeSent: such headers are the author's mistake, and no request is sent that differs from the document.
func TestHeadersThatCannotBeSent(t *testing.T) {
	server := mustListen(t, (*counterpart).listen)
	for _, headers := range []string{
		`X: "a\r\nY: b"`, `X: "\0"`, `X: "\x01"`, `X: "\x7F"`, `' X': y`, `'X:': y`, `"X\n": y`, `ü: y`, `x-a: 1, X-A: 2`,
		`Host: a b`, `Host: a/b`, `Host: ada@b`, `Host: 'a?b'`, `Host: ':80'`, `Host: 'a:x'`, `Host: [a, b]`,
	} {
		outcome := runDocument(t, tasks.Config{}, fmt.Sprintf("  - ask: {call: http, with: {method: get, endpoint: 'http://%s/', headers: {%s}}, timeout: {after: PT60S}}\n", server.Addr(), headers))
		if outcome.Fault == nil || !errors.Same(outcome.Fault.Type, errors.Expression) {
			t.Errorf("%s: the run is %s: %v", headers, outcome.Status, outcome.Fault)
		}
	}
	if sent := server.sent(); sent != "" {
		t.Errorf("%q was sent", sent)
	}
}

// TestClosedConnection: the fault is explained in words, for a call and for a resource that a document needs.
func TestClosedConnection(t *testing.T) {
	server := mustListen(t, func(c *counterpart, conn net.Conn) { c.request(bufio.NewReader(conn)) })
	uri := "http://" + server.Addr().String() + "/x"
	outcome := runDocument(t, tasks.Config{}, fmt.Sprintf("  - ask: { call: http, with: { method: get, endpoint: '%s?key=k3y' } }\n", uri))
	if want := "GET " + uri + ": the other side has closed the connection"; outcome.Fault == nil || outcome.Fault.Detail != want {
		t.Errorf("the run is %s: %v", outcome.Status, outcome.Fault)
	}
	_, err := tasks.Loader("test.yaml", tasks.Sources{Transport: http.DefaultTransport})(t.Context(), uri+"?key=k3y")
	if want := "the other side has closed the connection"; err == nil || err.Error() != want {
		t.Errorf("a resource cannot be read because of %v, want %s", err, want)
	}
}
