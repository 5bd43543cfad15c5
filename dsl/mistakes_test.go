package dsl_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/interpreter"
)

// header is the beginning of a document of testdata/mistakes, unless it has its own.
const header = "document: { dsl: 1.0.3, namespace: demo, name: rule, version: 0.1.0 }\n"

// TestMistakes parses and checks the documents of testdata/mistakes. Each contains one mistake as people make it who know another language. A comment
// marks the line of the report, and contains the remedy in it:
//
//	if: .x = 1 # SW507 "write `==`"
//
// ALSO marks a line that a diagnostic about another line names, with the words about it:
//
//	retries: 3 # ALSO "belongs to the `catch`"
//
// No other diagnostics are allowed except hints.
func TestMistakes(t *testing.T) {
	files, err := filepath.Glob("testdata/mistakes/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range txtar.Parse(text).Files {
			count++
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar")+"/"+document.Name, func(t *testing.T) { checkMistake(t, string(document.Data)) })
		}
	}
	if count < 1084 {
		t.Errorf("only %d mistakes", count)
	}
}

var (
	remedy = regexp.MustCompile(`(SW\d{3}) "([^"]*)"`)
	also   = regexp.MustCompile(`ALSO "([^"]*)"`)
)

func checkMistake(t *testing.T, text string) {
	t.Helper()
	if !strings.Contains("\n"+text, "\ndocument:") && strings.Contains("\n"+text, "\ndo:") {
		text = header + text
	}
	var want, wantRelated []wanted
	for i, line := range strings.Split(text, "\n") {
		_, comments, _ := strings.Cut(line, " # ")
		for _, m := range remedy.FindAllStringSubmatch(comments, -1) {
			want = append(want, wanted{i + 1, "", m[1], regexp.MustCompile(m[2])})
		}
		for _, m := range also.FindAllStringSubmatch(comments, -1) {
			wantRelated = append(wantRelated, wanted{i + 1, "", "ALSO", regexp.MustCompile(m[1])})
		}
	}
	w, found := dsl.Parse("mistake.yaml", []byte(text))
	found = append(found, interpreter.Check(w)...)
	for _, d := range found {
		if d.Severity == dsl.SeverityInfo {
			continue
		}
		said := d.Message + " | " + d.Label + " | " + d.Help
		for _, r := range d.Related {
			said += " | " + r.Label
			wantRelated = slices.DeleteFunc(wantRelated, func(w wanted) bool { return w.line == r.Range.Start.Line && w.message.MatchString(r.Label) })
		}
		i := 0
		for ; i < len(want); i++ {
			if want[i].line == d.Range.Start.Line && want[i].code == d.Code && want[i].message.MatchString(said) {
				break
			}
		}
		if i == len(want) {
			t.Errorf("unexpected: %s", describeDiagnostic(d))
			continue
		}
		want = append(want[:i:i], want[i+1:]...)
	}
	for _, w := range append(want, wantRelated...) {
		t.Errorf("missing: line %d: %s %q", w.line, w.code, w.message)
	}
}
