package conformance

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// mutation is one change of a document.
type mutation struct {
	at   []string // where, as the tokens of a pointer; the key's own for changes of keys
	what string   // for example: becomes 7
	root *yaml.Node
}

// String names the mutation: /do/0/a/wait becomes 7.
func (m mutation) String() string { return m.pointer() + " " + m.what }

func (m mutation) pointer() string {
	var text strings.Builder
	for _, token := range m.at {
		text.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(token))
	}
	return text.String()
}

const innerNames = 3

// place is the same for mutations that change the same property in the same way: it has no positions in lists, and
// keeps the inner names only.
func (m mutation) place() string {
	var names []string
	for _, token := range m.at {
		if _, err := strconv.Atoi(token); err != nil {
			names = append(names, token)
		}
	}
	return fmt.Sprint(names[max(0, len(names)-innerNames):], m.what)
}

// text writes the mutated document.
func (m mutation) text(t *testing.T) []byte {
	t.Helper()
	text, err := yaml.Marshal(m.root)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// mutations lists the changes of a document, always in the same order.
func mutations(document *yaml.Node) []mutation {
	w := &mutator{root: document}
	w.visit(document.Content[0], nil)
	return w.found
}

type mutator struct {
	root  *yaml.Node
	found []mutation
}

// add records a change of the parent's content, which is undone afterwards.
func (w *mutator) add(at []string, what string, parent *yaml.Node, content ...*yaml.Node) {
	kept := parent.Content
	parent.Content = content
	w.found = append(w.found, mutation{append([]string(nil), at...), what, cloned(w.root)})
	parent.Content = kept
}

func cloned(n *yaml.Node) *yaml.Node {
	c := *n
	c.Content = make([]*yaml.Node, len(n.Content))
	for i, inner := range n.Content {
		c.Content[i] = cloned(inner)
	}
	return &c
}

// with returns the content in which the nodes from i to j are replaced.
func with(content []*yaml.Node, i, j int, nodes ...*yaml.Node) []*yaml.Node {
	changed := append([]*yaml.Node(nil), content[:i]...)
	return append(append(changed, nodes...), content[j:]...)
}

func (w *mutator) visit(n *yaml.Node, at []string) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			inner := append(at[:len(at):len(at)], n.Content[i].Value)
			w.changeKey(n, i, inner)
			w.changeValue(n, i+1, inner)
			w.visit(n.Content[i+1], inner)
		}
	case yaml.SequenceNode:
		for i := range n.Content {
			inner := append(at[:len(at):len(at)], strconv.Itoa(i))
			w.add(inner, "is dropped", n, with(n.Content, i, i+1)...)
			w.changeValue(n, i, inner)
			w.visit(n.Content[i], inner)
		}
	}
}

// doubled is what mutations do that only the parser can tell of: to a schema, an object has each key once.
const doubled = "stands twice"

func (w *mutator) changeKey(n *yaml.Node, i int, at []string) {
	key, value := n.Content[i], n.Content[i+1]
	w.add(at, "is dropped", n, with(n.Content, i, i+2)...)
	w.add(at, doubled, n, with(n.Content, i+2, i+2, key, value)...)
	for _, other := range append(formerly(key.Value), key.Value+"x", flipped(key.Value)) {
		w.add(at, "is spelt "+other, n, with(n.Content, i, i+1, quoted(other))...)
	}
	w.add(at, "is spelt 7", n, with(n.Content, i, i+1, mustParse("7"))...)
	w.add(at, "gets a sibling", n, with(n.Content, i, i, quoted("surplus"), quoted("x"))...)
}

// formerly are other names that a property has or had in published documents.
func formerly(key string) []string {
	switch key {
	case "endpoint":
		return []string{"uri", "url"}
	case "detail":
		return []string{"details"}
	}
	return nil
}

// flipped changes the case of the first letter.
func flipped(s string) string {
	if upper := strings.ToUpper(s[:1]); upper != s[:1] {
		return upper + s[1:]
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// values are what every value becomes, one after the other.
func values() []string {
	return []string{"null", "true", "false", "7", "-7", "2.5", "'text'", "''", "'a b'", "'${ .x }'", "2026-01-01", "on", "[]", "[a]", "{}", "{a: b}", "{a: {b: 1}}"}
}

func (w *mutator) changeValue(n *yaml.Node, i int, at []string) {
	old := n.Content[i]
	for _, value := range values() {
		w.add(at, "becomes "+value, n, with(n.Content, i, i+1, mustParse(value))...)
	}
	switch old.Kind {
	case yaml.ScalarNode:
		if old.Value != "" {
			w.add(at, "is written "+old.Value+"x", n, with(n.Content, i, i+1, quoted(old.Value+"x"))...)
			w.add(at, "is written "+flipped(old.Value), n, with(n.Content, i, i+1, quoted(flipped(old.Value)))...)
		}
	case yaml.MappingNode:
		w.add(at, "becomes a list of its members", n, with(n.Content, i, i+1, listed(old))...)
	case yaml.SequenceNode:
		w.add(at, "becomes an object of its items", n, with(n.Content, i, i+1, merged(old))...)
	}
}

func quoted(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: text}
}

// mustParse reads a value that is part of the test.
func mustParse(text string) *yaml.Node {
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(text), &n); err != nil {
		panic(err)
	}
	return n.Content[0]
}

// listed is {a: 1, b: 2} as [{a: 1}, {b: 2}].
func listed(object *yaml.Node) *yaml.Node {
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for i := 0; i+1 < len(object.Content); i += 2 {
		list.Content = append(list.Content, &yaml.Node{Kind: yaml.MappingNode, Content: object.Content[i : i+2]})
	}
	return list
}

// merged is [{a: 1}, {b: 2}] as {a: 1, b: 2}, and [x] as {item0: x}.
func merged(list *yaml.Node) *yaml.Node {
	object := &yaml.Node{Kind: yaml.MappingNode}
	for i, item := range list.Content {
		if item.Kind == yaml.MappingNode && len(item.Content) == 2 {
			object.Content = append(object.Content, item.Content...)
			continue
		}
		object.Content = append(object.Content, quoted("item"+strconv.Itoa(i)), item)
	}
	return object
}

// pieces cuts a document into small ones that hold one task, component or property each: the official schema takes long
// over large documents.
func pieces(document *yaml.Node) []*yaml.Node {
	var all []*yaml.Node
	whole := document.Content[0]
	head := whole.Content[:2] // the key `document` and its value
	piece := func(key, value *yaml.Node) {
		content := append(append([]*yaml.Node(nil), head...), key, value)
		if key.Value != "do" {
			content = append(content, quoted("do"), &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle})
		}
		all = append(all, &yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{{Kind: yaml.MappingNode, Content: content}}})
	}
	for i := 2; i+1 < len(whole.Content); i += 2 {
		key, value := whole.Content[i], whole.Content[i+1]
		switch key.Value {
		case "do":
			for _, task := range value.Content {
				piece(key, &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{task}})
			}
		case "use":
			for j := 0; j+1 < len(value.Content); j += 2 {
				piece(key, &yaml.Node{Kind: yaml.MappingNode, Content: value.Content[j : j+2]})
			}
		default:
			piece(key, value)
		}
	}
	return all
}
