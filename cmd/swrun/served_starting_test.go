package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/swrun/swrun/redisstore/redistest"
)

// slowCatalog is a catalog that answers nothing until the function that it returns is called.
func slowCatalog(t *testing.T) (url string, asked <-chan struct{}, release func()) {
	held, requests := make(chan struct{}), make(chan struct{}, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests <- struct{}{}
		select {
		case <-held:
			_, _ = w.Write([]byte("set: {paid: true}")) // the command reports a reader that disconnected
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, requests, func() { close(held) }
}

// startingFolder makes a folder of three documents, the second of which needs a function of a catalog.
func startingFolder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"a": "do:\n- a: {set: {a: 1}}\n",
		"b": "do:\n- a: {call: pay:1.0.0@default}\n",
		"c": "schedule: {on: {one: {with: {type: paid}}}}\ndo:\n- a: {set: {c: 1}}\n",
	} {
		text = "document: {dsl: 1.0.3, namespace: demo, name: " + name + ", version: 1.0.0}\n" + text
		if err := os.WriteFile(filepath.Join(folder, name+".yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

const paidText = `{"specversion": "1.0", "id": "1", "source": "/shop", "type": "paid"}`

// refusesEvent publishes an event, which a server that is starting refuses for a while.
func refusesEvent(t *testing.T, s *serving) {
	t.Helper()
	answer, err := http.Post(s.url+"/v1/events", "application/cloudevents+json", strings.NewReader(paidText))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" {
		t.Errorf("an event: %s, Retry-After %q", answer.Status, answer.Header.Get("Retry-After"))
	}
}

// TestServeListensWhileItDeploys: while serve deploys the documents of its folders, it is alive and not ready, and starts runs of deployed workflows. It
// refuses starts of other workflows, and events, for a while. A start through the file does the same.
func TestServeListensWhileItDeploys(t *testing.T) {
	for name, url := range map[string]string{"redis": redistest.Start(t).URL(), "file": "file:" + filepath.Join(t.TempDir(), "runs.db")} {
		t.Run(name, func(t *testing.T) {
			h := &hosted{t, url}
			h.exits(exitOK, "deploy", mustWriteFile(t, "old.yaml", strings.Replace(echoText, "NAME", "old", 1)))
			catalog, asked, release := slowCatalog(t)
			cmd, s := h.started("listening on", "serve", startingFolder(t), "--listen", "127.0.0.1:0", "--catalog", catalog, "--network", "any")
			<-asked
			h.answers(s, "/livez", http.StatusOK, `"ok"`)
			h.answers(s, "/readyz", http.StatusServiceUnavailable, "the server deploys the documents of its folders: 1 of 3 are done")
			h.answers(s, "/v1/health", http.StatusOK, "the server deploys the documents of its folders: 1 of 3 are done")
			var asking sync.WaitGroup // one waits for the documents, and the catalog must not time out
			for workflow, want := range map[string]string{"old": "201 ", "a": "201 ", "b": "503 ", "c": "503 "} {
				asking.Go(func() {
					if got := s.asks(t, "POST", "/v1/runs", `{"workflow": "demo/`+workflow+`", "id": "`+workflow+`"}`); !strings.HasPrefix(got, want) {
						t.Errorf("start of %s: %s", workflow, got)
					}
				})
			}
			asking.Go(func() {
				if code, _ := h.swrun("start", "demo/c", "--id", "c"); name == "file" && code != exitStore {
					t.Errorf("a start through the file ends with %d", code)
				}
			})
			refusesEvent(t, s)
			asking.Wait()
			release()
			h.answers(s, "/readyz", http.StatusOK, "ok")
			s.err.until(t, `msg="the documents of the folders are deployed" documents=3 notServed=0`)
			h.answers(s, "/v1/health", http.StatusOK, "every document of the folders is served")
			if got := s.asks(t, "POST", "/v1/runs", `{"workflow": "demo/b", "id": "b"}`); !strings.HasPrefix(got, "201 ") {
				t.Errorf("start: %s", got)
			}
			h.exits(exitOK, "events", "publish", mustWriteFile(t, "paid.json", paidText))
			h.until("demo/c", "ls", "--status", "completed")
			h.until("completed", "describe", "b")
			if got := s.asks(t, "POST", "/v1/runs", `{"workflow": "demo/none"}`); !strings.HasPrefix(got, "404 ") {
				t.Errorf("start of a workflow that is in no folder: %s", got)
			}
			h.signal(cmd, syscall.SIGTERM)
			if err := cmd.Wait(); err != nil {
				t.Errorf("it ends with %v:\n%s", err, s.err)
			}
		})
	}
}

// TestServeStopsWhileItDeploys: SIGTERM ends serve while it deploys the documents of its folders, also if a catalog does not answer.
func TestServeStopsWhileItDeploys(t *testing.T) {
	h := &hosted{t, "file:" + filepath.Join(t.TempDir(), "runs.db")}
	catalog, asked, _ := slowCatalog(t)
	cmd, s := h.started("listening on", "serve", startingFolder(t), "--listen", "127.0.0.1:0", "--catalog", catalog, "--network", "any")
	<-asked
	h.signal(cmd, syscall.SIGTERM)
	if err := cmd.Wait(); err != nil || strings.Contains(s.err.String(), "the documents of the folders are deployed") {
		t.Errorf("it ends with %v:\n%s", err, s.err)
	}
}
