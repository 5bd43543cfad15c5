package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// readsAncestors is a workflow whose command reads the environment of all its ancestor processes. It prints the secret if it finds it, and "readable
// 1" or "readable 2" if the environment of its supervisor or of swrun can be read.
const readsAncestors = `document: {dsl: 1.0.3, namespace: demo, name: reads, version: 0.1.0}
do:
- look:
    run:
      shell:
        command: |
          p=$$; n=0
          while [ "$p" -gt 1 ]; do
            p=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$p/status")
            n=$((n+1))
            tr '\0' '\n' < "/proc/$p/environ" 2>/dev/null | grep SWRUN_SECRET_TOKEN
            [ -r "/proc/$p/environ" ] && [ "$n" -le 2 ] && echo "readable $n"
          done
          [ "$n" -ge 2 ] && echo looked
`

// TestCommandsDoNotReadTheEnvironment: a command of a workflow can read neither the secrets in the environment of the process that runs the workflow,
// nor the environment of its supervisor. All processes have the same user, who is not root. The process can still read its own environment.
func TestCommandsDoNotReadTheEnvironment(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "reads.yaml")
	if err := os.WriteFile(file, []byte(readsAncestors), 0o644); err != nil {
		t.Fatal(err)
	}
	for at := folder; at != os.TempDir() && at != "/"; at = filepath.Dir(at) {
		if err := os.Chmod(at, 0o755); err != nil { // for the other user
			t.Fatal(err)
		}
	}
	cmd := command(t, "run", "--progress", "none", "-r", file)
	cmd.Path = "/proc/self/exe" // the other user cannot enter the folder of this program
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "SWRUN_SECRET_TOKEN=canary-of-the-environment"}
	if os.Getuid() == 0 {
		const nobody = 65534
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "looked" {
		t.Errorf("got %q, %v", out, err)
	}
}
