package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestSinksExample: the example of sinks starts with its documented command, and prints the events that its workflow emits, and the events of its run.
func TestSinksExample(t *testing.T) {
	t.Parallel()
	examples := filepath.Join("..", "..", "examples", "sinks")
	h := &hosted{t, "file:" + filepath.Join(t.TempDir(), "runs.db")}
	server, said := h.process("serve", filepath.Join(examples, "workflows"), "--events", filepath.Join(examples, "events.yaml"), "--listen", "127.0.0.1:0")
	said.until(t, "the documents of the folders are deployed")
	sinksHold(t, said.String(), "stdout", "shipped", "lifecycle")
	h.exits(exitOK, "events", "publish", filepath.Join(examples, "paid.json"))
	out := server.Stdout.(*told)
	out.until(t, "workflow.completed.v1")
	out.until(t, `"type":"order.shipped"`)
	if text := out.String(); !strings.Contains(text, `{"data":{"order":7},`) || strings.Contains(text, "task.") {
		t.Errorf("it prints %s", text)
	}
}
