// Package golden compares results of tests with files in their testdata/golden, and writes the files with -update. Only tests use it.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files and scripts anew")

// Update reports whether -update was given.
func Update() bool { return *update }

// Match fails the test unless got is the content of a file in testdata/golden.
func Match(t testing.TB, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "golden", name)
	if Update() {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v: run this test with -update to write it, then read it", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}
