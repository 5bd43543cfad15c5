package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const failingDocument = `document: {dsl: '1.0.1', namespace: demo, name: failing, version: 1.0.0}
timeout: {after: PT1H}
do:
- caught: {try: [{a: {raise: {error: {type: https://example.com/a, status: 500, title: A}}}}], catch: {do: [{b: {set: {seen: true}}}]}}
- fails: {raise: {error: {type: https://example.com/b, status: 418, title: "B \u00e9", detail: broken}}}
`

// TestVerbsSayTheSameOfAServer: verbs print the same about the same runs, whether they open the store or use a server.
func TestVerbsSayTheSameOfAServer(t *testing.T) {
	folder := t.TempDir()
	h := &hosted{t, "file:" + filepath.Join(folder, "runs.db")}
	file := filepath.Join(folder, "failing.yaml")
	if err := os.WriteFile(file, []byte(failingDocument), 0o600); err != nil {
		t.Fatal(err)
	}
	h.exits(exitOK, "deploy", file)
	other := filepath.Join(folder, "other.yaml")
	if err := os.WriteFile(other, []byte(failingDocument+"- more: {set: {more: true}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.exits(exitFaulted, "run", file, "--id", "failed")
	h.exits(exitFaulted, "run", file, "--id", "failed-too")
	asked := []askedVerb{
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
		{exitOK, []string{"history", "failed", "--task", "3"}},
		{exitOK, []string{"history", "failed", "--task", "2", "-o", "json"}},
		{exitUsage, []string{"history", "failed", "--task", "1"}},
		{exitNotFound, []string{"history", "failed", "--task", "99"}},
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
		{exitOK, []string{"deploy", file}},
		{exitConflict, []string{"deploy", other}},
		{exitOK, []string{"deploy", file, "--check-runs", "--dry-run"}},
		{exitOK, []string{"export", "failed", "--jq", ".run.id"}},
		{exitConflict, []string{"deadline", "set", "failed", "+10m"}},
		{exitNotFound, []string{"deadline", "set", "none", "+10m"}},
		{exitConflict, []string{"cancel", "failed"}},
		{exitConflict, []string{"cancel", "failed", "failed-too", "--dry-run"}},
		{exitOK, []string{"delete", "--where", "status=faulted", "--dry-run"}},
		{exitNotFound, []string{"suspend", "none", "--dry-run"}},
		{exitConflict, []string{"migrate", "failed", "--to", "latest"}},
		{exitNotFound, []string{"suspend", "none"}},
	}
	asked = append(append(asked, askedOfStarts()...), h.askedOfAChain(folder)...)
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
	for _, flag := range []string{"--execution-timeout=none", "--run-timeout=90s", "--timeout-starts=accept", "--deadline=2099-12-24T18:00:00Z", "--label=a=b", "-i=x:=1"} {
		h.exits(exitFaulted, "wait", strings.TrimSpace(h.exits(exitOK, "start", "demo/failing:1.0.0", flag)))
	}
	id := strings.TrimSpace(h.exits(exitOK, "start", "demo/failing", "--delay", "1h"))
	h.exits(exitConflict, "delete", id)
	h.exits(exitOK, "cancel", id, "--reason", "no more")
	h.exits(exitCancelled, "wait", id)
	h.exits(exitOK, "delete", "--where", "id="+id, "--yes")
}

// askedOfStarts returns verbs that start runs and command them, as far as their output is constant.
func askedOfStarts() []askedVerb {
	return []askedVerb{
		{exitNotFound, []string{"start", "demo/none"}},
		{exitConflict, []string{"start", "demo/failing", "--id", "failed"}},
		{exitUsage, []string{"start", "demo/failing", "--execution-timeout", "1ms"}},
		{exitOK, []string{"start", "demo/failing", "--id", "failed", "--on-duplicate", "return-existing"}},
		{exitConflict, []string{"cancel", "failed", "--reason", "no"}},
		{exitConflict, []string{"retry", "failed", "--now"}},
		{exitNotFound, []string{"cancel", "none"}},
		{exitUsage, []string{"terminate", "--where", "colour=red", "--yes"}},
	}
}

// askedOfAChain runs a workflow that continues as new, and returns verbs about one run of it.
func (h *hosted) askedOfAChain(folder string) []askedVerb {
	h.Helper()
	file := filepath.Join(folder, "chain.yaml")
	text := "document: {dsl: 1.0.3, namespace: demo, name: chain, version: 1.0.0}\ndo: [{more: {if: $runtime.metadata.runNumber < 2, call: 'continue-as-new:1.0.0@default'}}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		h.Fatal(err)
	}
	h.exits(exitOK, "run", file, "--id", "chain", "--run-timeout", "1h")
	return []askedVerb{
		{exitOK, []string{"describe", "chain", "--run", "1"}},
		{exitOK, []string{"describe", "chain", "--run", "2", "-o", "json"}},
		{exitOK, []string{"describe", "chain", "--run", "latest"}},
		{exitNotFound, []string{"describe", "chain", "--run", "3"}},
		{exitConflict, []string{"output", "chain", "--run", "1"}},
		{exitConflict, []string{"output", "chain", "--run", "1", "--wait"}},
		{exitOK, []string{"output", "chain", "--run", "2"}},
		{exitNotFound, []string{"output", "chain", "--run", "3"}},
		{exitNotFound, []string{"output", "chain", "--run", "3", "--wait", "5s"}},
		{exitOK, []string{"deadlines", "chain", "--run", "1"}},
		{exitOK, []string{"deadlines", "chain"}},
		{exitOK, []string{"history", "chain", "--run", "2"}},
		{exitNotFound, []string{"history", "chain", "--run", "3"}},
	}
}

// askedVerb is a command, and its exit code.
type askedVerb struct {
	code int
	args []string
}
