package dsl_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/swrun/swrun/dsl"
)

// TestPairsOfSurrogates: two escapes that are one character in JSON are one character in a document too, in double quotes. The rest of the line keeps
// its place.
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

// TestHalvesOfSurrogates: half of a character is refused at its place, also beside whole characters.
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

// TestSlashesOfJSON: an escaped slash of JSON is a slash in a document too. The rest of the line keeps its place.
func TestSlashesOfJSON(t *testing.T) {
	for text, want := range map[string]string{
		`"https:\/\/x"`:           "https://x",
		`"\/"`:                    "/",
		`"\\/"`:                   `\/`,
		`"\/\uD83D\uDE00\/é\/"`:   "/\U0001F600/é/",
		`'\/'`:                    `\/`,
		`\/`:                      `\/`,
		"\"\\/ \\\n        \\/\"": "/ /",
	} {
		document := "document: {dsl: 1.0.3, namespace: a, name: a, version: 1.0.0}\ndo:\n  - a: {set: {x: " + text + ", \"\\/\": 1}, thn: end}\n"
		w, found := dsl.Parse("a.yaml", []byte(document))
		if len(found) != 1 || found[0].Code != "SW106" || at(document, found[0]) != "thn" {
			t.Errorf("%s: found %v", text, found)
			continue
		}
		if got := []any{w.Source.Data("/do/0/a/set/x"), w.Source.Data("/do/0/a/set/~1")}; fmt.Sprint(got) != fmt.Sprint([]any{want, 1}) {
			t.Errorf("%s: got %q", text, got)
		}
	}
}

// TestQuestionMarksInBrackets: a question mark in brackets is a part of the text, unless it is alone before a key. The library of YAML reads each as
// the mark of a key.
func TestQuestionMarksInBrackets(t *testing.T) {
	const head = "document: {dsl: 1.0.3, namespace: a, name: a, version: 1.0.0}\ndo:\n  - a: "
	for text, want := range map[string]string{
		`{set: {?a: 1}}`: "map[?a:1]", `{set: {b: ?x}}`: "map[b:?x]", `{set: {b: [1, ?x, y?]}}`: "map[b:[1 ?x y?]]", "{set: {b:\n    ?x}}": "map[b:?x]",
		`{set: {b: https://x.test/?a=b&c=d?, c: is it? yes}}`: "map[b:https://x.test/?a=b&c=d? c:is it? yes]", `{set: {b: x?y, c?: x ?y}}`: "map[b:x?y c?:x ?y]",
		`{set: {b: '?x', "?y": "\ue000?", c: ?}}`: "map[?y:? b:?x c:?]", `{set: {b: ?x, c: "\uE000"}}`: "map[b:?x c:]", `{set: {? b : 1}}`: "map[b:1]", "{set: {b: 1}} # {?x}": "map[b:1]",
		"\n      set: {b: 1}\n      if: ${ [.a?] | .[0].b? // true }": "map[b:1]", "\n      set:\n        b: |\n          {?x}\n        c: ?x\n        ?d: 1": "map[?d:1 b:{?x}\n c:?x]",
	} {
		w, found := dsl.Parse("a.yaml", []byte(head+text+"\n"))
		if len(found) > 0 {
			t.Errorf("%s: found %v", text, found)
			continue
		}
		if got := fmt.Sprint(w.Source.Data("/do/0/a/set")); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	document := head + "{set: {b: ?x, c: y?}, thn: end}\n"
	if _, found := dsl.Parse("a.yaml", []byte(document)); len(found) != 1 || at(document, found[0]) != "thn" {
		t.Errorf("what follows on the line does not keep its place: %v", found)
	}
}
