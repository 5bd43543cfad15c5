package tasks_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/tasks"
)

// TestTheErrorOfALargeResourceTellsItsLimit: the error contains the members of every limit.
func TestTheErrorOfALargeResourceTellsItsLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large.js")
	if err := os.WriteFile(path, make([]byte, 5<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := tasks.Loader("workflow.yaml", tasks.Sources{Files: true})(t.Context(), "file://"+path)
	if err == nil {
		t.Fatal("it was loaded")
	}
	e := interpreter.FailLoad(path, err).Extensions
	if e["limit"] != "resource" || e["max"] != 4<<20 || e["value"] != 4<<20+1 {
		t.Errorf("got the members %v, want limit, value and max", e)
	}
}
