// Package house tests the rules of the house: the layers of the packages, the size of functions and files, the English of what people read, and the pages that
// describe the code. The tests read the sources; none of them needs a store.
package house

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// built is the folder of the binary that the tests share.
var built string

// TestMain runs the tests in the folder of the module: they name files as the pages do.
func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "swrun-built-")
	if err == nil {
		err = os.Chdir("..")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	built = folder
	code := m.Run()
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
