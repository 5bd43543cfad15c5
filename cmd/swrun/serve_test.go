package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/redisstore/redistest"
)

// TestServe: on each store, serve deploys a folder, starts and runs requested runs over HTTP, and ends immediately although clients wait for runs and
// follow them.
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
			// A waiting client may be too late for an answer; no client waits longer.
			if got := <-waits; !strings.HasPrefix(got, "202 ") && !strings.HasPrefix(got, "0 ") {
				t.Errorf("who waits was told: %s", got)
			}
			if got := <-follows; !strings.HasPrefix(got, "<nil> retry: ") {
				t.Errorf("who follows was told: %s", got)
			}
		})
	}
}

// asks sends a request, and returns the status and the body of the answer; 0 and the error without an answer.
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

// TestServeNoDocuments: a folder without documents is reported, and served anyway.
func TestServeNoDocuments(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "README.md"), []byte("no: document\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := (&hosted{t, "file:" + filepath.Join(t.TempDir(), "runs.db")}).serve(folder)
	if want := "there is no workflow document in " + folder + "\n"; !strings.Contains(s.err.String(), want) {
		t.Errorf("%q is not said:\n%s", want, s.err)
	}
}

// TestServeEvents: events of a broker start runs, and health and metrics show the source; the password of the file of secrets is shown nowhere.
func TestServeEvents(t *testing.T) {
	broker := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: broker.Addr})
	if err := client.ConfigSet(t.Context(), "requirepass", "hunter2-canary").Err(); err != nil {
		t.Fatal(err)
	}
	client.Close()
	client = redis.NewClient(&redis.Options{Addr: broker.Addr, Password: "hunter2-canary"})
	defer client.Close()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"shop.yaml":    "document: {dsl: 1.0.3, namespace: demo, name: shop, version: 1.0.0}\nschedule: {on: {one: {with: {type: order}}}}\ndo:\n- echo: {set: {ok: true}}\n",
		"events.file":  "sources:\n  orders:\n    redis: {url: \"redis://" + broker.Addr + "\", stream: orders, passwordSecret: broker}\n",
		"secrets.file": "broker: hunter2-canary\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := (&hosted{t, "file:" + filepath.Join(t.TempDir(), "runs.db")}).serve(folder, "--events", filepath.Join(folder, "events.file"), "--secrets", filepath.Join(folder, "secrets.file"))
	for n := range 3 {
		event := fmt.Sprintf(`{"specversion": "1.0", "id": "%d", "source": "/shop", "type": "order"}`, n)
		if err := client.XAdd(t.Context(), &redis.XAddArgs{Stream: "orders", Values: []string{"event", event}}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "each event has started a run", func() bool {
		return strings.Count(s.asks(t, "GET", "/v1/runs?namespace=demo", ""), `"completed"`) >= 3
	})
	health, metrics := "", "" // an event is counted after its run was started
	eventually(t, "health and metrics tell of 3 events", func() bool {
		health, metrics = s.asks(t, "GET", "/v1/health", ""), s.asks(t, "GET", "/metrics", "")
		return strings.Contains(health, "the source orders (redis) has brought 3 events") && strings.Contains(metrics, `swrun_source_events_total{kind="redis",source="orders"} 3`)
	})
	s.stop()
	if want := `msg="events are read from a source" source=orders kind=redis namespaces=all`; !strings.Contains(s.err.String(), want) {
		t.Errorf("the log does not have %s:\n%s", want, s.err)
	}
	if all := health + metrics + s.err.String(); strings.Contains(all, "canary") {
		t.Errorf("the password is shown: %s", all)
	}
}

// TestServeSinks: a webhook receives the events of runs, with its token, and health and metrics show it; the token of the file of secrets is shown nowhere.
func TestServeSinks(t *testing.T) {
	var taken atomic.Int64
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer hunter2-canary" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		taken.Add(1)
	}))
	defer hook.Close()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"shop.yaml":    "document: {dsl: 1.0.3, namespace: demo, name: shop, version: 1.0.0}\ndo:\n- echo: {set: {ok: true}}\n",
		"events.file":  "sinks:\n  audit:\n    http: {url: \"" + hook.URL + "\", tokenSecret: hook}\n",
		"secrets.file": "hook: hunter2-canary\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := (&hosted{t, "file:" + filepath.Join(t.TempDir(), "runs.db")}).serve(folder, "--events", filepath.Join(folder, "events.file"), "--secrets", filepath.Join(folder, "secrets.file"), "--network", "any")
	eventually(t, "the sink is looked after", func() bool {
		return strings.Contains(s.asks(t, "GET", "/metrics", ""), `swrun_sink_active{kind="http",sink="audit"} 1`)
	})
	s.asks(t, "POST", "/v1/runs", `{"workflow": "demo/shop"}`)
	health, metrics := "", ""
	eventually(t, "health and metrics tell of 5 events", func() bool {
		health, metrics = s.asks(t, "GET", "/v1/health", ""), s.asks(t, "GET", "/metrics", "")
		return strings.Contains(health, "the sink audit (http) has taken 5 events") && strings.Contains(metrics, `swrun_sink_events_total{kind="http",sink="audit"} 5`)
	})
	if taken.Load() != 5 {
		t.Errorf("%d events came", taken.Load())
	}
	s.stop()
	if want := `msg="events are sent to a sink" sink=audit kind=http events=all namespaces=all`; !strings.Contains(s.err.String(), want) {
		t.Errorf("the log does not have %s:\n%s", want, s.err)
	}
	if all := health + metrics + s.err.String(); strings.Contains(all, "canary") {
		t.Errorf("the token is shown: %s", all)
	}
}
