//go:build unix

package main

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// started starts a process of swrun without a controlling terminal, and waits until it prints a text. Its standard error is collected.
func (h *hosted) started(text string, args ...string) (*exec.Cmd, *serving) {
	h.Helper()
	s := &serving{err: &told{lines: make(chan struct{}, 1)}}
	cmd := command(h.T, args...)
	cmd.Env, cmd.Stderr, cmd.SysProcAttr = append(os.Environ(), "SWRUN_STORE="+h.url), s.err, &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		h.Fatal(err)
	}
	s.err.until(h.T, text)
	if found := listeningOn.FindStringSubmatch(s.err.String()); found != nil {
		s.url = found[1]
	}
	return cmd, s
}

// signal sends a signal to a process.
func (h *hosted) signal(cmd *exec.Cmd, is syscall.Signal) {
	h.Helper()
	if err := cmd.Process.Signal(is); err != nil {
		h.Fatal(err)
	}
}

// write writes a file, and the folders above it.
func (h *hosted) write(path, text string) {
	h.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		h.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		h.Fatal(err)
	}
}

const needsSecret = `document: {dsl: 1.0.3, namespace: demo, name: sec, version: 0.1.0}
use: {secrets: [api]}
do: [{a: {set: {is: "${ $secrets.api == \"new\" }"}}}]
`

// TestHangupOfServe: a server without a terminal reads its folder and its secrets again on SIGHUP. It reports documents that are faulty now,
// continues with the former ones, and does not end.
func TestHangupOfServe(t *testing.T) {
	h := &hosted{t, "file:" + filepath.Join(t.TempDir(), "runs.db")}
	folder, secrets := t.TempDir(), t.TempDir()
	document := func(name string) string { return strings.Replace(echoText, "NAME", name, 1) }
	h.write(filepath.Join(folder, "a.yaml"), document("a"))
	h.write(filepath.Join(folder, "sec.yaml"), needsSecret)
	h.write(filepath.Join(secrets, "api"), "old")
	cmd, s := h.started("the worker is ready", "serve", folder, "--listen", "127.0.0.1:0", "--secrets", secrets)
	h.exits(exitOK, "start", "demo/sec", "--id", "before")
	h.until("false", "output", "before")

	h.write(filepath.Join(folder, "a.yaml"), strings.Replace(document("a"), "set:", "sett:", 1))
	h.write(filepath.Join(folder, "b.yaml"), document("b"))
	h.write(filepath.Join(folder, "bad.yaml"), "document: {dsl: 1.0.3, namespace: demo")
	h.write(filepath.Join(secrets, "api"), "new")
	h.signal(cmd, syscall.SIGHUP)
	for _, text := range []string{
		"SIGHUP: the folders and the secrets are read again", "the secrets were replaced",
		"a document is not served\" file=" + filepath.Join(folder, "a.yaml"), "a document is not served\" file=" + filepath.Join(folder, "bad.yaml"),
		"a document is deployed\" workflow=demo/b:1.0.0",
	} {
		s.err.until(t, text)
	}
	h.answers(s, "/v1/health", http.StatusOK, "documents are not served: "+filepath.Join(folder, "a.yaml"))
	for _, workflow := range []string{"a", "b"} { // the former document of a is still deployed
		h.exits(exitOK, "start", "demo/"+workflow, "--id", workflow)
		h.exits(exitOK, "wait", workflow)
	}
	h.exits(exitOK, "start", "demo/sec", "--id", "after")
	h.until("true", "output", "after")

	h.write(filepath.Join(folder, "a.yaml"), document("a"))
	h.write(filepath.Join(folder, "bad.yaml"), document("bad"))
	h.signal(cmd, syscall.SIGHUP)
	h.answers(s, "/v1/health", http.StatusOK, "every document of the folders is served")
	h.exits(exitOK, "start", "demo/bad", "--id", "bad")

	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	h.signal(cmd, syscall.SIGHUP)
	s.err.until(t, "the folders could not be read again")
	h.exits(exitOK, "start", "demo/a", "--id", "later")
	h.exits(exitOK, "wait", "later")
	h.signal(cmd, syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ends with %v:\n%s", err, s.err)
	}
}

// TestHangupOfAWorker: a worker without a terminal reads its secrets again on SIGHUP. It keeps the former secrets if they cannot be read, and does not end.
func TestHangupOfAWorker(t *testing.T) {
	h := newHosted(t)
	secrets := filepath.Join(t.TempDir(), "secrets.yaml")
	h.write(secrets, "api: old\n")
	h.exits(exitOK, "deploy", mustWriteFile(t, "sec.yaml", needsSecret))
	cmd, s := h.started("the worker is ready", "worker", "--secrets", secrets)
	h.write(secrets, "api: [\n")
	h.signal(cmd, syscall.SIGHUP)
	s.err.until(t, "SIGHUP: the secrets are read again")
	s.err.until(t, "level=WARN")
	h.exits(exitOK, "start", "demo/sec", "--id", "before")
	h.until("false", "output", "before")
	h.write(secrets, "api: new\n")
	h.signal(cmd, syscall.SIGHUP)
	s.err.until(t, "the secrets were replaced")
	h.exits(exitOK, "start", "demo/sec", "--id", "after")
	h.until("true", "output", "after")
	h.signal(cmd, syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ends with %v:\n%s", err, s.err)
	}
}

// TestPublicMetrics: other machines reach the metrics of a worker only with --metrics-public.
func TestPublicMetrics(t *testing.T) {
	h := &hosted{t, "file:" + filepath.Join(t.TempDir(), "runs.db")}
	for _, args := range [][]string{{"--metrics", "0.0.0.0:0"}, {"--metrics", ":0"}, {"--metrics", "[::]:0"}, {"--metrics-public"}} {
		c := capture(map[string]string{"SWRUN_STORE": h.url})
		if code := run(append([]string{"worker"}, args...), c.streams); code != exitUsage || !strings.Contains(c.stderr.String(), "--metrics-public") {
			t.Errorf("%s ends with %d: %s", args, code, c.stderr.String())
		}
	}
	w := h.listening("worker", "--metrics", "0.0.0.0:0", "--metrics-public")
	if !strings.Contains(w.url, "0.0.0.0:") && !strings.Contains(w.url, "[::]:") {
		t.Errorf("it listens on %s", w.url)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "worker-7.example:9090"
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK { // under a name that is not a name of this machine
		t.Error(answer.Status)
	}
	if code := w.stop(); code != exitOK {
		t.Errorf("it ends with %d: %s", code, w.err)
	}
}
