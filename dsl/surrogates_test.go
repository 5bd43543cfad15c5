package dsl_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/swrun/swrun/dsl"
)

// TestPairsOfSurrogates: what JSON writes as two escapes is one character in a document too, if it stands in double quotes; what
// follows on the line keeps its place.
func TestPairsOfSurrogates(t *testing.T) {
	for text, want := range map[string]string{
		`"\uD83D\uDE00"`:                "\U0001F600",
		`"\ud83d\ude00\ud83D\uDe00"`:    "\U0001F600\U0001F600",
		`"a \uDBFF\uDFFF z"`:            "a \U0010FFFF z",
		`"\\uD83D\\uDE00 \uD800\uDC00"`: `\uD83D\uDE00 ` + "\U00010000",
		`'\uD83D\uDE00'`:                `\uD83D\uDE00`,
		`\uD83D\uDE00`:                  `\uD83D\uDE00`,
		"\"\\uD83D\\uDE00\n        b\"": "\U0001F600 b",
	} {
		document := "document: {dsl: 1.0.3, namespace: a, name: a, version: 1.0.0}\ndo:\n  - a: {set: {x: " + text + ", \"\\uD83D\\uDE00\": 1}, thn: end}\n" +
			"  - b:\n      set:\n        x: |\n          \"\\uD83D\\uDE00\"\n"
		w, found := dsl.Parse("a.yaml", []byte(document))
		if len(found) != 1 || found[0].Code != "SW106" || at(document, found[0]) != "thn" {
			t.Errorf("%s: found %v", text, found)
			continue
		}
		got := []any{w.Source.Data("/do/0/a/set/x"), w.Source.Data("/do/0/a/set/\U0001F600"), w.Source.Data("/do/1/b/set/x")}
		if fmt.Sprint(got) != fmt.Sprint([]any{want, 1, "\"\\uD83D\\uDE00\"\n"}) {
			t.Errorf("%s: got %q", text, got)
		}
	}
}

func at(document string, d dsl.Diagnostic) string {
	return document[d.Range.Start.Offset:d.Range.End.Offset]
}

// TestHalvesOfSurrogates: half of a character is refused where it stands, also beside whole ones.
func TestHalvesOfSurrogates(t *testing.T) {
	for _, half := range []string{`\uD83D`, `\uDE00`, `\uDE00\uD83D`, `\uD83D\n`, `\uD83D \uDE00`, `\uD83D\\uDE00`} {
		document := `{document: {}, do: "\uD83D\uDE00 ` + half + `"}`
		_, found := dsl.Parse("a.yaml", []byte(document))
		if len(found) != 1 || found[0].Code != "SW101" || !strings.Contains(found[0].Message, "half of a character") ||
			!strings.HasPrefix(document[found[0].Range.Start.Offset-2:], half[:3]) {
			t.Errorf("%s: found %v", half, found)
		}
	}
}
