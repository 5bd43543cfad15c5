package source

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// expander replaces aliases by their values, and merge keys by the properties that they merge. The value of an alias is shared and not copied, so
// that a diagnostic about it points at the text of the anchor.
type expander struct {
	*reader
	aliases map[*yaml.Node][]*yaml.Node // as in Tree
	anchors map[string]*yaml.Node
	open    map[*yaml.Node]bool // nodes that are being expanded
	done    map[*yaml.Node]bool
	merged  int // number of properties that merge keys have visited
}

// expand expands the tree below root. It reports an alias inside its own value, and returns nil.
func (r *reader) expand(root *yaml.Node) *yaml.Node {
	e := &expander{
		reader: r, aliases: map[*yaml.Node][]*yaml.Node{}, anchors: map[string]*yaml.Node{}, open: map[*yaml.Node]bool{}, done: map[*yaml.Node]bool{},
	}
	e.noteAnchors(root)
	if len(e.anchors) == 0 && !hasMerge(root) {
		return root
	}
	r.aliases, r.anchors = e.aliases, e.anchors
	return e.node(root)
}

// noteAnchors records every anchor. It reports two anchors with one name: their order would determine the meaning of an alias.
func (e *expander) noteAnchors(n *yaml.Node) {
	if n.Anchor != "" {
		if first := e.anchors[n.Anchor]; first != nil {
			e.report(Problem{Code: "SW103", Message: fmt.Sprintf("the anchor `&%s` stands here twice", n.Anchor), Range: e.firstLine(n),
				Related: []Related{{e.firstLine(first), "the first one"}}, Help: "give each anchor a name of its own"})
		} else {
			e.anchors[n.Anchor] = n
		}
	}
	for _, c := range n.Content {
		e.noteAnchors(c)
	}
}

func isMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.Value == "<<" && key.Style == 0
}

func hasMerge(n *yaml.Node) bool {
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && isMerge(c) || hasMerge(c) {
			return true
		}
	}
	return false
}

// node returns n, or its value if it is an alias, with everything below expanded. It returns nil if it has reported a problem.
func (e *expander) node(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		if e.open[n.Alias] {
			e.refuse(n, fmt.Sprintf("the alias `*%s` stands inside its own value, which has no end", n.Value))
			return nil
		}
		return e.node(n.Alias)
	}
	if e.done[n] {
		return n
	}
	e.open[n] = true
	for i, c := range n.Content {
		expanded := e.node(c)
		if expanded == nil {
			return nil
		}
		if c.Kind == yaml.AliasNode {
			e.note(n, i, c)
		}
		n.Content[i] = expanded
	}
	if n.Kind == yaml.MappingNode && hasMergeKey(n) && !e.merge(n) {
		return nil
	}
	delete(e.open, n)
	e.done[n] = true
	return n
}

func hasMergeKey(n *yaml.Node) bool {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if isMerge(n.Content[i]) {
			return true
		}
	}
	return false
}

// note records that the i-th node of a collection is an alias in the text.
func (e *expander) note(n *yaml.Node, i int, alias *yaml.Node) {
	if e.aliases[n] == nil {
		e.aliases[n] = make([]*yaml.Node, len(n.Content))
	}
	e.aliases[n][i] = alias
}

// merge replaces the merge key of a mapping by the properties that it merges. The mapping's own properties take precedence over merged ones, and
// earlier merged mappings over later ones.
func (e *expander) merge(n *yaml.Node) bool {
	taken := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if !isMerge(n.Content[i]) {
			taken[n.Content[i].Value] = true
		}
	}
	m := &merger{expander: e, taken: taken, aliases: e.aliases[n]}
	seen := false
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch {
		case !isMerge(key):
			m.put(key, value, m.alias(i), m.alias(i+1))
		case seen:
			e.report(Problem{Code: "SW103", Message: "the key `<<` stands here twice", Range: e.RangeOf(key),
				Help: "merge several objects as a list: `<<: [*a, *b]`"})
			return false
		case !m.all(value, m.alias(i+1)):
			return false
		default:
			seen = true
		}
	}
	n.Content = m.content
	e.aliases[n] = m.by
	return true
}

// merger builds the content of a mapping with merge keys.
type merger struct {
	*expander
	taken   map[string]bool
	aliases []*yaml.Node // of the original mapping
	content []*yaml.Node
	by      []*yaml.Node // for each node of content its alias, or nil
}

func (m *merger) alias(i int) *yaml.Node {
	if m.aliases == nil {
		return nil
	}
	return m.aliases[i]
}

func (m *merger) put(key, value, keyAlias, valueAlias *yaml.Node) {
	m.content = append(m.content, key, value)
	m.by = append(m.by, keyAlias, valueAlias)
}

// all merges a mapping, or each mapping of a list.
func (m *merger) all(value, alias *yaml.Node) bool {
	switch value.Kind {
	case yaml.MappingNode:
		return m.one(value, alias)
	case yaml.SequenceNode:
		for i, item := range value.Content {
			by := alias
			if inner := m.expander.aliases[value]; inner != nil && inner[i] != nil {
				by = inner[i]
			}
			if item.Kind != yaml.MappingNode {
				return m.noObject(item)
			}
			if !m.one(item, by) {
				return false
			}
		}
		return true
	}
	return m.noObject(value)
}

func (m *merger) noObject(n *yaml.Node) bool {
	m.report(Problem{Code: "SW108", Message: "`<<` merges an object or a list of objects, got " + Describe(n), Range: m.RangeOf(n),
		Help: "put `<<` in quotes if a key is meant"})
	return false
}

func (m *merger) one(from, alias *yaml.Node) bool {
	for i := 0; i+1 < len(from.Content); i += 2 {
		if m.merged++; m.merged > MaxNodes {
			m.refuse(from, fmt.Sprintf("the merge keys merge more than %d properties", MaxNodes))
			return false
		}
		key := from.Content[i]
		if m.taken[key.Value] {
			continue
		}
		m.taken[key.Value] = true
		m.put(key, from.Content[i+1], alias, alias)
	}
	return true
}

func (e *expander) refuse(n *yaml.Node, message string) {
	e.report(Problem{Code: "SW104", Message: message, Range: e.firstLine(n), Help: "write the values out, or name them under `use`"})
}

// AliasOn returns the first alias on the path to a node, with a label that names it. The path consists of keys and indices.
func (t *Tree) AliasOn(path []string) (alias Related, ok bool) {
	if t.anchors == nil {
		return Related{}, false
	}
	n := t.Root
	for _, token := range path {
		_, value := Child(n, token)
		if value == nil {
			break
		}
		for i, alias := range t.aliases[n] {
			if alias != nil && n.Content[i] == value {
				return Related{t.firstLine(alias), fmt.Sprintf("used here as `*%s`", alias.Value)}, true
			}
		}
		n = value
	}
	return Related{}, false
}

// HasAnchors reports whether the text has anchors, so that a node may be at several places of the tree.
func (t *Tree) HasAnchors() bool { return t.anchors != nil }

// ChangesOneNode reports whether edits surely change one place of the tree only. Edits of several lines may not, nor edits of a line
// with an alias, an anchor or a part of its value.
func (t *Tree) ChangesOneNode(edits []Edit) bool {
	return t.anchors == nil || !slices.ContainsFunc(edits, func(e Edit) bool {
		return e.Range.Start.Line != e.Range.End.Line || t.isShared(e.Range.Start.Line)
	})
}

// isShared reports whether a line has an alias, an anchor or a part of its value.
func (t *Tree) isShared(line int) bool {
	for _, n := range t.anchors {
		if line >= n.Line && line <= t.LastLine(n) {
			return true
		}
	}
	return strings.Contains(string(t.Line(line)), "*")
}
