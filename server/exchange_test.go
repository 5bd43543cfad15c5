package server_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/server"
)

// TestSlowBodies: the server does not wait for a body that does not arrive, with a key or without. A body that arrives in time does not end a request
// that waits longer than the time limit of bodies.
func TestSlowBodies(t *testing.T) {
	s, err := swrun.OpenStore(t.Context(), "memory:", swrun.StoreConfig{})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := swrun.NewEngine(s, swrun.EngineConfig{})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(server.New(server.Config{Control: control.New(engine, s, time.Now), Authorize: server.TrustEveryone, BodyWithin: 50 * time.Millisecond}))
	defer h.Close()
	for name, header := range map[string]string{"without a key": "", "with a key": "Idempotency-Key: k\r\n"} {
		c, err := net.Dial("tcp", strings.TrimPrefix(h.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n%s\r\n{", header)
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || answer.StatusCode != http.StatusRequestTimeout {
			t.Errorf("%s: got %v, %v", name, answer, err)
		}
		c.Close()
	}
	d, err := swrun.Parse("nap.yaml", []byte("document: {dsl: 1.0.3, namespace: demo, name: nap, version: 1.0.0}\ndo: [{nap: {wait: {milliseconds: 400}}}]"))
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.Deploy(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	defer working(t, engine)()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL+"/v1/runs", strings.NewReader(`{"workflow":"demo/nap"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Prefer", "wait=30")
	answer, err := h.Client().Do(r)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("a request that waits: %v, %v", answer, err)
	}
}
