package server_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/access"
	"github.com/swrun/swrun/server"
)

// streams opens streams of all runs until one is refused, and returns the number of open streams. They end with the test.
func streams(t *testing.T, url, token string) (open int) {
	t.Helper()
	for {
		r, err := http.NewRequestWithContext(t.Context(), "GET", url+"/v1/runs/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", token)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode == http.StatusTooManyRequests {
			answer.Body.Close()
			if after := answer.Header.Get("Retry-After"); after != "1" {
				t.Errorf("Retry-After: %q", after)
			}
			return open
		}
		if _, err := answer.Body.Read(make([]byte, 1)); err != nil || answer.StatusCode != 200 {
			t.Fatalf("got %d, %v", answer.StatusCode, err)
		}
		t.Cleanup(func() { answer.Body.Close() })
		open++
	}
}

// TestShares: the streams of one caller take at most half of the places, and the streams of all callers three quarters, so that others and commands
// always have room.
func TestShares(t *testing.T) {
	g := mustGuard(t, func(c *server.Config) { c.Requests = 8 })
	everything := access.Grant{Role: access.RoleViewer, Everywhere: true}
	one, two := g.token(t, "one", everything), g.token(t, "two", everything)
	admin := g.token(t, "admin", access.Grant{Role: access.RoleAdmin, Everywhere: true})
	h := httptest.NewServer(g)
	t.Cleanup(h.Close) // after the end of the streams
	if first, second := streams(t, h.URL, one), streams(t, h.URL, two); first != 4 || second != 2 {
		t.Errorf("%d and %d streams, want 4 and 2", first, second)
	}
	if w := g.send("POST", "/v1/runs/a/b/cancel", "{}", "Authorization", admin); w.Code != 404 {
		t.Errorf("a command: got %d %s", w.Code, w.Body)
	}
	if w := g.send("GET", "/v1/runs/a/b/output?wait=1s", "", "Authorization", admin); w.Code != 429 || !strings.Contains(w.Body.String(), `"name":"requests that wait"`) {
		t.Errorf("one more that waits: got %d %s", w.Code, w.Body)
	}
	if w := g.send("POST", "/v1/activities/poll", `{"queues":["q"],"worker":"w","wait":"10s"}`, "Authorization", admin); w.Code != 429 {
		t.Errorf("a poll: got %d %s", w.Code, w.Body)
	}
}

// TestMemoryOfBodies: large bodies are decoded one after the other, so that many of them take little more memory than one.
func TestMemoryOfBodies(t *testing.T) {
	g := mustGuard(t, func(c *server.Config) {
		c.Authorize, c.Memory, c.ReadWithin = server.TrustEveryone, 32<<20, 10*time.Minute
	})
	const atATime, objects = 8, 700_000
	body := fmt.Sprintf(`{"workflow": "test/none:1.0.0", "input": [{}%s]}`, strings.Repeat(",{}", objects))
	peak := func(requests int) (most uint64) {
		runtime.GC()
		var asking sync.WaitGroup
		done := make(chan struct{})
		for range requests {
			asking.Go(func() {
				if w := g.send("POST", "/v1/runs", body); w.Code != 404 {
					t.Errorf("got %d %s", w.Code, w.Body)
				}
			})
		}
		go func() { asking.Wait(); close(done) }()
		for {
			select {
			case <-done:
				return most
			case <-time.After(time.Millisecond):
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapAlloc)
			}
		}
	}
	if one, many := peak(1), peak(atATime); many > 4*one {
		t.Errorf("one took %d MiB, and %d at a time %d MiB", one>>20, atATime, many>>20)
	}
}

// TestNoMemoryForABody: a request that waits too long for memory gets the time of its next attempt, and small requests are answered during the wait.
func TestNoMemoryForABody(t *testing.T) {
	g := mustGuard(t, func(c *server.Config) {
		c.Authorize, c.Memory, c.ReadWithin = server.TrustEveryone, 1<<20, time.Second
	})
	h := httptest.NewServer(g)
	defer h.Close()
	large := `{"workflow": "test/none:1.0.0", "input": "` + strings.Repeat("a", 100_000) + `"}`
	slow, answered := sendSlowly(t, h.URL)
	for w := g.send("POST", "/v1/runs", large); w.Code != 429; w = g.send("POST", "/v1/runs", large) {
		if w.Code != 404 {
			t.Fatalf("got %d %s", w.Code, w.Body)
		}
		close(slow.goOn) // this request had the memory, and the other one may have been refused
		<-answered
		slow, answered = sendSlowly(t, h.URL)
	}
	w := g.send("POST", "/v1/runs", large)
	if w.Code != 429 || w.Header().Get("Retry-After") != "1" || !strings.Contains(w.Body.String(), `"name":"memory of requests"`) {
		t.Errorf("got %d %v %s", w.Code, w.Header(), w.Body)
	}
	if w := g.send("POST", "/v1/runs", `{"workflow": "test/none:1.0.0"}`); w.Code != 404 {
		t.Errorf("a small one: got %d %s", w.Code, w.Body)
	}
	close(slow.goOn)
	<-answered // its outcome does not matter
}

// sendSlowly starts a run with a body, half of which is sent when it returns.
func sendSlowly(t *testing.T, url string) (slow *slowBody, answered chan error) {
	t.Helper()
	slow, answered = newSlowBody(100_000), make(chan error, 1)
	r, err := http.NewRequestWithContext(t.Context(), "POST", url+"/v1/runs", slow)
	if err != nil {
		t.Fatal(err)
	}
	r.ContentLength = 100_000
	r.Header.Set("Content-Type", "application/json")
	go func() {
		answer, err := http.DefaultClient.Do(r)
		if err == nil {
			answer.Body.Close()
		}
		answered <- err
	}()
	<-slow.begun
	return slow, answered
}

// slowBody is a body whose second half arrives on request.
type slowBody struct {
	left, half  int
	begun, goOn chan struct{}
	once        sync.Once
}

func newSlowBody(size int) *slowBody {
	return &slowBody{left: size, half: size / 2, begun: make(chan struct{}), goOn: make(chan struct{})}
}

// Read implements io.Reader.
func (b *slowBody) Read(p []byte) (int, error) {
	if b.left <= b.half {
		b.once.Do(func() { close(b.begun) })
		<-b.goOn
		return 0, fmt.Errorf("nothing more")
	}
	n := min(len(p), b.left-b.half)
	for i := range p[:n] {
		p[i] = ' '
	}
	b.left -= n
	return n, nil
}
