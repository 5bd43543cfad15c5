package dsl

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/swrun/swrun/dsl/source"
)

// TestTheBoundsOfDocumentsAreDocumented holds docs/limits.md to the bounds of a document.
func TestTheBoundsOfDocumentsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	row := fmt.Sprintf("| document | %d bytes, %d levels, %d values, task names of %d characters | a diagnostic when it is read |\n",
		source.MaxSize, source.MaxDepth, source.MaxNodes, maxName)
	if !strings.Contains(string(page), row) {
		t.Errorf("docs/limits.md lacks the row\n%s", row)
	}
}

// TestDocumentsBeyondTheBoundsSayWhatToDo: for every text that is too deep or too large, the diagnostic is SW104, names the bound, and contains the remedy.
func TestDocumentsBeyondTheBoundsSayWhatToDo(t *testing.T) {
	const deep, large = "the document is nested deeper than 64 levels", "the document has more than 262144 bytes"
	nested := func(levels int, before, after string) string {
		return strings.Repeat(before, levels) + "1" + strings.Repeat(after, levels)
	}
	for name, c := range map[string]struct{ text, message, help string }{
		"200 lists":                   {"do: " + nested(200, "[", "]"), deep, "nest it less"},
		"10000 lists":                 {"do: " + nested(10000, "[", "]"), deep, "nest it less"},
		"20000 objects":               {"do: " + nested(20000, "{a: ", "}"), deep, "nest it less"},
		"20000 open brackets":         {strings.Repeat("[", 20000), deep, "nest it less"},
		"a list of lists":             {strings.Repeat("- ", 11000) + "x", deep, "nest it less"},
		"JSON":                        {nested(20000, `{"a":`, "}"), deep, "nest it less"},
		"JSON as YAML cannot read it": {`{"b": "\ud800", "a":` + nested(20000, "[", "]") + "}", deep, "nest it less"},
		"JSON of 9000 levels":         {nested(9000, `{"a":`, "}"), deep, "nest it less"},
		"a second document":           {"document: { dsl: 1.0.3, namespace: test, name: a, version: 1.0.0 }\ndo: []\n---\n" + nested(20000, "[", "]"), deep, "nest it less"},
		"a text":                      {"do: " + strings.Repeat("a", source.MaxSize), large, "files of their own"},
	} {
		t.Run(name, func(t *testing.T) {
			_, found := Parse("a.yaml", []byte(c.text))
			if len(found) != 1 || found[0].Code != "SW104" || found[0].Message != c.message || !strings.Contains(found[0].Help, c.help) {
				t.Errorf("%+v", found)
			}
			_, _, found = ParseFunction("function.yaml", []byte(c.text), "f", "/functions/f")
			if !slices.ContainsFunc(found, func(d Diagnostic) bool { return d.Code == "SW104" && strings.Contains(d.Help, c.help) }) {
				t.Errorf("as a function: %+v", found)
			}
		})
	}
}

// TestAnEmptyDocumentSaysHowToBegin: the diagnostic of an empty document explains how to begin a document.
func TestAnEmptyDocumentSaysHowToBegin(t *testing.T) {
	for _, text := range []string{"", "\n\n", "# nothing yet\n", "---\n"} {
		_, found := Parse("a.yaml", []byte(text))
		if len(found) != 1 || !strings.Contains(found[0].Help, "`swrun init` makes one") {
			t.Errorf("%q: %+v", text, found)
		}
	}
}
