package dsl_test

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl"
)

// TestWrongShapesHaveARemedy puts each of some values into the place of every object and every list of a document with all properties, and a list
// into the place of an object. Each diagnostic about it contains a remedy.
func TestWrongShapesHaveARemedy(t *testing.T) {
	text, err := os.ReadFile("testdata/valid/everything.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var documents, reported int
	for _, piece := range smallDocuments(t, text) {
		eachCollection(piece, "", func(at string, n *yaml.Node) {
			original := *n
			for _, other := range otherShapes(t, original) {
				*n = *other
				documents++
				reported += mustHaveRemedies(t, at, piece)
			}
			*n = original
		})
	}
	if documents < 1000 || reported < 1000 {
		t.Errorf("only %d documents with %d diagnostics were tried", documents, reported)
	}
}

// smallDocuments returns a document for each member of a large one, and for each of its tasks.
func smallDocuments(t *testing.T, text []byte) (all []*yaml.Node) {
	t.Helper()
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	members := slices.Collect(slices.Chunk(root.Content[0].Content, 2))
	for _, member := range members {
		switch member[0].Value {
		case "document":
			all = append(all, &yaml.Node{Kind: yaml.MappingNode, Content: member})
			continue
		case "do":
		default:
			all = append(all, &yaml.Node{Kind: yaml.MappingNode, Content: slices.Concat(members[0], member)})
			continue
		}
		for _, task := range member[1].Content {
			do := &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{task}}
			all = append(all, &yaml.Node{Kind: yaml.MappingNode, Content: slices.Concat(members[0], []*yaml.Node{member[0], do})})
		}
	}
	return all
}

// mustHaveRemedies requires a remedy in each diagnostic about a document, and returns the number of diagnostics.
func mustHaveRemedies(t *testing.T, changed string, document *yaml.Node) int {
	t.Helper()
	text, err := yaml.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	_, found := dsl.Parse("shapes.yaml", text)
	for _, d := range found {
		if d.Help == "" && d.Label == "" && len(d.Fix) == 0 {
			t.Errorf("%s changed: no remedy: %v\n%s", changed, d, text)
		}
	}
	return len(found)
}

// otherShapes returns values in the place of a node: empty ones, scalars, lists without meaning, and an object's members as a list.
func otherShapes(t *testing.T, n yaml.Node) (all []*yaml.Node) {
	t.Helper()
	for _, text := range []string{"null", "''", "{}", "[]", "text", "7", "true", "[null]", "[[]]", "[{}]"} {
		var value yaml.Node
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		all = append(all, value.Content[0])
	}
	if n.Kind == yaml.MappingNode {
		members := &yaml.Node{Kind: yaml.SequenceNode}
		for pair := range slices.Chunk(n.Content, 2) {
			members.Content = append(members.Content, &yaml.Node{Kind: yaml.MappingNode, Content: pair})
		}
		all = append(all, members)
	}
	return all
}

// eachCollection calls f with each object and each list below a node.
func eachCollection(n *yaml.Node, at string, f func(at string, n *yaml.Node)) {
	for i, below := range n.Content {
		if below.Kind != yaml.ScalarNode {
			here := fmt.Sprintf("%s/%d", at, i)
			if n.Kind == yaml.MappingNode {
				here = at + "/" + n.Content[i-1].Value
			}
			f(here, below)
			eachCollection(below, here, f)
		}
	}
}
