package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/swrun/swrun/internal/disktest"
)

// TestOpeningWhatCannotBeWritten: a command that opens a file on a read-only or full disk, or a file that may not be changed, prints the remedy.
func TestOpeningWhatCannotBeWritten(t *testing.T) {
	document := mustWriteFile(t, "nap.yaml", napText)
	for name, c := range map[string]struct {
		prepare func(t *testing.T, h *hosted, path string)
		says    string
	}{
		"a disk that became read-only": {func(t *testing.T, h *hosted, path string) {
			disk := disktest.Breaking(t, filepath.Dir(path))
			h.exits(exitOK, "deploy", document)
			disk.Break()
		}, "mount the file system so that it can be written to"},
		"an immutable file": {func(t *testing.T, h *hosted, path string) {
			h.exits(exitOK, "deploy", document)
			disktest.Lock(t, path)
		}, "lsattr shows whether it was made immutable"},
		"a disk without room": {func(t *testing.T, _ *hosted, path string) {
			disktest.Over(t, filepath.Dir(path), "12k")
		}, "make room on the disk"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "runs.db")
			h := &hosted{t, "file:" + path}
			c.prepare(t, h, path)
			for _, verb := range []string{"deploy " + document, "worker", "serve --listen 127.0.0.1:0", "doctor", "start demo/nap", "ls", "describe a", "history a", "config ls"} {
				if strings.HasPrefix(c.says, "make room") && !strings.HasPrefix(verb, "deploy") {
					continue // the store does not exist, and is not created
				}
				code, out := h.says(verb)
				if code != exitStore || !strings.Contains(out, c.says) || !strings.Contains(out, path) {
					t.Errorf("%s ends with %d:\n%s", verb, code, out)
				}
			}
		})
	}
}
