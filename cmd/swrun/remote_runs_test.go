package main

import (
	"os"
	"path/filepath"
	"testing"
)

const failingDocument = `document: {dsl: '1.0.1', namespace: demo, name: failing, version: 1.0.0}
timeout: {after: PT1H}
do:
- caught: {try: [{a: {raise: {error: {type: https://example.com/a, status: 500, title: A}}}}], catch: {do: [{b: {set: {seen: true}}}]}}
- fails: {raise: {error: {type: https://example.com/b, status: 418, title: "B \u00e9", detail: broken}}}
`

// TestVerbsSayTheSameOfAServer: of the same runs, verbs print the same whether they open the store or ask a server.
func TestVerbsSayTheSameOfAServer(t *testing.T) {
	folder := t.TempDir()
	h := &hosted{t, "file:" + filepath.Join(folder, "runs.db")}
	file := filepath.Join(folder, "failing.yaml")
	if err := os.WriteFile(file, []byte(failingDocument), 0o600); err != nil {
		t.Fatal(err)
	}
	h.exits(exitFaulted, "run", file, "--id", "failed")
	h.exits(exitFaulted, "run", file, "--id", "failed-too")
	asked := []struct {
		code int
		args []string
	}{
		{exitOK, []string{"describe", "failed"}},
		{exitOK, []string{"describe", "failed-t"}},
		{exitOK, []string{"describe", "@last"}},
		{exitNotFound, []string{"describe", "demo/none"}},
		{exitNotFound, []string{"describe", "none"}},
		{exitUsage, []string{"describe", "fai"}},
		{exitOK, []string{"history", "failed"}},
		{exitOK, []string{"history", "failed", "-o", "ndjson"}},
		{exitOK, []string{"history", "failed", "--follow", "--run", "1"}},
		{exitNotFound, []string{"history", "demo/none", "--follow"}},
		{exitFaulted, []string{"output", "failed"}},
		{exitFaulted, []string{"output", "failed", "--wait", "30s"}},
		{exitFaulted, []string{"wait", "failed", "failed-too", "--timeout", "1h"}},
		{exitNotFound, []string{"wait", "none"}},
		{exitOK, []string{"ls", "-o", "json"}},
		{exitOK, []string{"ls", "-o", "name", "--limit", "1", "--status", "faulted", "--workflow", "demo/failing"}},
		{exitOK, []string{"ls", "--label", `team="a b"`}},
		{exitOK, []string{"ls", "--count", "--by", "error"}},
		{exitUsage, []string{"ls", "--where", "colour=red"}},
		{exitOK, []string{"deadlines", "--within", "5m"}},
		{exitOK, []string{"export", "failed", "--jq", ".run.id"}},
		{exitConflict, []string{"deadline", "set", "failed", "+10m"}},
		{exitNotFound, []string{"deadline", "set", "none", "+10m"}},
		{exitConflict, []string{"cancel", "failed"}},
		{exitNotFound, []string{"migrate", "failed", "--to", "latest"}},
		{exitNotFound, []string{"suspend", "none"}},
	}
	said := make([]string, len(asked))
	for n, c := range asked {
		said[n] = h.exits(c.code, c.args...)
	}
	h.serve()
	for n, c := range asked {
		if got := h.exits(c.code, c.args...); got != said[n] {
			t.Errorf("%v: of a server\n%s\nof the store\n%s", c.args, got, said[n])
		}
	}
}
