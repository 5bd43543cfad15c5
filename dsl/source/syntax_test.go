package source_test

import (
	"strings"
	"testing"

	"github.com/swrun/swrun/dsl/source"
)

const head = "document: { dsl: 1.0.3, namespace: test, name: aliases, version: 1.0.0 }\n"

// TestSyntaxErrorsPointAtTheirLine: texts in which a comment would change the mistake; the others are in testdata/syntax of package dsl.
func TestSyntaxErrorsPointAtTheirLine(t *testing.T) {
	for _, c := range []struct {
		name, text string
		line       int
		message    string
	}{
		{"a colon is missing, and the text goes on", head + "do:\n  - a:\n      set\n        x: 1\n", 4, "colon is missing"},
		{"a colon is missing after the task's name", head + "do:\n  - a\n      set: { x: 1 }\n", 3, "colon is missing"},
		{"a colon is missing at the top", head + "use\n  secrets: [a]\ndo: []\n", 2, "colon is missing"},
		{"no space after the colon, and the text goes on", head + "do:\n  - a:\n      call:http\n      with: { method: get }\n", 4, "space is missing"},
		{"no space in the last line", "document:\n  dsl: 1.0.3\n  name:bad", 3, "space is missing"},
		{"a double quote is not closed", head + "do:\n  - a:\n      set:\n        x: \"one\n        y: 2\n", 5, "quote that opens here is not closed"},
		{"a double quote is closed by another one", head + "do:\n  - a:\n      set:\n        x: \"one\n        y: 2\n        z: \"two\"\n", 5, "quote that opens here is not closed"},
		{"a quote inside of text", head + "do:\n  - a:\n      set:\n        x: it's\n        y: 'one\n        z: it's\n", 6, "quote"},
		{"a quote inside of a block of text", head + "do:\n  - a:\n      run:\n        shell:\n          command: |\n            echo 'a\n            echo it's\n      then: [end\n", 9, "not closed"},
		{"nothing but a quote", "'", 1, "not closed"},
		{"nothing but a bracket", "[", 1, "not closed"},
		{"a bracket at the very end", head + "do: [", 2, "not closed"},
		{"windows line ends", strings.ReplaceAll(head+"do:\n  - a:\n      set:\n        x: 1\n       y: 2\n", "\n", "\r\n"), 6, "indented"},
		{"characters of several bytes before", head + "# ünïcödé 😀😀\ndo:\n  - 'ä😀': { set: { x: 'ö' } }\n - b: { set: { x: 2 } }\n", 5, "indented"},
		{"a byte order mark before", "\xef\xbb\xbf" + head + "do:\n  - a: { set: { x: 1 } }\n - b: {}\n", 4, "indented"},
		{"an alias without a name", head + "do:\n  - a: { set: { x: 1 } }\n  - b: { set: { x: * } }\n", 4, "needs a name"},
		{"half of a surrogate pair", head + "do:\n  - a: { set: { x: 1 } }\n  - b: { set: { x: \"\\uD83D\" } }\n", 4, "half of a character"},
		{"a directive that is none", "%FOO bar\n---\n" + head, 1, "not a directive"},
		{"a tag that is none", head + "do:\n  - a: { set: { x: 1 } }\n  - b: { set: { x: !a!b c } }\n", 4, "not a tag"},
		{"an old crash of the library", "0: [:!00 x", 1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, found := source.Read("broken.yaml", []byte(c.text))
			if len(found) != 1 || found[0].Code != "SW101" || found[0].Range.Start.Line != c.line || !strings.Contains(found[0].Message, c.message) {
				t.Errorf("want line %d %q, got %v", c.line, c.message, found)
			}
			for _, d := range found {
				checkRange(t, d.Range, len(c.text))
				if strings.Contains(d.Message, "did not find") || strings.Contains(d.Message, "could not find") {
					t.Errorf("the library's words: %s", d.Message)
				}
			}
		})
	}
}
