package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestWorkersOfAMuteStore: while a store refuses writes, nobody is said to be gone: workers cannot announce themselves, renew leases or note polls.
func TestWorkersOfAMuteStore(t *testing.T) {
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		folder := t.TempDir()
		if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=6m"); err != nil {
			t.Skip("a disk of its own cannot be made: ", err)
		}
		t.Cleanup(func() { syscall.Unmount(folder, syscall.MNT_DETACH) })
		h := &hosted{t, "file:" + filepath.Join(folder, "runs.db")}
		filler := filepath.Join(folder, "filler")
		h.knowsNoWorker(func() {
			os.WriteFile(filler, make([]byte, 8<<20), 0o600)
			big := mustWriteFile(t, "big.json", `{"text": "`+strings.Repeat("x", 100_000)+`"}`)
			for _, input := range []string{"@" + big, "{}"} { // until no free page of the file is left
				for code := exitOK; code != exitStore; {
					code, _ = h.swrun("start", "demo/nap", "--input", input)
				}
			}
		}, func() { os.Remove(filler) })
	})
}

// knowsNoWorker looks at all that tells of workers while the store takes no word from them, and afterwards.
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
		{exitStore, "doctor", []string{"SD010  it is not known which workers are there"}, []string{"no worker", "nothing advances", "nobody"}},
		{exitWaited, "wait napping --timeout 100ms", []string{"has not ended"}, []string{"no worker", "does not go on"}},
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
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
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
