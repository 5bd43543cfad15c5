package main

import (
	"path/filepath"
	"testing"
)

// TestListsInAllForms: all verbs that list support the same forms.
func TestListsInAllForms(t *testing.T) {
	h := &hosted{t, "file:" + filepath.Join(t.TempDir(), "s.db")}
	h.exits(exitOK, "deploy", mustWriteFile(t, "nap.yaml", napText))
	h.exits(exitOK, "start", "demo/nap", "--id", "a")
	h.exits(exitOK, "token", "new", "ada", "--role", "viewer", "-n", "demo", "-o", "yaml")
	h.exits(exitOK, "queue", "limit", "gpu", "--concurrency", "2")
	for _, c := range []struct {
		verb  []string
		names string
	}{
		{[]string{"ls"}, "demo/a\n"}, {[]string{"workflows"}, "demo/nap\n"}, {[]string{"workflows", "demo/nap"}, "demo/nap:0.1.0\n"},
		{[]string{"queue", "ls"}, "default\ngpu\n"}, {[]string{"token", "ls"}, "ada\n"}, {[]string{"workers"}, ""},
	} {
		for _, form := range listForms() {
			if out := h.exits(exitOK, append(c.verb, "-o", form)...); form == "name" && out != c.names {
				t.Errorf("%v prints the names %q, want %q", c.verb, out, c.names)
			}
		}
	}
	h.exits(exitOK, "doctor", "-o", "yaml")
}
