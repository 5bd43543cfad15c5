package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/swrun/swrun/redisstore/redistest"
)

// TestServe: on each store, serve deploys a folder, starts and runs what is asked for over HTTP, and ends at once although others wait
// for runs and follow them.
func TestServe(t *testing.T) {
	for name, url := range map[string]string{"redis": redistest.Start(t).URL(), "file": "file:" + filepath.Join(t.TempDir(), "runs.db")} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			document := "document: {dsl: 1.0.3, namespace: demo, name: echo, version: 1.0.0}\ndo:\n- echo: {set: '${ . }'}\n"
			if err := os.WriteFile(filepath.Join(folder, "echo.yaml"), []byte(document), 0o600); err != nil {
				t.Fatal(err)
			}
			s := (&hosted{t, url}).serve(folder)
			if got := s.asks(t, "POST", "/v1/runs", `{"workflow": "demo/echo", "id": "one", "input": {"a": 1}}`); !strings.HasPrefix(got, "201 {") {
				t.Errorf("start: %s", got)
			}
			if got := s.asks(t, "GET", "/v1/runs/demo/one/output?wait=30s", ""); got != "200 {\"a\":1}\n" {
				t.Errorf("output: %s", got)
			}
			if got := s.asks(t, "POST", "/v1/runs", `{"workflow": "demo/echo", "id": "two", "delay": "1h"}`); !strings.HasPrefix(got, "201 {") {
				t.Errorf("start: %s", got)
			}
			waits, follows := make(chan string, 1), make(chan string, 1)
			following, err := http.Get(s.url + "/v1/runs/demo/two/events")
			if err != nil {
				t.Fatal(err)
			}
			defer following.Body.Close()
			go func() { waits <- s.asks(t, "GET", "/v1/runs/demo/two/output?wait=5m", "") }()
			go func() {
				text, err := io.ReadAll(following.Body)
				follows <- fmt.Sprint(err, " ", string(text))
			}()
			if code := s.stop(); code != exitTerminate && code != exitOK {
				t.Errorf("it ended with %d: %s", code, s.err)
			}
			// Who waits may come too late to be answered; nobody waits for longer.
			if got := <-waits; !strings.HasPrefix(got, "202 ") && !strings.HasPrefix(got, "0 ") {
				t.Errorf("who waits was told: %s", got)
			}
			if got := <-follows; !strings.HasPrefix(got, "<nil> retry: ") {
				t.Errorf("who follows was told: %s", got)
			}
		})
	}
}

// asks sends a request, and returns the status and the body of the answer; 0 and the error if there is none.
func (s *serving) asks(t *testing.T, method, path, body string) string {
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		return "0 " + err.Error()
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return "0 " + err.Error()
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return "0 " + err.Error()
	}
	return fmt.Sprintf("%d %s", response.StatusCode, text)
}
