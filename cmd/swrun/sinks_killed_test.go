package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/pacetest"
)

// hook is a webhook that does not answer a certain event until the test allows it.
type hook struct {
	stops string // text in the event that it does not answer

	mu    sync.Mutex
	stood bool
	all   []string // received events, with repetitions
}

func (h *hook) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	h.mu.Lock()
	h.all = append(h.all, string(body))
	stops := !h.stood && strings.Contains(string(body), h.stops)
	h.stood = h.stood || stops
	h.mu.Unlock()
	if stops {
		<-r.Context().Done()
	}
}

// counts returns how often an event with a text was received.
func (h *hook) counts(text string) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, event := range h.all {
		if strings.Contains(event, text) {
			n++
		}
	}
	return n
}

func (h *hook) until(t *testing.T, text string) {
	t.Helper()
	for end := time.Now().Add(pacetest.Patience); h.counts(text) == 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s does not come: %s", text, h.all)
		}
	}
}

// sinksHold waits until a server, whose output contains its address, sends to sinks of a kind.
func sinksHold(t *testing.T, said, kind string, names ...string) {
	t.Helper()
	url := listeningOn.FindStringSubmatch(said)[1]
	for end := time.Now().Add(pacetest.Patience); ; time.Sleep(20 * time.Millisecond) {
		var metrics []byte
		if answer, err := http.Get(url + "/metrics"); err == nil {
			metrics, _ = io.ReadAll(answer.Body)
			answer.Body.Close()
		}
		missing := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			return strings.Contains(string(metrics), `swrun_sink_active{kind="`+kind+`",sink="`+name+`"} 1`)
		})
		if len(missing) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: nobody sends to %v: %s", said, missing, metrics)
		}
	}
}

// TestSinksOfAKilledServer: after kill -9, all events arrive, even if a webhook has an event without the server's knowledge, and stored events were
// not sent: events that workflows emit, and events of runs.
func TestSinksOfAKilledServer(t *testing.T) {
	t.Parallel()
	emitted, lifecycle := &hook{stops: `"order.paid"`}, &hook{stops: `task.completed.v1"`}
	hooks := [2]*httptest.Server{httptest.NewServer(emitted), httptest.NewServer(lifecycle)}
	t.Cleanup(hooks[0].Close) // after the servers that send to them
	t.Cleanup(hooks[1].Close)
	events := mustWriteFile(t, "events.file", "sinks:\n  a: {http: {url: \""+hooks[0].URL+"\"}, events: emitted}\n  b: {http: {url: \""+hooks[1].URL+"\"}, events: lifecycle}\n")
	shop := mustWriteFile(t, "shop.yaml", `document: {dsl: 1.0.3, namespace: demo, name: shop, version: 1.0.0}
do:
- first: {emit: {event: {with: {id: 1-made, type: order.made}}}}
- second: {emit: {event: {with: {id: 2-paid, type: order.paid}}}}
- third: {emit: {event: {with: {id: 3-sent, type: order.sent}}}}
- heard: {listen: {to: {one: {with: {type: go}}}}}
- last: {emit: {event: {with: {id: 4-done, type: order.done}}}}
`)
	h := &hosted{t, "file:" + filepath.Join(t.TempDir(), "runs.db")}
	server, said := h.process("serve", "--listen", "127.0.0.1:0", "--events", events, "--network", "any")
	said.until(t, "listening on")
	sinksHold(t, said.String(), "http", "a", "b")
	h.exits(exitOK, "deploy", shop)
	h.exits(exitOK, "start", "demo/shop", "--id", "one")
	emitted.until(t, `"order.paid"`)
	lifecycle.until(t, "one-4\"")
	h.until("waiting", "describe", "one")
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = server.Wait() // it received a signal to end
	_, said = h.process("serve", "--listen", "127.0.0.1:0", "--events", events, "--network", "any")
	said.until(t, "listening on")
	h.exits(exitOK, "events", "publish", mustWriteFile(t, "go.json", `{"id": "1", "source": "/s", "type": "go"}`))
	emitted.until(t, "order.done")
	lifecycle.until(t, "workflow.completed")
	for _, id := range []string{`"1-made"`, `"2-paid"`, `"3-sent"`, `"4-done"`} {
		if emitted.counts(id) == 0 || id == `"2-paid"` && emitted.counts(id) < 2 || lifecycle.counts(id) > 0 {
			t.Errorf("%s came %d times, and to the sink of the lifecycle %d times", id, emitted.counts(id), lifecycle.counts(id))
		}
	}
	for _, id := range []string{"one-1", "one-2c", "one-2", "one-4", "one-5c", "one-5", "one-7", "one-8", "one-10", "one-11l"} {
		if lifecycle.counts(`"id":"`+id+`"`) == 0 {
			t.Errorf("%s has not come", id)
		}
	}
}
