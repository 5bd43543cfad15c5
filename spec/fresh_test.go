package spec_test

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/spec"
	"github.com/swrun/swrun/spec/internal/schema"
)

var update = flag.Bool("update", false, "write the schemas anew")

// TestTheFilesAreFresh: the embedded files are equal to the output of package schema.
func TestTheFilesAreFresh(t *testing.T) {
	for _, c := range []struct {
		file           string
		embedded, made []byte
	}{
		{"workflow.schema.json", spec.Schema(), schema.Exact()},
		{"editor.schema.json", spec.EditorSchema(), schema.Editor()},
	} {
		if *update {
			if err := os.WriteFile(c.file, c.made, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if diff := cmp.Diff(string(c.made), string(c.embedded)); diff != "" {
			t.Errorf("%s is stale: run go generate ./spec (-made +file)\n%s", c.file, diff)
		}
	}
}
