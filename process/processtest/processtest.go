// Package processtest lets the binary of a test be its own supervisor of processes.
package processtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/process"
)

// supervise is the argument that makes a test's binary, or swrun, a supervisor.
const supervise = "supervise-process"

// binary is the variable that names another program than the test's binary as the supervisor.
const binary = "SWRUN_TEST_SUPERVISOR"

// Main is the TestMain of packages whose tests run processes.
func Main(m *testing.M) { os.Exit(Run(m)) }

// Run is Main for packages that have something to do afterwards; it returns the exit code.
func Run(m *testing.M) int {
	if len(os.Args) == 2 && os.Args[1] == supervise {
		if err := process.Supervise(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	return run(m)
}

// run runs the tests. Under the race detector the supervisor of scripts is a swrun that is built without it: the detector
// takes more memory than a script may, and runs the engine ten times slower. It is built here unless somebody has done so.
func run(m *testing.M) int {
	if !pacetest.Detector || os.Getenv(binary) != "" {
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
	return process.NewPool(process.SupervisorCommand{Path: path, Arguments: []string{path, supervise}})
}

// Pool returns a pool for the time of a test.
func Pool(t testing.TB) *process.Pool {
	p := NewPool()
	t.Cleanup(p.Close)
	return p
}

// Commands returns a pool for the time of a test whose supervisors are this binary, under the race detector too. It is for
// commands: scripts need Pool.
func Commands(t testing.TB) *process.Pool {
	if !pacetest.Detector {
		return Pool(t)
	}
	env, err := exec.LookPath("env") // supervisors have no environment of their own
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.MkdirTemp("", "swrun-race-") // the name of a test may contain characters at which the detector ends the path
	if err != nil {
		t.Fatal(err)
	}
	reports := filepath.Join(folder, "report")
	detector := "GORACE=halt_on_error=1 atexit_sleep_ms=0 log_path=" + reports
	p := process.NewPool(process.SupervisorCommand{Path: env, Arguments: []string{"env", detector, os.Args[0], supervise}})
	t.Cleanup(func() {
		p.Close()
		files, _ := filepath.Glob(reports + ".*") // the pattern is right
		for _, file := range files {
			text, err := os.ReadFile(file)
			t.Errorf("the supervisor races: %s %v", text, err)
		}
		os.RemoveAll(folder)
	})
	return p
}
