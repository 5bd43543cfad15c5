//go:build unix

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/creack/pty"
)

const ordersText = `document: {dsl: 1.0.3, namespace: demo, name: order, version: 0.1.0}
do:
- pack: {call: http, with: {method: post, endpoint: URL/pack, body: {}}}
- pay: {call: http, with: {method: post, endpoint: URL/pay, body: {}}}
`

// TestPromptsOfBulkVerbs: before failed runs continue, a person at a terminal sees the new runs and the repeated calls, and must confirm. Only yes is yes.
func TestPromptsOfBulkVerbs(t *testing.T) {
	var packed, paid atomic.Int32
	var up atomic.Bool
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/pack":
			packed.Add(1)
		case !up.Load():
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			paid.Add(1)
		}
	}))
	t.Cleanup(service.Close)
	h := &hosted{t, "file:" + filepath.Join(t.TempDir(), "runs.db")}
	h.listening("serve", "--listen", "127.0.0.1:0", "--network", "any")
	h.exits(exitOK, "deploy", mustWriteFile(t, "order.yaml", strings.ReplaceAll(ordersText, "URL", service.URL)))
	for _, id := range []string{"retried", "forked"} {
		h.exits(exitOK, "start", "demo/order", "--id", id)
		h.until("faulted", "ls", "--where", "id="+id)
	}
	up.Store(true)
	for _, verb := range []string{"retry", "fork"} {
		id := map[string]string{"retry": "retried", "fork": "forked"}[verb]
		before := paid.Load()
		for _, c := range []struct {
			answer string
			code   int
		}{{"\n", exitUsage}, {"n\n", exitUsage}, {"no\n", exitUsage}, {"yess\n", exitUsage}, {"\x04", exitUsage}, {"\x03", exitInterrupt}} {
			code, shown := h.typed(c.answer, verb, "--where", "id="+id)
			if code != c.code {
				t.Errorf("%s, answered %q, ends with %d, want %d:\n%s", verb, c.answer, code, c.code, shown)
			}
			for _, text := range []string{id + " continues as " + id + "~1", "POST " + service.URL + "/pay", verb + " 1 run? [y/N]"} {
				if !strings.Contains(shown, text) {
					t.Errorf("%s, answered %q, does not show %q:\n%s", verb, c.answer, text, shown)
				}
			}
			if strings.Contains(shown, "/pack") {
				t.Errorf("%s shows a call that is not made again:\n%s", verb, shown)
			}
		}
		if out := h.exits(exitOK, "ls", "--where", "forked-from="+id, "-o", "name"); out != "" || paid.Load() != before {
			t.Errorf("%s without a yes has begun %q, paid %d times", verb, out, paid.Load()-before)
		}
		code, shown := h.typed("Yes\n", verb, "--where", "id="+id)
		if code != exitOK || strings.Count(shown, "continues as") < 2 {
			t.Errorf("%s, answered with yes, ends with %d:\n%s", verb, code, shown)
		}
		h.exits(exitOK, "wait", id+"~1")
		if paid.Load() != before+1 {
			t.Errorf("%s has paid %d times", verb, paid.Load()-before)
		}
		// A run that continues already needs no confirmation.
		if code, shown := h.typed("y\n", verb, "--where", "id="+id+" forked=no"); code != exitOK || !strings.Contains(shown, "there is nothing to "+verb) {
			t.Errorf("the second %s ends with %d:\n%s", verb, code, shown)
		}
	}
	if packed.Load() != 2 {
		t.Errorf("packed %d times", packed.Load())
	}
}

// typed runs a command at a terminal, types an answer to its first question, and returns the exit code and the text on the terminal.
func (h *hosted) typed(answer string, args ...string) (int, string) {
	h.Helper()
	cmd := command(h.T, args...)
	cmd.Env = append(os.Environ(), "SWRUN_STORE="+h.url, "TERM=dumb")
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 200})
	if err != nil {
		h.Fatal(err)
	}
	defer terminal.Close() // the process is ended
	var shown strings.Builder
	buffer, asked := make([]byte, 4096), false
	for {
		n, err := terminal.Read(buffer)
		shown.Write(buffer[:n])
		if err != nil { // EIO on Linux, EOF elsewhere: the other end is closed
			break
		}
		if !asked && strings.Contains(shown.String(), "[y/N] ") {
			asked = true
			if _, err := io.WriteString(terminal, answer); err != nil {
				h.Fatal(err)
			}
		}
	}
	_ = cmd.Wait() // the test checks its exit code
	return cmd.ProcessState.ExitCode(), strings.ReplaceAll(shown.String(), "\r\n", "\n")
}
