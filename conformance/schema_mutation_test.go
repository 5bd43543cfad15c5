package conformance

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl"
)

// mutation is one change of a document.
type mutation struct {
	at     []string // the place, as the tokens of a pointer; for changes of keys, the place of the key
	what   string   // for example: becomes 7
	text   string   // the changed text, if the document's own text was changed
	beside string   // the keys of the changed object, if they matter
	root   *yaml.Node
}

// String names the mutation: /do/0/a/wait becomes 7.
func (m mutation) String() string {
	return strings.TrimSpace(m.pointer() + " " + m.what + " " + m.text)
}

func (m mutation) pointer() string {
	var text strings.Builder
	for _, token := range m.at {
		text.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(token))
	}
	return text.String()
}

const innerNames = 2

// place returns the same text for mutations that change the same property in the same way beside the same properties. It contains neither positions
// in lists nor the tokens right below them, which mostly are names of tasks, and only the inner names.
func (m mutation) place() string {
	var names []string
	below := false
	for _, token := range m.at {
		_, err := strconv.Atoi(token)
		if err != nil && !below {
			names = append(names, token)
		}
		below = err == nil
	}
	return fmt.Sprint(names[max(0, len(names)-innerNames):], below, m.beside, m.what)
}

// document writes the mutated document.
func (m mutation) document(t *testing.T) []byte {
	t.Helper()
	text, err := yaml.Marshal(m.root)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// eachMutation calls visit with each change of a document, always in the same order. The document is changed only during the call.
func eachMutation(document *yaml.Node, visit func(mutation)) {
	w := &mutator{root: document, found: visit}
	w.visit(document.Content[0], nil)
}

type mutator struct {
	root  *yaml.Node
	found func(mutation)
}

// add reports a change of the parent's content, which is undone afterwards.
func (w *mutator) add(m mutation, parent *yaml.Node, content ...*yaml.Node) {
	kept := parent.Content
	parent.Content = content
	m.root = w.root
	w.found(m)
	parent.Content = kept
}

// keys returns the keys of an object that has several keys: a single key mostly is the name of a task.
func keys(n *yaml.Node) string {
	var all []string
	for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode && len(n.Content) > 2; i += 2 {
		all = append(all, n.Content[i].Value)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
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
			w.add(mutation{at: inner, what: "is dropped"}, n, with(n.Content, i, i+1)...)
			w.changeValue(n, i, inner)
			w.visit(n.Content[i], inner)
		}
	}
}

// doubled describes mutations that only the parser can detect: to a schema, an object has each key once.
const doubled = "stands twice"

func (w *mutator) changeKey(n *yaml.Node, i int, at []string) {
	key, value := n.Content[i], n.Content[i+1]
	w.add(mutation{at: at, what: doubled}, n, with(n.Content, i+2, i+2, key, value)...)
	beside := keys(n)
	change := func(what, text string, pair ...*yaml.Node) {
		w.add(mutation{at: at, what: what, text: text, beside: beside}, n, with(n.Content, i, i+2, pair...)...)
	}
	change("is dropped", "")
	change("gets a sibling", "", quoted("surplus"), quoted("x"), key, value)
	for _, other := range append(formerly(key.Value), "7") {
		change("is spelt "+other, "", mustParse(other), value)
	}
	for way, other := range misspelt(key.Value) {
		change("is spelt "+way, other, quoted(other), value)
	}
}

// formerly returns other names of a property in published documents.
func formerly(key string) []string {
	switch key {
	case "endpoint":
		return []string{"uri", "url"}
	case "detail":
		return []string{"details"}
	}
	return nil
}

// misspelt yields a text by the ways to misspell it: too long, and in the other case.
func misspelt(s string) iter.Seq2[string, string] {
	return func(yield func(way, other string) bool) {
		other := strings.ToUpper(s[:1])
		if other == s[:1] {
			other = strings.ToLower(other)
		}
		_ = yield("longer:", s+"x") && yield("in the other case:", other+s[1:])
	}
}

// values returns the replacements of every value, one after the other.
func values() []string {
	return []string{"null", "true", "false", "7", "-7", "2.5", "'text'", "''", "'a b'", "'${ .x }'", "2026-01-01", "on", "[]", "[a]", "{}", "{a: b}", "{a: 1}", "{a: {b: 1}}"}
}

// edges returns further replacements of the values of a property.
func edges(property string) []string {
	switch property {
	case "after", "delay", "duration", "every", "for", "from", "timeout", "to", "wait":
		return []string{"P", "PT", "P1DT", "PT0S", "P1W", "P1Y2M", "P1.5D", "P1.5Y", "P1.5M", "PT1,5S", "pt1s", "-PT1S", "PT1S1M", "{seconds: 1.0}", "{seconds: 1.5}", "{seconds: '${ .x }'}"}
	case "authority", "dataschema", "endpoint", "source", "type", "uri":
		return []string{"'a/{id}'", "'{'", "'}'", "'%zz'", "'https://[x'", "'?a=b'", "'#'", "':'", "' ${ .x }'", "'a${ .x }'", "'${ .x } '", "'${'", "' a'", `"${ .x\n}"`}
	case "time":
		return []string{"'2026-01-01T00:00:00Z'", "2026-01-01T00:00:00+01:00", "'2026-01-01T00:00:00'", "'2026-13-01T00:00:00Z'", "'2026-01-01 00:00:00Z'"}
	case "instance":
		return []string{"/do/0/a~1b", "/do/0/a~2b"}
	case "count", "port", "status", "amount":
		return []string{"0", "1.0", "65535", "65536"}
	case "dsl", "version":
		return []string{"1.0", "'1.0'", "1.0.0-alpha5", "v1.0.0", "1.0.03", "2.0.0", "1.9.0", "latest"}
	case "name", "namespace":
		return []string{"a-b", "a_b", "-a", "a-", "a" + strings.Repeat("b", 62), "a" + strings.Repeat("b", 63)}
	case "call":
		return append(dsl.CallProtocols(), "f:1.0.0@main")
	case "cleanup":
		return []string{"always", "never", "eventually"}
	case "extend":
		return []string{"all", "composite", "do"}
	case "output", "read", "return":
		return []string{"raw", "envelope", "content", "none", "code"}
	case "mode", "language":
		return []string{"loose", "js"}
	case "host":
		return []string{"a.b", "a_b", "-a", "localhost"}
	}
	return nil
}

func (w *mutator) changeValue(n *yaml.Node, i int, at []string) {
	old := n.Content[i]
	change := func(m mutation, value *yaml.Node) {
		m.at = at
		w.add(m, n, with(n.Content, i, i+1, value)...)
	}
	for _, value := range values() {
		change(mutation{what: "becomes " + value}, mustParse(value))
	}
	for _, value := range edges(at[len(at)-1]) {
		change(mutation{what: "becomes " + value, beside: keys(n)}, mustParse(value))
	}
	switch {
	case old.Kind == yaml.ScalarNode && old.Value != "":
		for way, other := range misspelt(old.Value) {
			change(mutation{what: "is written " + way, text: other}, quoted(other))
		}
	case old.Kind == yaml.MappingNode:
		change(mutation{what: "becomes a list of its members"}, listed(old))
	case old.Kind == yaml.SequenceNode:
		change(mutation{what: "becomes an object of its items"}, merged(old))
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

// pieces cuts a document into small ones that contain one task, component or property each: the official schema takes long for large documents.
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
