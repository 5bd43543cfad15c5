package source_test

import (
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
)

// TestWithinScalars marks, for scalars of every style, the source text of a part of the decoded value.
func TestWithinScalars(t *testing.T) {
	for _, c := range scalarCases() {
		t.Run(c.name, func(t *testing.T) {
			tree, node := mustRead(t, c.text)
			value := node.Value
			from := strings.Index(value, c.part)
			if from < 0 {
				t.Fatalf("the decoded value %q does not hold %q", value, c.part)
			}
			r := tree.RangeWithin(node, from, from+len(c.part))
			if got := c.text[r.Start.Offset:r.End.Offset]; got != c.want {
				t.Errorf("%q of %q comes from %q, want %q", c.part, value, got, c.want)
			}
			before := c.text[:r.Start.Offset]
			line := 1 + strings.Count(before, "\n")
			column := 1 + len([]rune(before[strings.LastIndex(before, "\n")+1:]))
			if r.Start.Line != line || r.Start.Column != column {
				t.Errorf("line %d column %d, want %d and %d", r.Start.Line, r.Start.Column, line, column)
			}
		})
	}
}

type scalarCase struct{ name, text, part, want string }

func scalarCases() []scalarCase {
	return []scalarCase{
		{"plain", "v: a b c # note\n", "b", "b"},
		{"plain, last", "v: a b c", "c", "c"},
		{"plain after multi-byte characters", "é: 1\nv: ä€😀 x y\n", "x", "x"},
		{"plain with multi-byte part", "v: ä€😀 x\n", "😀", "😀"},
		{"plain over lines", "v: one\n  two\n  three\nw: 1\n", "three", "three"},
		{"plain over lines, folded space", "v: one\n  two\n", "e t", "e\n  t"},
		{"plain over an empty line", "v: one\n\n  two\n", "two", "two"},
		{"plain over two empty lines", "v: one\n\n\n  two\n", "two", "two"},
		{"plain with spaces before the break", "v: one   \n  two x\n", "two", "two"},
		{"plain beginning on the next line", "v:\n  one\n  two\n", "two", "two"},
		{"single quotes", "v: 'a b'\n", "b", "b"},
		{"single quotes with a doubled quote", "v: 'it''s b'\n", "s b", "s b"},
		{"single quotes, the doubled quote itself", "v: 'it''s b'\n", "'", "''"},
		{"single quotes over lines", "v: 'one\n  two\n\n  three'\n", "three", "three"},
		{"single quotes over two empty lines", "v: 'one\n\n\n  three four'\n", "three", "three"},
		{"single quotes with a backslash", `v: 'a\nb c'`, "b c", "b c"},
		{"double quotes", "v: \"a b\"\n", "b", "b"},
		{"double quotes with \\n", `v: "a\nb"`, "b", "b"},
		{"double quotes, the escape itself", `v: "a\nb"`, "\n", `\n`},
		{"double quotes with \\x", `v: "\x41b"`, "b", "b"},
		{"double quotes with \\u", `v: "\u00e9b"`, "b", "b"},
		{"double quotes, \\u itself", `v: "\u00e9b"`, "é", `\u00e9`},
		{"double quotes with \\U", `v: "\U0001F600b"`, "b", "b"},
		{"double quotes with \\\"", `v: "say \"b\" c"`, "c", "c"},
		{"double quotes with \\\\", `v: "a\\b"`, "b", "b"},
		{"double quotes with \\N and \\_", `v: "\N\_\L\P b"`, "b", "b"},
		{"double quotes with an escaped space", `v: "a\ b"`, "b", "b"},
		{"double quotes over lines", "v: \"one\n  two\"\n", "two", "two"},
		{"double quotes with an escaped break", "v: \"one\\\n  two\"\n", "two", "two"},
		{"double quotes with space before the escaped break", "v: \"one \\\n  two\"\n", "two", "two"},
		{"double quotes with an escaped break and an empty line", "v: \"one\\\n\n  two\"\n", "two", "two"},
		{"double quotes with a tab before the break", "v: \"one\t\n  two\"\n", "two", "two"},
		{"literal", "v: |\n  one\n  two\n", "two", "two"},
		{"literal, over a break", "v: |\n  one\n  two\n", "e\nt", "e\n  t"},
		{"literal with more indented lines", "v: |\n  one\n    two\n  three\n", "  two\nthree", "  two\n  three"},
		{"literal, stripped", "v: |-\n  one\n  two\n\n", "two", "two"},
		{"literal, kept", "v: |+\n  one\n\n\nw: 1\n", "\n\n\n", "\n\n\n"},
		{"literal with an indicator", "v: |2\n    one\n  two\n", "  one", "  one"},
		{"literal with an indicator and leading break", "v: |2\n\n    one\n  two\n", "two", "two"},
		{"literal with a comment", "v: | # note 3\n  one\n  two\n", "two", "two"},
		{"literal with empty lines first", "v: |\n\n\n  one\n  two\n", "two", "two"},
		{"literal with short empty lines", "v: |\n  one\n \n  two\n", "two", "two"},
		{"literal with spaces on an empty line", "v: |\n  one\n     \n  two\n", "two", "two"},
		{"literal with trailing spaces", "v: |\n  one  \n  two\n", "one  \ntwo", "one  \n  two"},
		{"literal in a deeper mapping", "v: |\n      one\n      two\n", "two", "two"},
		{"literal with multi-byte characters", "v: |\n  ä€\n  😀 two\n", "two", "two"},
		{"folded", "v: >\n  one\n  two\n", "two", "two"},
		{"folded, over a break", "v: >\n  one\n  two\n", "e t", "e\n  t"},
		{"folded with an empty line", "v: >\n  one\n\n  two\n", "two", "two"},
		{"folded with two empty lines", "v: >\n  one\n\n\n  two\n", "two", "two"},
		{"folded with a more indented line", "v: >\n  one\n    two\n  three\n", "three", "three"},
		{"folded with a more indented line after an empty one", "v: >\n  one\n\n    two\n\n  three\n", "three", "three"},
		{"folded, stripped", "v: >-\n  one\n  two\n", "two", "two"},
		{"folded, first line more indented", "v: >2\n    one\n  two\n", "two", "two"},
		{"windows breaks, literal", "v: |\r\n  one\r\n  two\r\n", "two", "two"},
		{"windows breaks, plain", "v: one\r\n  two\r\n", "two", "two"},
		{"windows breaks, double quotes", "v: \"one\\\r\n  two\r\n\r\n  three\"\r\n", "three", "three"},
		{"windows breaks, folded", "v: >\r\n  one\r\n\r\n  two\r\n", "two", "two"},
		{"tagged", "v: !!str one two\n", "two", "two"},
		{"in a flow mapping", "{a: 1, v: one two}\n", "two", "two"},
		{"in a flow mapping over lines", "{a: 1, v: one\n  two}\n", "two", "two"},
	}
}

// mustRead reads a text, and also returns the node of its member v.
func mustRead(t testing.TB, text string) (*source.Tree, *yaml.Node) {
	t.Helper()
	tree, problems := source.Read("test.yaml", []byte(text))
	_, node := source.Child(tree.Root, "v")
	if len(problems) > 0 || node == nil {
		t.Fatal(problems)
	}
	return tree, node
}

// TestWithinIsOneToOne compares every character of every case: a character that represents itself is found as itself.
func TestWithinIsOneToOne(t *testing.T) {
	for _, c := range scalarCases() {
		tree, node := mustRead(t, c.text)
		for i, r := range node.Value {
			if strings.ContainsRune(" \n'\"\\", r) || strings.Contains(c.text, `\`) {
				continue
			}
			found := tree.RangeWithin(node, i, i+len(string(r)))
			if got := c.text[found.Start.Offset:found.End.Offset]; got != string(r) {
				t.Errorf("%s: character %q at %d is found as %q", c.name, r, i, got)
			}
		}
	}
}
