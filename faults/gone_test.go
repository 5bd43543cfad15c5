package faults

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/swrun/swrun/redisstore/redistest"
)

const napping = `document: {dsl: 1.0.3, namespace: faults, name: nap, version: 1.0.0}
do:
- nap: {wait: PT1H}
`

// TestRunWhoseRedisIsGone: a run whose Redis ends or stops answering reports this while it waits, continues when the server answers again, and stops
// on the first interrupt anyway.
func TestRunWhoseRedisIsGone(t *testing.T) {
	document := filepath.Join(t.TempDir(), "nap.yaml")
	if err := os.WriteFile(document, []byte(napping), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, fault := range map[string]struct {
		harm, heal func(*redistest.Server)
	}{
		"killed":  {(*redistest.Server).Kill, (*redistest.Server).Run},
		"stopped": {func(s *redistest.Server) { tell(t, s, syscall.SIGSTOP) }, func(s *redistest.Server) { tell(t, s, syscall.SIGCONT) }},
	} {
		t.Run(name, func(t *testing.T) {
			server := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
			run := exec.Command(binary, "run", document, "--id", "nap", "--store", server.URL(), "--progress", "lines")
			output, err := run.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := run.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewReader(output)
			until(t, lines, "nap")
			fault.harm(server)
			until(t, lines, "does not answer")
			fault.heal(server)
			until(t, lines, "answers again")
			fault.harm(server)
			until(t, lines, "does not answer")
			if err := run.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			until(t, lines, "is kept")
			if _, err := io.Copy(io.Discard, lines); err != nil {
				t.Fatal(err)
			}
			if err := run.Wait(); run.ProcessState.ExitCode() != 130 {
				t.Errorf("it ended with %v", err)
			}
		})
	}
}

func tell(t *testing.T, s *redistest.Server, signal syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(s.Process(), signal); err != nil {
		t.Fatal(err)
	}
}

// until reads lines until a line contains a text.
func until(t *testing.T, lines *bufio.Reader, text string) {
	t.Helper()
	for {
		line, err := lines.ReadString('\n')
		if strings.Contains(line, text) {
			return
		}
		if err != nil {
			t.Fatalf("no line has %q: %v", text, err)
		}
	}
}
