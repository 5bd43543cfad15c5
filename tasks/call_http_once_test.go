package tasks_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/swrun/swrun/tasks"
)

// hangUp answers /warm on a connection that it keeps, and ends the connection of every other request after it has read the request. It returns its address, and
// a function that returns the requests.
func hangUp(t *testing.T) (address string, requests func() []string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var got []string
	var open sync.WaitGroup
	open.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() {
				defer c.Close()
				for in := bufio.NewReader(c); ; {
					r, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					mu.Lock()
					got = append(got, fmt.Sprint(r.Method, " ", r.URL.Path, " ", r.Header.Get("X-Swrun-Attempt"), " ", len(r.Header.Values("Idempotency-Key"))))
					mu.Unlock()
					if r.URL.Path != "/warm" {
						return
					}
					fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: application/json\r\n\r\n{}")
				}
			})
		}
	})
	t.Cleanup(func() { l.Close(); open.Wait() })
	return "http://" + l.Addr().String(), func() []string {
		mu.Lock()
		defer mu.Unlock()
		return got
	}
}

// TestNoHiddenRepeat: a request on a connection that was used before is sent once, also if the server ends the connection without an answer. The author's
// retry sends the next one, with the next number.
func TestNoHiddenRepeat(t *testing.T) {
	for _, method := range []string{"post", "put", "patch", "delete"} {
		for _, more := range []string{"", ", body: {a: 1}", ", headers: {idempotency-key: mine}", ", headers: {x-idempotency-key: mine}"} {
			t.Run(method+more, func(t *testing.T) {
				address, requests := hangUp(t)
				transport := tasks.NewTransport(tasks.TransportConfig{})
				defer transport.CloseIdleConnections()
				outcome := runDocument(t, tasks.Config{Transport: transport}, fmt.Sprintf(`  - warm: {call: http, with: {method: get, endpoint: '%s/warm'}}
  - t:
      try:
        - order: {call: http, with: {method: %s, endpoint: '%s/order'%s}}
      catch: {retry: {limit: {attempt: {count: 1}}}}
`, address, method, address, more))
				if outcome.Fault == nil {
					t.Fatalf("the run is %s", outcome.Status)
				}
				name := map[string]string{"post": "POST", "put": "PUT", "patch": "PATCH", "delete": "DELETE"}[method]
				want := fmt.Sprintf("[GET /warm 1 1 %s /order 1 1 %s /order 2 1]", name, name)
				if got := fmt.Sprint(requests()); got != want {
					t.Errorf("got %s, want %s", got, want)
				}
			})
		}
	}
}
