package conformance

import (
	"fmt"
	"strings"
	"testing"
)

const hostileHead = "document: {dsl: 1.0.3, namespace: test, name: hostile, version: 0.1.0}\n"

// TestHostileWorkflowsAreRefused loads documents that are made to exhaust their reader (reliability B3, B4, B13, B30): each has a diagnostic that
// names the limit.
func TestHostileWorkflowsAreRefused(t *testing.T) {
	t.Parallel()
	branches := strings.Builder{}
	for i := range 10_000 {
		fmt.Fprintf(&branches, "{b%d: {wait: PT1S}},", i)
	}
	config := newOutside(nil).config
	for _, c := range []struct{ name, text, code, message string }{
		{"an old crash of a YAML library", "0: [:!00 \xef", "SW105", "UTF-8"},
		{"another one", "0::", "SW116", "not a workflow of the Serverless"},
		{"a merge key without a value", "{{},<<}", "SW108", ""},
		{"10,000 branches", hostileHead + "do: [{a: {fork: {branches: [" + branches.String() + "]}}}]\n", "SW104", ""},
		{"an expression of 500 KB", hostileHead + "do: [{a: {set: {x: '${ " + strings.Repeat("1+", 250_000) + "1 }'}}}]\n", "SW104", "bytes"},
		{"an expression of 100 KB", hostileHead + "do: [{a: {set: {x: '${ " + strings.Repeat("1+", 50_000) + "1 }'}}}]\n", "SW501", "64 KiB"},
		{"10,000 parentheses", hostileHead + "do: [{a: {set: {x: '${ " + strings.Repeat("(", 10_000) + "1" + strings.Repeat(")", 10_000) + " }'}}}]\n", "SW501", "nested deeper"},
		{"an expression of 30,000 words", hostileHead + "do: [{a: {set: {x: '${ " + strings.Repeat("1+", 15_000) + "1 }'}}}]\n", "SW501", "words"},
	} {
		_, found := load("hostile.yaml", c.text, config)
		if len(found) == 0 || found[0].Code != c.code || !strings.Contains(found[0].Message, c.message) {
			t.Errorf("%s: want %s %q, got %v", c.name, c.code, c.message, found)
		}
	}
}
