package dsl_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/swrun/swrun/dsl"
)

// TestBadDocuments parses every file of testdata. Its comments contain the errors of their lines:
//
//	wait: { second: 1 } # ERROR SW110 "`second` is not"
//
// No other errors are allowed. Several comments on a line are divided by ";".
func TestBadDocuments(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	broken, err := filepath.Glob("testdata/syntax/*.yaml")
	if err != nil || len(broken) < 40 {
		t.Fatalf("only %d broken texts (%v)", len(broken), err)
	}
	files = append(files, broken...)
	if len(files) < 20 {
		t.Fatalf("only %d files in testdata", len(files))
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, found := dsl.Parse(file, text)
			compareDiagnostics(t, found, mustWanted(t, string(text)))
		})
	}
}

type wanted struct {
	line     int
	severity string
	code     string
	message  *regexp.Regexp
}

var comment = regexp.MustCompile(`(ERROR|WARNING|INFO) (SW\d{3}) "([^"]*)"`)

func mustWanted(t *testing.T, text string) []wanted {
	t.Helper()
	var all []wanted
	for i, line := range strings.Split(text, "\n") {
		_, comments, _ := strings.Cut(line, "# ")
		for _, m := range comment.FindAllStringSubmatch(comments, -1) {
			all = append(all, wanted{i + 1, strings.ToLower(m[1]), m[2], regexp.MustCompile(m[3])})
		}
	}
	if len(all) == 0 {
		t.Fatal("the file expects nothing")
	}
	return all
}

func compareDiagnostics(t *testing.T, found dsl.Diagnostics, want []wanted) {
	t.Helper()
	for _, d := range found {
		matched := false
		for i, w := range want {
			text := d.Message + " | " + d.Label + " | " + d.Help
			if w.line == d.Range.Start.Line && w.code == d.Code && w.severity == d.Severity.String() && w.message.MatchString(text) {
				want = append(want[:i:i], want[i+1:]...)
				matched = true
				break
			}
		}
		if !matched {
			t.Errorf("unexpected: %s", describeDiagnostic(d))
		}
	}
	for _, w := range want {
		t.Errorf("missing: line %d: %s %s %q", w.line, w.severity, w.code, w.message)
	}
}

func describeDiagnostic(d dsl.Diagnostic) string {
	return fmt.Sprintf("%s | %s | %s | %s", d.Error(), d.Label, d.Help, d.Pointer)
}
