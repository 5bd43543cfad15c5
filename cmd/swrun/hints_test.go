package main

import (
	"path/filepath"
	"testing"
)

// TestHintsAskTheSame: the commands of a hint name the store or the server of the failed command, so that they can be pasted.
func TestHintsAskTheSame(t *testing.T) {
	contains(t, (&hosted{t, ""}).stderr(exitStore, "ls", "--store", "redis://127.0.0.1:1"), "swrun doctor --store redis://127.0.0.1:1 checks the store")
	h := &hosted{t, "file:" + filepath.Join(t.TempDir(), "s.db")}
	h.exits(exitOK, "deploy", mustWriteFile(t, "nap.yaml", napText))
	h.exits(exitOK, "start", "demo/nap", "--id", "a")
	h.quarantine("a")
	elsewhere := &hosted{t, ""}
	for _, verb := range []string{"output", "wait"} {
		contains(t, elsewhere.stderr(exitConflict, verb, "demo/a", "--store", h.url), "swrun history RUN --store "+h.url+" shows", "swrun retry RUN --store "+h.url+" lets")
	}
	server := h.serve().url
	contains(t, elsewhere.stderr(exitConflict, "output", "demo/a", "--server", server), "swrun history RUN --server "+server+" shows", "swrun retry RUN --server "+server+" lets")
}
