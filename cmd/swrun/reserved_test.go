package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const reservedText = `document: {dsl: 1.0.3, namespace: demo, name: mine, version: 0.1.0}
do:
- rest: {wait: PT2S, export: {as: .}}
- late: {try: [{never: {wait: PT1H, timeout: {after: PT0.1S}}}], catch: {do: [{held: {set: {file: "${ $context.file }"}}}]}}
- child: {run: {workflow: {namespace: demo, name: part, version: 0.1.0, input: {file: "${ .file }"}}}}
`

const partText = `document: {dsl: 1.0.3, namespace: demo, name: part, version: 0.1.0}
do:
- write: {run: {shell: {command: 'echo done >> "$1"', arguments: ["${ .file }"]}}}
`

// TestRunIsPerformedByItsProcess: the process of `run --id` alone performs the run that it starts on a store that workers share, and the runs that
// this run starts and waits for. It is killed. The present worker, which could perform everything, keeps timers and deadlines, and the run waits and
// names the reason. A second `run --id` continues the run.
func TestRunIsPerformedByItsProcess(t *testing.T) {
	t.Parallel()
	h := newHosted(t)
	h.work("--allow-processes")
	written := filepath.Join(t.TempDir(), "written")
	main, part := mustWriteFile(t, "mine.yaml", reservedText), mustWriteFile(t, "part.yaml", partText)
	args := []string{"run", main, "--id", "x", "--store", h.url, "--workflow", part, "-i", `{"file": "` + written + `"}`}
	first := command(t, args...)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	h.until("waiting for the timer of /do/0/rest", "describe", "x")
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait() // it was killed

	h.until("waiting for the run demo/", "describe", "x")
	child := h.exits(exitOK, "ls", "--where", "parent=x", "-o", "json", "--jq", ".[0].id")
	child = strings.Trim(child, "\"\n")
	h.until("waits for a worker that works on demo/x (swrun run DOCUMENT --id x) alone", "describe", child)
	contains(t, h.exits(exitOK, "describe", child), "; none is there, for ")
	contains(t, h.exits(exitOK, "describe", "x", "-o", "json", "--jq", ".reservedFor"), `"demo/x"`)
	contains(t, h.exits(exitOK, "doctor"), "waiting for missing workers: 1 run", "works on them (swrun run DOCUMENT --id ID) alone")
	if _, err := os.Stat(written); err == nil {
		t.Fatal("the worker has performed it")
	}

	again := command(t, args...)
	if out, err := again.CombinedOutput(); err != nil {
		t.Fatalf("run again, it ends with %v: %s", err, out)
	}
	if text, err := os.ReadFile(written); err != nil || string(text) != "done\n" {
		t.Errorf("it has written %q (%v)", text, err)
	}
	contains(t, h.exits(exitOK, "doctor"), "no run waits for a missing worker")
}
