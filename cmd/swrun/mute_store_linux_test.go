package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/internal/disktest"
	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/redisstore/redistest"
)

// TestWorkersOfAMuteStore: while a store refuses writes, no worker is reported as gone, although workers cannot announce themselves, renew leases or
// record polls.
func TestWorkersOfAMuteStore(t *testing.T) {
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		disk := disktest.Over(t, t.TempDir(), "6m")
		h := &hosted{t, "file:" + filepath.Join(disk.Folder, "runs.db")}
		h.knowsNoWorker(func() {
			disk.Fill()
			big := mustWriteFile(t, "big.json", `{"text": "`+strings.Repeat("x", 100_000)+`"}`)
			for _, input := range []string{"@" + big, "{}"} { // until the file has no free page
				for code := exitOK; code != exitStore; {
					code, _ = h.swrun("start", "demo/nap", "--input", input)
				}
			}
		}, disk.Free)
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t, "--appendonly", "no", "--save", "3600 1000000")
		client := redis.NewClient(&redis.Options{Addr: server.Addr, DisableIdentity: true})
		t.Cleanup(func() { client.Close() })
		h := &hosted{t, server.URL()}
		h.knowsNoWorker(func() { client.ReplicaOf(context.Background(), "127.0.0.1", "1") }, func() { client.ReplicaOf(context.Background(), "NO", "ONE") })
	})
}

// knowsNoWorker checks all reports about workers while the store refuses their writes, and afterwards.
func (h *hosted) knowsNoWorker(cause, heal func()) {
	h.Helper()
	s := h.listening("serve", "--listen", "127.0.0.1:0", "--allow-processes")
	h.exits(exitOK, "deploy", mustWriteFile(h.T, "nap.yaml", napText))
	h.exits(exitOK, "deploy", mustWriteFile(h.T, "busy.yaml", `document: { dsl: 1.0.3, namespace: demo, name: busy, version: 0.1.0 }
do:
  - work: { run: { shell: { command: sleep 1000 } } }
`))
	h.exits(exitOK, "start", "demo/busy", "--id", "held")
	h.exits(exitOK, "start", "demo/nap", "--id", "napping")
	h.answers(s, "/v1/runs/demo/held", http.StatusOK, "performing run shell")
	cause()
	h.answers(s, "/v1/runs/demo/held", http.StatusOK, `"workerUnknown":"`)
	h.answers(s, "/v1/runs/demo/napping", http.StatusOK, "It is not known whether a worker is there")
	for _, c := range []struct {
		code        int
		args        string
		says, never []string
	}{
		{exitOK, "describe held", []string{"performing run shell", "It is not known whether a worker is there"}, []string{"gone", "lost", "no worker", "No worker"}},
		{exitOK, "describe napping", []string{"It is not known whether a worker is there"}, []string{"gone", "No worker", "no worker"}},
		{exitOK, "ls", []string{"held", "napping"}, []string{"gone", "no worker"}},
		{exitOK, "ls --where waiting=worker", nil, []string{"held", "napping", "no worker"}},
		{exitStore, "workers", []string{"it is not known which workers are there"}, []string{"no worker"}},
		{exitOK, "queue ls", []string{"not known"}, nil},
		{exitStore, "doctor", []string{"SD010  it is not known which workers are there"}, []string{"no worker", "missing worker"}},
		{exitWaited, "wait napping --timeout 100ms", []string{"is still in progress"}, []string{"no worker", "does not go on"}},
	} {
		asked := capture(map[string]string{"SWRUN_SERVER": s.url})
		asked.now = time.Now
		code := run(strings.Fields(c.args), asked.streams)
		out := asked.stdout.String() + asked.stderr.String()
		if code != c.code {
			h.Errorf("%s ends with %d, want %d", c.args, code, c.code)
		}
		for _, text := range c.says {
			if !strings.Contains(out, text) {
				h.Errorf("%s does not say %q:\n%s", c.args, text, out)
			}
		}
		for _, text := range c.never {
			if strings.Contains(out, text) {
				h.Errorf("%s says %q:\n%s", c.args, text, out)
			}
		}
	}
	h.answersWithout(s, "/metrics", "\nswrun_workers ", "\nswrun_slots", "\nswrun_queue_workers", "\nswrun_queue_unpolled")
	heal()
	h.answers(s, "/metrics", http.StatusOK, "\nswrun_workers 1\n")
	h.answers(s, "/v1/runs/demo/held", http.StatusOK, "performing run shell")
	h.exits(exitOK, "cancel", "held")
}

// answersWithout waits until a path is answered without any of some texts.
func (h *hosted) answersWithout(s *serving, path string, texts ...string) {
	h.Helper()
	var told string
	for deadline := time.Now().Add(pacetest.Patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		answer, err := http.Get(s.url + path)
		if err != nil {
			h.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		told = fmt.Sprint(string(body), err)
		found := false
		for _, text := range texts {
			found = found || strings.Contains(told, text)
		}
		if !found {
			return
		}
	}
	h.Fatalf("%s is answered with one of %q: %.3000s", path, texts, told)
}

// TestReadingAReplica: a Redis that accepts no writes answers commands that only read, with and without a server. A command that changes something is
// refused, with the reason and the remedy.
func TestReadingAReplica(t *testing.T) {
	server := redistest.Start(t, "--appendonly", "no", "--save", "3600 1000000")
	client := redis.NewClient(&redis.Options{Addr: server.Addr, DisableIdentity: true})
	t.Cleanup(func() { client.Close() })
	h := &hosted{t, server.URL()}
	s := h.listening("serve", "--listen", "127.0.0.1:0")
	h.exits(exitOK, "deploy", mustWriteFile(t, "nap.yaml", napText))
	h.exits(exitOK, "start", "demo/nap", "--id", "napping")
	h.answers(s, "/v1/runs/demo/napping", http.StatusOK, `"waiting"`)
	if err := client.ReplicaOf(t.Context(), "127.0.0.1", "1").Err(); err != nil {
		t.Fatal(err)
	}
	h.answers(s, "/v1/health", http.StatusServiceUnavailable, "replica")
	for _, path := range []string{
		"/v1/runs", "/v1/runs/demo/napping", "/v1/runs/demo/napping/history", "/v1/runs/demo/napping/export", "/v1/runs/count", "/v1/workflows", "/v1/workflows/demo/nap",
		"/v1/queues", "/v1/deadlines?within=2h", "/v1/schedules", "/v1/trouble", "/v1/events/listeners", "/v1/events/unmatched", "/v1/events/dead", "/v1/functions", "/v1/tokens", "/v1/settings",
	} {
		if answer, body := h.asks(s, http.MethodGet, path, ""); answer.StatusCode != http.StatusOK {
			t.Errorf("%s is answered with %d: %s", path, answer.StatusCode, body)
		}
	}
	for path, body := range map[string]string{"/v1/workflows/demo/nap/0.1.0/runs": "{}", "/v1/runs/demo/napping/cancel": "{}", "/v1/queues/default/pause": "{}"} {
		answer, said := h.asks(s, http.MethodPost, path, body)
		if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" || !strings.Contains(said, "replica") || !strings.Contains(said, "name its primary in --store") {
			t.Errorf("%s is answered with %d, Retry-After %q: %s", path, answer.StatusCode, answer.Header.Get("Retry-After"), said)
		}
	}
	for _, verb := range []string{
		"ls", "describe napping", "history napping", "export napping", "queue ls", "workflows", "deadlines", "schedule ls", "trouble ls", "events listeners", "events unmatched",
		"events dead ls", "sink ls", "function ls", "token ls", "config ls",
	} {
		if code, out := h.swrun(strings.Fields(verb)...); code != exitOK {
			t.Errorf("%s ends with %d:\n%s", verb, code, out)
		}
	}
	for _, verb := range []string{"start demo/nap", "cancel napping", "delete napping", "queue pause default", "worker", "serve --listen 127.0.0.1:0"} {
		if code, out := h.says(verb); code != exitStore || !strings.Contains(out, "replica") || !strings.Contains(out, "name its primary in --store") {
			t.Errorf("%s ends with %d:\n%s", verb, code, out)
		}
	}
	if code, out := h.swrun("wait", "napping", "--timeout", "100ms"); code != exitWaited {
		t.Errorf("wait ends with %d:\n%s", code, out)
	}
	if code, out := h.swrun("doctor"); code != exitStore || !strings.Contains(out, "the server is a replica") {
		t.Errorf("doctor ends with %d:\n%s", code, out)
	}
}

// asks sends a request, and returns its answer with its body.
func (h *hosted) asks(s *serving, method, path, body string) (*http.Response, string) {
	h.Helper()
	r, err := http.NewRequestWithContext(h.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		h.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		h.Fatal(err)
	}
	defer answer.Body.Close() // it is read
	said, err := io.ReadAll(answer.Body)
	if err != nil {
		h.Fatal(err)
	}
	return answer, string(said)
}
