package dsl_test

import (
	"strings"
	"testing"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/dsl/source"
)

// TestPlaces finds keys and values.
func TestPlaces(t *testing.T) {
	const text = `document: { dsl: 1.0.3, namespace: tést, name: bad, version: 1.0.0 }
do:
  - greet:
      set:
        a/b: 'it''s'
        long: |
          one
          two
        empty:
  - 'on': { wait: PT1S }
`
	for _, c := range []struct {
		name       string
		at         dsl.Pointer
		key, value string
	}{
		{"a value in a flow mapping", "/document/name", "name", "bad"},
		{"after a character of two bytes", "/document/version", "version", "1.0.0"},
		{"a task", "/do/0/greet", "greet", "set:"},
		{"an item of a list", "/do/0", "greet:", "greet:"},
		{"a key with a slash", "/do/0/greet/set/a~1b", "a/b", "'it''s'"},
		{"a block scalar", "/do/0/greet/set/long", "long", "|"},
		{"a value that is absent", "/do/0/greet/set/empty", "empty", "empty"},
		{"a quoted key", "/do/1/on", "'on'", "{ wait: PT1S }"},
		{"a property that does not exist", "/do/1/on/wait/seconds", "wait", "PT1S"},
		{"an index that does not exist", "/do/7/x", "do", "- greet:"},
		{"the document", "", "document: { dsl: 1.0.3, namespace: tést, name: bad, version: 1.0.0 }", "document: { dsl: 1.0.3, namespace: tést, name: bad, version: 1.0.0 }"},
	} {
		t.Run(c.name, func(t *testing.T) {
			comparePlaces(t, text, c.at, c.key, c.value)
		})
	}
}

// TestPlacesInJSON finds keys and values of a JSON document, through escapes that YAML does not have.
func TestPlacesInJSON(t *testing.T) {
	const text = "{\"document\": {\"dsl\": \"1.0.3\"},\r\n \"do\": [\r\n  {\"gr\\u00fc\\ud83d\\ude00\": {\"set\": {\"a\": \"x\\ud83d\\ude00y\\/z\", \"n\": -1.50, \"b\": [true, null]}}}]}"
	task := dsl.Pointer("/do/0/grü😀")
	for _, c := range []struct {
		name       string
		at         dsl.Pointer
		key, value string
	}{
		{"a text", "/document/dsl", `"dsl"`, `"1.0.3"`},
		{"a key with escapes", task, `"gr\u00fc\ud83d\ude00"`, `{"set": {"a": "x\ud83d\ude00y\/z", "n": -1.50, "b": [true, null]}}`},
		{"a number", task + "/set/n", `"n"`, "-1.50"},
		{"an item", task + "/set/b/1", "null", "null"},
	} {
		t.Run(c.name, func(t *testing.T) {
			comparePlaces(t, text, c.at, c.key, c.value)
		})
	}
	s := mustSource(t, text)
	value := s.Data(task + "/set/a").(string)
	for part, want := range map[string]string{"y": "y", "/": `\/`, "z": "z", "😀": `\ud83d\ude00`} {
		from := strings.Index(value, part)
		r := s.Within(task+"/set/a", from, from+len(part))
		if got := text[r.Start.Offset:r.End.Offset]; got != want {
			t.Errorf("%q is found as %q, want %q", part, got, want)
		}
	}
}

func comparePlaces(t *testing.T, text string, at dsl.Pointer, key, value string) {
	t.Helper()
	s := mustSource(t, text)
	for _, place := range []struct {
		what string
		r    source.Range
		want string
	}{{"key", s.Key(at), key}, {"value", s.Value(at), value}} {
		if got := text[place.r.Start.Offset:place.r.End.Offset]; got != place.want {
			t.Errorf("the %s of %s is at %q, want %q", place.what, at, got, place.want)
		}
		before := text[:place.r.Start.Offset]
		if line := 1 + strings.Count(before, "\n"); place.r.Start.Line != line {
			t.Errorf("the %s of %s is on line %d, want %d", place.what, at, place.r.Start.Line, line)
		}
		if column := 1 + len([]rune(before[strings.LastIndex(before, "\n")+1:])); place.r.Start.Column != column {
			t.Errorf("the %s of %s is at column %d, want %d", place.what, at, place.r.Start.Column, column)
		}
	}
}

// TestKeysAreText: no key is taken for a boolean, a number or a date.
func TestKeysAreText(t *testing.T) {
	s := mustSource(t, "on: 1\nyes: 2\nnull: 3\n2026-01-01: 4\n017: 5\n'quoted': 6\n1.50: 7\n")
	for key, want := range map[string]any{"on": 1, "yes": 2, "null": 3, "2026-01-01": 4, "017": 5, "quoted": 6, "1.50": 7} {
		if got := s.Data(dsl.Pointer("").Key(key)); got != want {
			t.Errorf("%s is %v, want %v", key, got, want)
		}
	}
	if got := s.Data("/nowhere"); got != nil {
		t.Errorf("what is nowhere is %v", got)
	}
}

// TestBrokenJSON: a syntax error of JSON is reported with its place.
func TestBrokenJSON(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"{\"document\": {},\n \"do\": [}", `f.json:2:9: error[SW101]: this is not JSON: invalid character '}' looking for beginning of value`},
		{"{\"document\": {", "f.json:1:14: error[SW101]: this is not JSON: unexpected end of JSON input"},
	} {
		_, found := dsl.Parse("f.json", []byte(c.text))
		if len(found) != 1 || found[0].Error() != c.want {
			t.Errorf("got %v, want %s", found, c.want)
		}
	}
}

// mustSource reads a text that is no workflow. Its positions are valid anyway.
func mustSource(t testing.TB, text string) *dsl.Source {
	t.Helper()
	w, diagnostics := dsl.Parse("test.yaml", []byte(text))
	if w.Source.Data("") == nil {
		t.Fatal(diagnostics)
	}
	return w.Source
}
