package conformance

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/interpreter"
)

// data matches the places where text is data, which may be empty: any other text must not be empty.
var data = regexp.MustCompile(`/(set|as|headers|query|body|environment|ports|volumes|metadata|tags|parameters|variables|payload|data|input|options)(/|$)|` +
	`/with/(extra|a)$|/callGRPC/with/arguments/|/(stdin|username|password)$|/arguments/\d+$|/schema/document|/callFunction/with/`)

// expressionData matches the places among them where text is an expression anyway.
var expressionData = regexp.MustCompile(`/(set|parameters|as)$`)

// TestEmptyValuesInEveryPlace writes values that are empty, blank, of another type or too large in every place of the language. Each has a diagnostic
// or a meaning, and an empty text has one clear diagnostic, unless it is data.
func TestEmptyValuesInEveryPlace(t *testing.T) {
	t.Parallel()
	texts, places := 0, 0
	config := newOutside(nil).config
	for _, piece := range pacetest.Thinned(pieces(mustRead(t, "../dsl/testdata/valid/everything.yaml")), 20) { // the test has one goroutine
		var values [][]string
		seen := map[string]bool{}
		eachMutation(piece, func(m mutation) {
			if at := m.pointer(); m.what == "becomes ''" && !seen[at] {
				seen[at], values = true, append(values, m.at)
			}
		})
		for _, at := range values {
			places++
			if emptied(t, config, piece, at) {
				texts++
			}
		}
	}
	if places < pacetest.Fewer(300, 50) || texts < pacetest.Fewer(100, 50) {
		t.Errorf("only %d places, %d of them for text", places, texts)
	}
}

// emptied tries every empty value at one place, and reports whether the place takes text.
func emptied(t *testing.T, config interpreter.Config, piece *yaml.Node, at []string) bool {
	t.Helper()
	place := mutation{at: at}.pointer()
	document := cloned(piece)
	target := nodeAt(document.Content[0], at)
	was := *target
	isText := was.Kind == yaml.ScalarNode && (was.Tag == "!!str" || was.Tag == "!!timestamp")
	for _, value := range []string{"''", "' '", `"\t\n"`, "'${ }'", "'${}'", "null", "[]", "{}", "0", `"` + strings.Repeat("x", 1<<13) + `"`} {
		*target = *mustParse(value)
		text, err := yaml.Marshal(document)
		if err != nil {
			t.Fatal(err)
		}
		_, found := load("empty.yaml", string(text), config)
		blank := strings.HasPrefix(value, "'") || strings.HasPrefix(value, `"\t`)
		switch {
		case !isText || !blank || data.MatchString(place) && !expressionData.MatchString(place) && !strings.Contains(value, "$"):
		case len(found) != 1 || !slices.Contains([]string{"SW111", "SW116", "SW130"}, found[0].Code) || string(found[0].Pointer) != place:
			t.Errorf("%s as %s: want one diagnostic there, got %v", place, value, found)
		}
	}
	*target = was
	return isText
}

// nodeAt returns the node at a path.
func nodeAt(n *yaml.Node, path []string) *yaml.Node {
	for _, token := range path {
		if n.Kind == yaml.SequenceNode {
			var i int
			_, _ = fmt.Sscan(token, &i) // an index by construction
			n = n.Content[i]
			continue
		}
		i := 0
		for n.Content[i].Value != token { // compare keys only: a value may be equal to the key
			i += 2
		}
		n = n.Content[i+1]
	}
	return n
}

// yields returns unexpected values of an expression, by their names in messages.
func yields() map[string]string {
	return map[string]string{
		"empty": `""`, "blank": `" "`, "null": "null", "a list": "[]", "an object": "{}", "a number": "0", "a boolean": "true", "huge": `"x" * 1000000`,
	}
}

// TestExpressionsThatYieldNothing runs tasks whose properties are expressions that yield empty or unsuitable values. The input is itself a command:
// if it were ever run, its file would exist.
func TestExpressionsThatYieldNothing(t *testing.T) {
	t.Parallel()
	canary := filepath.Join(t.TempDir(), "canary")
	for name, c := range map[string]struct{ task, word string }{
		"command":            {"run: {shell: {command: '${ YIELD }'}}", "the command"},
		"code":               {"run: {script: {language: js, code: '${ YIELD }'}}", "the code"},
		"source":             {"run: {script: {language: js, source: {endpoint: '${ YIELD }'}}}", "the endpoint"},
		"method":             {"call: http, with: {method: '${ YIELD }', endpoint: 'http://example.com'}", "the method"},
		"endpoint":           {"call: http, with: {method: get, endpoint: '${ YIELD }'}", "the endpoint"},
		"token":              {"call: http, with: {method: get, endpoint: {uri: 'http://example.com', authentication: {bearer: {token: '${ YIELD }'}}}}", "token"},
		"wait":               {"wait: '${ YIELD }'", "`wait`"},
		"timeout":            {"set: {x: 1}, timeout: {after: '${ YIELD }'}", "`after`"},
		"delay":              {"try: [{x: {raise: {error: {type: 'https://example.com/e', status: 500}}}}], catch: {retry: {delay: '${ YIELD }', limit: {attempt: {count: 1}}}}", "`delay`"},
		"type":               {"emit: {event: {with: {type: '${ YIELD }'}}}", "type"},
		"source of an event": {"emit: {event: {with: {type: t, source: '${ YIELD }'}}}", "source"},
		"error":              {"raise: {error: '${ YIELD }'}", "raise.error"},
		"in":                 {"for: {in: '${ YIELD }'}, do: []", "for.in"},
		"if":                 {"set: {x: 1}, if: '${ YIELD }'", ""},
		"headers":            {"call: http, with: {method: get, endpoint: 'http://example.com', headers: '${ YIELD }'}", "the headers"},
		"query":              {"call: http, with: {method: get, endpoint: 'http://example.com', query: '${ YIELD }'}", "the query"},
	} {
		for _, kind := range pacetest.Thinned(slices.Sorted(maps.Keys(yields())), 8) { // the goroutines of local.Run have tests of their own
			yield := yields()[kind]
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				document := "document: {dsl: 1.0.3, namespace: test, name: empty, version: 0.1.0}\ndo: [{a: {" + strings.ReplaceAll(c.task, "YIELD", yield) + "}}]\n"
				got := testCase{files: map[string]string{"workflow.yaml": document, "input.json": `"touch ` + canary + `"`}}.mustRun(t)
				verifyRefused(t, got, name, kind, c.word)
			})
		}
	}
	t.Cleanup(func() {
		if _, err := os.Stat(canary); err == nil {
			t.Error("the input was executed")
		}
	})
}

// allowed reports whether an unexpected value is valid in its place.
func allowed(name, kind string) bool {
	switch name + "/" + kind {
	case "command/huge", "code/huge", "source/huge", "method/huge", "endpoint/huge", "token/huge", "type/huge", "source of an event/huge", // any text
		"in/a list", "if/a boolean", "if/null", "headers/null", "headers/an object", "query/null", "query/an object",
		"source of an event/null": // its default
		return true
	}
	return false
}

func verifyRefused(t *testing.T, got ending, name, kind, word string) {
	t.Helper()
	if allowed(name, kind) {
		return
	}
	if got.fault == nil {
		t.Fatalf("the run is %s with %v", got.status, got.output)
	}
	kinds := []string{"expression", "validation", "authentication"}
	if !slices.Contains(kinds, errors.Name(got.fault.Type)) || !strings.Contains(got.fault.Detail, word) {
		t.Errorf("want an error that names %s, got %v", word, got.fault)
	}
	if len(got.fault.Detail) > 1000 {
		t.Errorf("the message has %d bytes", len(got.fault.Detail))
	}
}
