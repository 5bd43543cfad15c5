package conformance

import (
	"os"
	"path/filepath"
	"testing"
)

// FuzzCompile loads any text as a document: it becomes a program, or diagnostics give the reason.
func FuzzCompile(f *testing.F) {
	for _, pattern := range []string{"../examples/*.yaml", "../dsl/testdata/*.yaml", "../dsl/testdata/rules/*.yaml", "../dsl/testdata/valid/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(text))
		}
	}
	config := newOutside(nil).config
	f.Fuzz(func(t *testing.T, text string) {
		if p, diagnostics := load("fuzz.yaml", text, config); (p == nil) != (diagnostics.Err() != nil) {
			t.Errorf("program: %v, diagnostics: %v", p != nil, diagnostics)
		}
	})
}
