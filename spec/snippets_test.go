package spec_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/spec"
)

// header is the part before the tasks of a document into which a snippet is inserted.
const header = "document: {dsl: 1.0.3, namespace: a, name: a, version: 0.1.0}\n"

// called is the function that the snippet of a call names.
const called = "use: {functions: {name: {set: {a: '${ .argument }'}}}}\n"

// places returns the text around a snippet for each place of the editor's schema; # is the snippet.
func places() map[string]string {
	return map[string]string{
		"/defaultSnippets":                                 "#",
		"/definitions/taskList/":                           header + "do: [#]",
		"/definitions/task/":                               header + "do: [{a: #}]",
		"/definitions/switch/properties/switch/":           header + "do: [{a: {switch: [{first: {when: .first, then: end}}, #]}}]",
		"/definitions/timeoutOrName/":                      header + "do: [{a: {wait: PT1S, timeout: #}}]",
		"/definitions/try/properties/catch/":               header + "do: [{a: {try: [{b: {call: http, with: {method: get, endpoint: https://example.com}, timeout: {after: PT10S}}}], catch: {retry: #}}}]",
		"/definitions/workflow/properties/use/properties/": header + "use: {extensions: [#]}\ndo: [{a: {call: http, with: {method: get, endpoint: https://example.com}, timeout: {after: PT10S}}}]",
	}
}

// placeOf returns the text for a snippet at a pointer into the schema.
func placeOf(t *testing.T, at string) string {
	for prefix, text := range places() {
		if strings.HasPrefix(at, prefix) {
			return text
		}
	}
	t.Fatalf("%s: say in places where these snippets are inserted", at)
	return ""
}

// TestEverySnippetIsValid inserts every snippet of the editor's schema into a document: with the default text of its gaps, swrun has no diagnostics about it.
func TestEverySnippetIsValid(t *testing.T) {
	var root any
	if err := json.Unmarshal(spec.EditorSchema(), &root); err != nil {
		t.Fatal(err)
	}
	inserted := map[string]int{}
	snippets(root, "", func(at string, label string, body any) {
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		inserted[label]++
		snippet := strings.ReplaceAll(string(text), `"{}"`, "{}")
		if label == "case" {
			snippet += ", {rest: {then: continue}}" // a switch needs a case for the rest, which is a snippet of its own
		}
		mustBeValid(t, at+" "+label, strings.ReplaceAll(placeOf(t, at), "#", snippet))
	})
	if len(inserted) < 25 {
		t.Errorf("only %d snippets were found: %v", len(inserted), inserted)
	}
}

// gaps matches the parts that an author replaces.
var gaps = regexp.MustCompile(`\$\{\d+:([^}]*)\}`)

// mustBeValid fills the gaps of a document, and checks it as swrun validate does.
func mustBeValid(t *testing.T, name, text string) {
	t.Helper()
	text = gaps.ReplaceAllString(text, "$1")
	if strings.Contains(text, "argument") {
		text = strings.Replace(text, header, header+called, 1)
	}
	document, err := swrun.Parse("", []byte(text))
	if err == nil {
		err = document.Check(swrun.CheckConfig{})
	}
	if err != nil {
		t.Errorf("%s: %v\n%s", name, err, text)
	}
	for _, d := range document.Diagnostics {
		t.Errorf("%s: %s: %s\n%s", name, d.Code, d.Message, text)
	}
}

// snippets calls visit for every snippet in a schema, with the pointer of its schema.
func snippets(v any, at string, visit func(at, label string, body any)) {
	switch v := v.(type) {
	case map[string]any:
		for key, member := range v {
			if key != "defaultSnippets" {
				snippets(member, at+"/"+key, visit)
				continue
			}
			for _, one := range member.([]any) {
				of := one.(map[string]any)
				visit(at+"/"+key, of["label"].(string), of["body"])
			}
		}
	case []any:
		for _, member := range v {
			snippets(member, at, visit)
		}
	}
}
