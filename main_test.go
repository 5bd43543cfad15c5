package swrun_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/process"
)

// processes is where the commands of examples run.
var processes *process.Pool

// built is a folder for the binary that the tests of the documentation share.
var built string

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "swrun-built-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	built, processes = folder, swrun.Supervise()
	code := m.Run()
	processes.Close()
	os.RemoveAll(folder)
	os.Exit(code)
}

// buildOnce builds swrun once.
var buildOnce = sync.OnceValues(func() (binary string, err error) {
	binary = filepath.Join(built, "swrun")
	if out, err := exec.Command("go", "build", "-o", binary, "./cmd/swrun").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return binary, nil
})

// mustBuild returns the path of swrun, which is built at the first call.
func mustBuild(t *testing.T) string {
	t.Helper()
	binary, err := buildOnce()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}
