package dsl_test

import (
	"os"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/interpreter"
)

// TestEmptyExpressionsAreReportedOnce puts an empty expression in the place of each text, one after the other. Each is reported once.
func TestEmptyExpressionsAreReportedOnce(t *testing.T) {
	text, err := os.ReadFile("testdata/valid/everything.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	replaced := 0
	for _, n := range texts(&document) {
		before := *n
		n.Value, n.Style, n.Tag = "${ }", yaml.SingleQuotedStyle, ""
		changed, err := yaml.Marshal(&document)
		if err != nil {
			t.Fatal(err)
		}
		*n = before
		replaced++
		w, found := dsl.Parse("x.yaml", changed)
		found = append(found, interpreter.Check(w)...)
		at := map[dsl.Pointer]string{}
		for _, d := range found.Errors() {
			if other, twice := at[d.Pointer]; twice {
				t.Errorf("%s: %s, and %s: %s", d.Pointer, other, d.Code, d.Message)
			}
			at[d.Pointer] = d.Code
		}
	}
	if replaced < 250 {
		t.Errorf("only %d texts", replaced)
	}
}

// texts returns the values below a node that are neither objects nor lists.
func texts(n *yaml.Node) (all []*yaml.Node) {
	if n.Kind == yaml.ScalarNode {
		return []*yaml.Node{n}
	}
	for i, inner := range n.Content {
		if n.Kind != yaml.MappingNode || i%2 == 1 {
			all = append(all, texts(inner)...)
		}
	}
	return all
}
