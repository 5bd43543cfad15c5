package conformance

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/tasks"
)

// unsupported matches the sentence of a kind's note that its documents are valid but cannot be run.
var unsupported = regexp.MustCompile(`(?m)^Documents with this task validate; running it is not supported yet\.`)

// TestStems checks that every kind of task is complete: its note, its part of the parser, and, if it can run, its logic, its cases and its example,
// all by its stem.
func TestStems(t *testing.T) {
	runs := map[dsl.Kind]bool{}
	for _, k := range tasks.All(tasks.Config{}) {
		runs[k.Kind] = true
	}
	for _, kind := range dsl.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			stem := string(kind)
			mustExist(t, "../dsl/"+stem+".go")
			note, err := os.ReadFile("../spec/" + stem + ".md")
			if err != nil {
				t.Errorf("the note is missing: %v", err)
			}
			if told := !unsupported.Match(note); err == nil && told != runs[kind] {
				t.Errorf("spec/%s.md says that the kind runs: %v; tasks.All has it: %v", stem, told, runs[kind])
			}
			if !runs[kind] {
				return
			}
			mustExist(t, "../tasks/"+stem+".go")
			mustExist(t, "../examples/"+stem+".yaml")
			if cases, err := filepath.Glob("testdata/" + stem + "/*.txtar"); err != nil || len(cases) == 0 {
				t.Errorf("there are no cases in testdata/%s", stem)
			}
		})
	}
}

// TestFolders checks that every case is in a known folder.
func TestFolders(t *testing.T) {
	known := map[string]bool{"workflow": true, "expression": true, "timeout": true, "data_flow": true, "error": true, "extension": true}
	for _, kind := range dsl.Kinds() {
		known[string(kind)] = true
	}
	for _, c := range mustCases(t) {
		if folder, _, _ := strings.Cut(c.name, "/"); !known[folder] {
			t.Errorf("%s: the folder is neither a kind nor a topic", c.name)
		}
	}
}

func mustExist(t *testing.T, file string) {
	t.Helper()
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		t.Errorf("%s is missing", strings.TrimPrefix(file, "../"))
	}
}
