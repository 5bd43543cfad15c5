package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/redisstore/redistest"
)

// changes returns commands that change something, and their lines in the log.
func changes(t *testing.T) (commands [][]string, lines []string) {
	nap, function := mustWriteFile(t, "nap.yaml", napText), mustWriteFile(t, "function.yaml", "set: {a: 1}\n")
	daily := mustWriteFile(t, "daily.yaml", dailyText)
	event := mustWriteFile(t, "event.json", `{"specversion": "1.0", "id": "e1", "source": "/s", "type": "order.paid", "data": {"card": "secret-card"}}`)
	for _, c := range []struct{ command, line string }{
		{"deploy " + nap, `operation=putWorkflow subject=demo/nap:0.1.0 outcome=done`},
		{"deploy " + daily, `operation=putWorkflow subject=demo/daily:1.0.0 outcome=done`},
		{"config set -n demo runTimeout=1h", `operation=changeNamespaceSettings subject="demo runTimeout=1h" outcome=done`},
		{"config unset -n demo runTimeout", `operation=changeNamespaceSettings subject="demo runTimeout unset" outcome=done`},
		{"start demo/nap --id a", `operation=startRun subject="demo/nap:latest demo/a" outcome=done`},
		{"suspend a --reason lunch", `operation=suspendRuns subject=demo/a reason=lunch outcome=done`},
		{"cancel a", `operation=cancelRuns subject=demo/a outcome=done`},
		{"token new ada --role viewer -n demo", `operation=issueToken subject="ada viewer demo" outcome=done`},
		{"token revoke ada", `operation=revokeToken subject=ada outcome=done`},
		{"queue limit gpu --concurrency 4", `operation=limitQueue subject="gpu concurrency=4" outcome=done`},
		{"queue pause gpu --reason driver", `operation=pauseQueue subject=gpu reason=driver outcome=done`},
		{"queue resume gpu", `operation=resumeQueue subject=gpu outcome=done`},
		{"schedule pause demo/daily", `operation=pauseSchedule subject=demo/daily outcome=done`},
		{"schedule resume demo/daily", `operation=resumeSchedule subject=demo/daily outcome=done`},
		{"function deploy greet:1.0.0 " + function, `operation=putFunction subject=greet:1.0.0 outcome=done`},
		{"function rm greet:1.0.0", `operation=deleteFunction subject=greet:1.0.0 outcome=done`},
		{"events publish " + event, `operation=publishEvents subject="order.paid e1" outcome=done`},
		{"repair", `operation=repair subject="all runs" outcome=done`},
		{"workflows rm demo/daily:1.0.0", `operation=deleteWorkflow subject=demo/daily:1.0.0 outcome=done`},
	} {
		commands, lines = append(commands, strings.Fields(c.command)), append(lines, c.line)
	}
	return commands, lines
}

// TestChangesWithoutAServerAreAudited: the changes that commands make in a store without a server are in the log of the next server or worker, once,
// with their actor, at every level of the log. A command without a change is not.
func TestChangesWithoutAServerAreAudited(t *testing.T) {
	for name, at := range map[string]func(t *testing.T) string{
		"file":  func(t *testing.T) string { return "file:" + filepath.Join(t.TempDir(), "runs.db") },
		"Redis": func(t *testing.T) string { return redistest.Start(t).URL() },
	} {
		for _, log := range []string{"error", "error+90"} {
			t.Run(name+" "+log, func(t *testing.T) {
				t.Parallel()
				h := &hosted{t, at(t)}
				commands, lines := changes(t)
				for _, args := range commands {
					h.exits(exitOK, args...)
				}
				for _, args := range [][]string{{"ls"}, {"repair", "--dry-run"}, commands[0], {"workflows"}, {"cancel", "--where", "status=running", "--dry-run"}} {
					h.exits(exitOK, args...)
				}
				h.swrun("workflows", "rm", "demo/nap:9.9.9")
				lines = append(lines, `operation=deleteWorkflow subject=demo/nap:9.9.9 outcome="there is no workflow demo/nap:9.9.9"`)
				said := h.workUntil(lines[len(lines)-1], "worker", "--log-level", log)
				for _, line := range lines {
					if got := strings.Count(said, "level=AUDIT msg=audit actor=local "+line+" through=store at="); got != 1 {
						t.Errorf("%q is said %d times:\n%s", line, got, said)
					}
				}
				if got := strings.Count(said, "level=AUDIT"); got != len(lines) || strings.Contains(said, "secret-card") {
					t.Errorf("%d lines, want %d:\n%s", got, len(lines), said)
				}
			})
		}
	}
}

// TestRefusalsOfSeveralRunsAreAudited: the log contains the reason why runs refused a command, although the request itself succeeded.
func TestRefusalsOfSeveralRunsAreAudited(t *testing.T) {
	t.Parallel()
	h := &hosted{t, "file:" + filepath.Join(t.TempDir(), "runs.db")}
	h.exits(exitOK, "deploy", mustWriteFile(t, "nap.yaml", napText))
	for _, id := range []string{"a", "b"} {
		h.exits(exitOK, "start", "demo/nap", "--id", id)
	}
	h.exits(exitOK, "cancel", "a")
	h.exits(exitConflict, "cancel", "a")
	h.exits(exitConflict, "cancel", "a", "b")
	const last = `operation=cancelRuns subject="2: demo/a demo/b" `
	said := h.workUntil(last, "worker", "--log-level", "error")
	for _, line := range []string{
		`operation=cancelRuns subject=demo/a outcome="1 of 1 refused: run demo/a has ended"`,
		last + `outcome="1 of 2 refused: run demo/a has ended"`,
	} {
		if !strings.Contains(said, line) {
			t.Errorf("%q is not said:\n%s", line, said)
		}
	}
}

// workUntil runs a process until its log contains a text, and returns the log.
func (h *hosted) workUntil(text string, args ...string) string {
	h.Helper()
	c := capture(map[string]string{"SWRUN_STORE": h.url})
	signals, said := make(chan os.Signal, 1), &told{lines: make(chan struct{}, 1)}
	c.now, c.streams.err, c.signals = time.Now, said, func() (<-chan os.Signal, func()) { return signals, func() {} }
	ended := make(chan int)
	go func() { ended <- run(args, c.streams) }()
	for late := time.After(pacetest.Patience); !strings.Contains(said.String(), text); {
		select {
		case <-said.lines:
		case code := <-ended:
			h.Fatalf("it ended with %d: %s", code, said)
		case <-late:
			h.Fatalf("%q is not said:\n%s", text, said)
		}
	}
	signals <- os.Interrupt
	<-ended
	return said.String()
}

// TestServedFoldersAreAudited: a deployment of a server from its folders is audited once, also if its log has errors alone.
func TestServedFoldersAreAudited(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "nap.yaml"), []byte(napText), 0o600); err != nil {
		t.Fatal(err)
	}
	h := &hosted{t, "file:" + filepath.Join(t.TempDir(), "runs.db")}
	const line = "level=AUDIT msg=audit actor=serve operation=putWorkflow subject=demo/nap:0.1.0 outcome=done through=store"
	h.workUntil(line, "serve", folder, "--listen", "127.0.0.1:0", "--log-level", "error")
	h.exits(exitOK, "config", "set", "runTimeout=1h")
	if said := h.workUntil("operation=changeSettings", "serve", folder, "--listen", "127.0.0.1:0", "--log-level", "error"); strings.Contains(said, line) {
		t.Errorf("it is said again:\n%s", said)
	}
	if got := h.exits(exitOK, "workflows", "-o", "json", "--jq", ".[].versions[].deployedBy"); got != "\"serve\"\n" {
		t.Errorf("it was deployed by %s", got)
	}
}
