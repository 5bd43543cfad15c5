// Package processtest lets the binary of a test be its own supervisor of processes.
package processtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/swrun/swrun/process"
)

// supervise is the argument that makes a test's binary a supervisor, and that of swrun for the same.
const supervise = "supervise-process"

// binary is the variable that names another program than the test's binary as the supervisor.
const binary = "SWRUN_TEST_SUPERVISOR"

// Main is the TestMain of a package whose tests run processes.
func Main(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == supervise {
		if err := process.Supervise(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(run(m))
}

// run runs the tests. Under the race detector their supervisor is a swrun that is built without it: the detector takes
// more memory than a script may, runs the engine ten times slower, and waits a second whenever a process ends.
func run(m *testing.M) int {
	if !raceDetector {
		return m.Run()
	}
	folder, err := os.MkdirTemp("", "swrun-supervisor-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "swrun")
	if out, err := exec.Command("go", "build", "-o", path, "github.com/swrun/swrun/cmd/swrun").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the supervisor: %v\n%s", err, out)
		return 1
	}
	if err := os.Setenv(binary, path); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// NewPool returns a pool whose supervisors are this binary, or under the race detector swrun.
func NewPool() *process.Pool {
	path := os.Getenv(binary)
	if path == "" {
		path = os.Args[0]
	}
	return process.NewPool(process.Starter{Path: path, Arguments: []string{path, supervise}})
}

// Pool returns a pool for the time of a test.
func Pool(t testing.TB) *process.Pool {
	p := NewPool()
	t.Cleanup(p.Close)
	return p
}
