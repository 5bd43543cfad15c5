package source_test

import (
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
)

// FuzzRead reads any text: every problem and every node has a place in it.
func FuzzRead(f *testing.F) {
	for _, c := range scalarCases() {
		f.Add([]byte(c.text))
	}
	f.Add([]byte("a: &a {b: [1, 'x']}\nc: {<<: *a, d: *a}\n"))
	f.Add([]byte(`{"a": ["\ud83d\ude00", 1.50, null]}`))
	f.Add([]byte("a: \"\\uD83D\\uDE00\"\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		tree, problems := source.Read("fuzz.yaml", text)
		for _, p := range problems {
			checkRange(t, p.Range, len(text))
		}
		if tree.Root != nil {
			checkNode(t, tree, tree.Root)
		} else if len(problems) == 0 {
			t.Error("no tree, and no reason")
		}
	})
}

func checkNode(t *testing.T, tree *source.Tree, n *yaml.Node) {
	checkRange(t, tree.RangeOf(n), len(tree.Text))
	if n.Kind == yaml.ScalarNode {
		checkRange(t, tree.RangeWithin(n, len(n.Value)/2, len(n.Value)+5), len(tree.Text))
	}
	for _, c := range n.Content {
		checkNode(t, tree, c)
	}
}

func checkRange(t *testing.T, r source.Range, size int) {
	t.Helper()
	if r.Start.Line < 1 || r.Start.Column < 1 || r.Start.Offset < 0 || r.End.Offset < r.Start.Offset || r.End.Offset > size {
		t.Errorf("not a range of %d bytes: %+v", size, r)
	}
}
