package house

import (
	"go/build"
	"io"
	"path"
	"regexp"
	"strings"
	"testing"
)

// lastWord is the end of a file's name that may say which system it is for.
var lastWord = regexp.MustCompile(`_[a-z0-9]+(_test)?\.go$`)

// TestFilesAreBuilt: no file is left out on Linux because its name ends, by chance, in that of another system, such as _windows_test.go. What
// is meant for another one stands beside what is for Linux.
func TestFilesAreBuilt(t *testing.T) {
	all := prose(t)
	for name := range all {
		if path.Ext(name) == ".go" && !isBuiltOnLinux(t, name) && all[lastWord.ReplaceAllString(name, "_linux$1.go")] == "" {
			t.Errorf("%s is not built on Linux, and nothing is in its place: give it another name", name)
		}
	}
	for name, want := range map[string]bool{"a_windows_test.go": false, "a_js.go": false, "a_arm64.go": false, "a_linux.go": true, "windows.go": true, "a_window_test.go": true} {
		if isBuiltOnLinux(t, name) != want {
			t.Errorf("%s is built: %t", name, !want)
		}
	}
}

// isBuiltOnLinux reports whether a file is built on Linux, as far as its name says.
func isBuiltOnLinux(t *testing.T, name string) bool {
	t.Helper()
	linux := build.Default
	linux.GOOS, linux.GOARCH = "linux", "amd64"
	linux.OpenFile = func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("package a\n")), nil }
	built, err := linux.MatchFile(".", path.Base(name))
	if err != nil {
		t.Fatal(err)
	}
	return built
}
