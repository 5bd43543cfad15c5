package dsl_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/internal/pacetest"
)

const head = "document: { dsl: 1.0.3, namespace: test, name: aliases, version: 1.0.0 }\n"

// TestAliasesAndMergeKeys reads documents that are written with anchors, directives and byte order marks.
func TestAliasesAndMergeKeys(t *testing.T) {
	for _, c := range []struct{ name, text, at, want string }{
		{"an alias", head + "do:\n- a: {set: &s {x: 1}}\n- b: {set: *s}\n", "/do/1/b/set", `{"x":1}`},
		{"an alias of text", head + "do:\n- a: {set: {x: &t text, y: *t}}\n", "/do/0/a/set", `{"x":"text","y":"text"}`},
		{"an alias as a key", head + "do:\n- a: {set: {x: &t text, *t : 1}}\n", "/do/0/a/set", `{"text":1,"x":"text"}`},
		{"an alias of a list", head + "do:\n- a: {set: {x: &l [1, 2], y: *l}}\n", "/do/0/a/set/y/1", `2`},
		{"an anchor that is used again later", head + "do:\n- a: {set: {x: &l [1, &m {b: 2}], y: *l, z: *m}}\n", "/do/0/a/set", `{"x":[1,{"b":2}],"y":[1,{"b":2}],"z":{"b":2}}`},
		{"a merge key", head + "do:\n- a: {set: &s {x: 1, y: 2}}\n- b: {set: {<<: *s, y: 3}}\n", "/do/1/b/set", `{"x":1,"y":3}`},
		{"a merge key after what overrides it", head + "do:\n- a: {set: &s {x: 1, y: 2}}\n- b: {set: {y: 3, <<: *s}}\n", "/do/1/b/set", `{"x":1,"y":3}`},
		{"of merged objects the first counts", head + "do:\n- a: {set: {p: &p {x: 1, y: 1}, q: &q {y: 2, z: 2}}}\n- b: {set: {<<: [*p, *q], w: 0}}\n", "/do/1/b/set", `{"w":0,"x":1,"y":1,"z":2}`},
		{"a merged object with a merge key", head + "do:\n- a: {set: {p: &p {x: 1}, q: &q {<<: *p, y: 2}}}\n- b: {set: {<<: *q}}\n", "/do/1/b/set", `{"x":1,"y":2}`},
		{"a task by merge key", head + "use: {functions: {f: &f {call: http, with: {method: get, endpoint: 'http://a.b'}}}}\ndo:\n- a: {<<: *f, then: end}\n", "/do/0/a/call", `"http"`},
		{"a merge key in quotes is a key", head + "do:\n- a: {set: {'<<': {x: 1}}}\n", "/do/0/a/set", `{"\u003c\u003c":{"x":1}}`},
		{"a merge key in JSON is a key", `{"document": {"dsl": "1.0.3", "namespace": "t", "name": "j", "version": "1.0.0"}, "do": [{"a": {"set": {"<<": {"x": 1}}}}]}`, "/do/0/a/set", `{"\u003c\u003c":{"x":1}}`},
		{"surrogates in JSON", `{"document": {"dsl": "1.0.3", "namespace": "t", "name": "j", "version": "1.0.0"}, "do": [{"a": {"set": {"x": "\uD83D\uDE00", "y": "\ud83d\ude00!"}}}]}`, "/do/0/a/set", `{"x":"😀","y":"😀!"}`},
		{"a byte order mark", "\xef\xbb\xbf" + head + "do:\n- a: {set: {x: 1}}\n", "/do/0/a/set/x", `1`},
		{"a byte order mark before JSON", "\xef\xbb\xbf" + `{"document": {"dsl": "1.0.3", "namespace": "t", "name": "j", "version": "1.0.0"}, "do": [{"a": {"set": {"x": 1}}}]}`, "/do/0/a/set/x", `1`},
		{"%YAML 1.2", "%YAML 1.2\n---\n" + head + "do:\n- a: {set: {x: 1}}\n", "/do/0/a/set/x", `1`},
		{"%YAML 1.1 after a comment, with a byte order mark", "\xef\xbb\xbf# c\n%YAML 1.1\n---\n" + head + "do:\n- a: {set: {x: no}}\n", "/do/0/a/set/x", `"no"`},
		{"%TAG", "%TAG ! tag:example.com,2026:\n---\n" + head + "do:\n- a: {set: {x: 1}}\n", "/do/0/a/set/x", `1`},
		{"a document's start and end", "---\n" + head + "do:\n- a: {set: {x: 1}}\n...\n", "/do/0/a/set/x", `1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, found := dsl.Parse("aliases.yaml", []byte(c.text))
			if found.Err() != nil {
				t.Fatal(found)
			}
			got, err := json.Marshal(w.Source.Data(dsl.Pointer(c.at)))
			if err != nil || string(got) != c.want {
				t.Errorf("got %s, want %s (%v)", got, c.want, err)
			}
			checkPlaces(t, w.Source, w.Source.Data(""), "")
		})
	}
}

// TestDiagnosticsInAliases: a mistake in the text of an alias is reported once, at that text, with the alias. No fix changes text that other aliases use.
func TestDiagnosticsInAliases(t *testing.T) {
	text := head + "metadata: &m\n  run: &r { shel: { command: ls } }\ndo:\n- a: { run: *r }\n- b: { run: *r }\n- c: { wait: { second: 1 } }\n"
	_, found := dsl.Parse("aliases.yaml", []byte(text))
	var aliased, plain dsl.Diagnostic
	for _, d := range found {
		switch {
		case strings.Contains(d.Message, "shel"):
			if aliased.Code != "" {
				t.Errorf("reported twice: %v", found)
			}
			aliased = d
		case strings.Contains(d.Message, "second"):
			plain = d
		}
	}
	if aliased.Range.Start.Line != 3 || len(aliased.Fix) > 0 || len(aliased.Related) != 1 || aliased.Related[0].Range.Start.Line != 5 ||
		!strings.Contains(aliased.Related[0].Label, "*r") {
		t.Errorf("got %+v", aliased)
	}
	if plain.Range.Start.Line != 7 || len(plain.Fix) == 0 {
		t.Errorf("a repair beside anchors is left out: %+v", plain)
	}
}

// TestAliasesAreBounded: the expansion of aliases and merge keys is counted, and refused soon.
func TestAliasesAreBounded(t *testing.T) {
	merges := "a: &a {" + manyKeys(5000) + "}\nb: [" + strings.Repeat("{<<: *a},", 15_000) + "]\n"
	deep := "a0: &a0 [x]\n"
	for i := range 80 {
		n := string(rune('A'+i/26)) + string(rune('a'+i%26))
		deep += n + ": &" + n + " [*" + map[bool]string{true: "a0", false: last(deep)}[i == 0] + "]\n"
	}
	for name, text := range map[string]string{
		"aliases of aliases": bomb(), "merged properties": strings.ReplaceAll(merges, ", k5: 2", ""), "depth": deep,
		"a long text": "a: &a " + strings.Repeat("x", 100_000) + "\nb: [" + strings.Repeat("*a,", 10_000) + "]",
		"itself":      "&a [*a]", "itself below": "a: &a {b: {c: [*a]}}", "itself merged": "a: &a {<<: *a}",
	} {
		started := time.Now()
		_, found := dsl.Parse("aliases.yaml", []byte(text))
		if took := time.Since(started); took > pacetest.Patience { // only finds a hang, and does not measure speed
			t.Errorf("%s took %v", name, took)
		}
		if found.Err() == nil || found[0].Code != "SW104" {
			t.Errorf("%s: %v", name, found)
		}
	}
}

// last returns the name of the last anchor of a text.
func last(text string) string {
	_, name, _ := strings.Cut(text[strings.LastIndex(text, "&"):], "&")
	name, _, _ = strings.Cut(name, " ")
	return name
}
