package dsl_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/interpreter"
)

// silentWhenEmpty are the properties whose empty object or list is not reported, each with the reason.
func silentWhenEmpty() map[string]string {
	const (
		data  = "it is data, which may be empty"
		none  = "it names values, of which there may be none"
		place = "it is a place for definitions"
		takes = "it says something without a property"
	)
	return map[string]string{
		`/document/(tags|metadata)$|/do/0/base/metadata$`: none,
		`/schema/document$`: "a schema without keywords takes everything",
		`/(from|as)$`:       "the data becomes an empty object",
		`^/use(/(authentications|catalogs|errors|extensions|functions|retries|secrets|timeouts))?$`: place,
		`/oauth2/(request/parameters|scopes|audiences)$`:                                            none,
		`/retries/r$|/catch/retry$`:                                                                 takes + ": the defaults",
		`/catch/do$`:                                                                                takes + " beside a policy: the error of the last attempt is caught",
		`/backoff/(constant|exponential|linear)$`:                                                   takes + ": its name",
		`/any$`:          takes + ": every event",
		`/with/message$`: takes + ": an empty message",
		`/(data|payload|body(/2)?)$|/(with|workflow)/input$|/callA2A/with/parameters/`:   data,
		`/(headers|arguments|environment|ports|volumes|variables|nonRetryable|options)$`: none,
		`/callOpenAPI/with/parameters$|/callFunction/with$`:                              none,
	}
}

// TestEmptyValuesAreReported empties each object and each list of the document that has all properties, one after the other. It must be reported as
// an error or as idle, unless the table has a reason for silence.
func TestEmptyValuesAreReported(t *testing.T) {
	text, err := os.ReadFile("testdata/valid/everything.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	used, reported := map[string]bool{}, 0
	eachContainer(document.Content[0], "", func(n *yaml.Node, at dsl.Pointer) {
		reason := ""
		for pattern, why := range silentWhenEmpty() {
			if regexp.MustCompile(pattern).MatchString(string(at)) {
				reason, used[pattern] = why, true
			}
		}
		found := emptied(t, &document, n, at)
		if len(found) == 0 == (reason == "") {
			t.Errorf("%s: found %v, and the reason to say nothing is %q", at, found, reason)
		}
		idle := slices.ContainsFunc(found, func(d dsl.Diagnostic) bool { return d.Code == "SW134" })
		if idle && len(found) > 1 {
			t.Errorf("%s: an empty value is reported once, got %v", at, found)
		}
		if idle {
			reported++
		}
	})
	if reported < 35 || len(used) < len(silentWhenEmpty()) {
		t.Errorf("only %d values are reported, and %d of %d reasons are used", reported, len(used), len(silentWhenEmpty()))
	}
}

// emptied returns the diagnostics at a value, and inside it, of a document in which the value is empty.
func emptied(t *testing.T, document, n *yaml.Node, at dsl.Pointer) dsl.Diagnostics {
	t.Helper()
	before := *n
	n.Content, n.Style = nil, yaml.FlowStyle
	changed, err := yaml.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	*n = before
	w, found := dsl.Parse("x.yaml", changed)
	return slices.DeleteFunc(append(found, interpreter.Check(w)...), func(d dsl.Diagnostic) bool {
		inside := d.Pointer == at || strings.HasPrefix(string(d.Pointer), string(at)+"/")
		around := d.Severity == dsl.SeverityError && strings.HasPrefix(string(at), string(d.Pointer)+"/")
		return !inside && !around
	})
}

// eachContainer calls visit for each object and list below n.
func eachContainer(n *yaml.Node, at dsl.Pointer, visit func(n *yaml.Node, at dsl.Pointer)) {
	for i, inner := range n.Content {
		here := at.Index(i)
		if n.Kind == yaml.MappingNode {
			here = at.Key(n.Content[i/2*2].Value)
		}
		if inner.Kind != yaml.ScalarNode {
			visit(inner, here)
			eachContainer(inner, here, visit)
		}
	}
}

// TestTextThatEndsEarlyIsNotEmpty: in a text that cannot be read to its end, nothing is reported as empty.
func TestTextThatEndsEarlyIsNotEmpty(t *testing.T) {
	const head = "document: { dsl: 1.0.3, namespace: test, name: a, version: 1.0.0 }\n"
	for _, text := range []string{head + "do: []\n---\ndo: []\n", head + "do: []\nuse: { secrets: [a\n"} {
		_, found := dsl.Parse("a.yaml", []byte(text))
		if len(found) != 1 || found[0].Severity != dsl.SeverityError {
			t.Errorf("%q: %v", text, found)
		}
	}
}
