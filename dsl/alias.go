package dsl

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
)

// expander replaces aliases by what they stand for, and merge keys by the properties that they merge. What an alias
// stands for is shared and not copied, so that what is said of it points at the text of the anchor.
type expander struct {
	p       *parser
	via     map[*yaml.Node][]*yaml.Node // of a collection: for each of its nodes the alias that stands there in the text
	open    map[*yaml.Node]bool         // what is being expanded just now
	done    map[*yaml.Node]bool
	anchors map[string]*yaml.Node
	merged  int // properties that merge keys have gone through
}

// expand expands the tree below root. It reports and returns nil if that has no end.
func (p *parser) expand(root *yaml.Node) *yaml.Node {
	e := &expander{p: p, via: map[*yaml.Node][]*yaml.Node{}, open: map[*yaml.Node]bool{}, done: map[*yaml.Node]bool{}, anchors: map[string]*yaml.Node{}}
	e.anchored(root)
	if len(e.anchors) == 0 && !hasMerge(root) {
		return root
	}
	p.src.via, p.src.anchors = e.via, e.anchors
	return e.node(root)
}

// anchored notes every anchor, and reports one that stands twice: which of them is meant would depend on the place.
func (e *expander) anchored(n *yaml.Node) {
	if n.Anchor != "" {
		if first := e.anchors[n.Anchor]; first != nil {
			e.p.add(Diagnostic{Code: "SW103", Message: fmt.Sprintf("the anchor `&%s` stands here twice", n.Anchor), Range: e.p.src.firstLine(n),
				Related: []Related{{e.p.src.firstLine(first), "the first one"}}, Help: "give each anchor a name of its own"})
		} else {
			e.anchors[n.Anchor] = n
		}
	}
	for _, c := range n.Content {
		e.anchored(c)
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

// node returns what stands for n, or nil if it was refused.
func (e *expander) node(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		if e.open[n.Alias] {
			e.refuse(n, fmt.Sprintf("the alias `*%s` stands inside of what it stands for, which has no end", n.Value))
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

// note keeps the alias that the i-th node of a collection is in the text.
func (e *expander) note(n *yaml.Node, i int, alias *yaml.Node) {
	if e.via[n] == nil {
		e.via[n] = make([]*yaml.Node, len(n.Content))
	}
	e.via[n][i] = alias
}

// merge replaces the merge keys of a mapping by what they merge: the mapping's own properties come before those that are
// merged, and of several mappings the first that has a property gives it.
func (e *expander) merge(n *yaml.Node) bool {
	taken := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if !isMerge(n.Content[i]) {
			taken[n.Content[i].Value] = true
		}
	}
	m := &merger{expander: e, taken: taken, via: e.via[n]}
	seen := false
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch {
		case !isMerge(key):
			m.put(key, value, m.alias(i), m.alias(i+1))
		case seen:
			e.p.add(Diagnostic{Code: "SW103", Message: "the key `<<` stands here twice", Range: e.p.src.span(key),
				Help: "merge several objects as a list: `<<: [*a, *b]`"})
			return false
		case !m.all(value, m.alias(i+1)):
			return false
		default:
			seen = true
		}
	}
	n.Content = m.content
	e.via[n] = m.by
	return true
}

// merger builds the content of a mapping with merge keys.
type merger struct {
	*expander
	taken   map[string]bool
	via     []*yaml.Node // of the mapping as it was
	content []*yaml.Node
	by      []*yaml.Node // for each of content the alias it comes by
}

func (m *merger) alias(i int) *yaml.Node {
	if m.via == nil {
		return nil
	}
	return m.via[i]
}

func (m *merger) put(key, value, keyAlias, valueAlias *yaml.Node) {
	m.content = append(m.content, key, value)
	m.by = append(m.by, keyAlias, valueAlias)
}

// all merges a mapping, or each of a list.
func (m *merger) all(value, alias *yaml.Node) bool {
	switch value.Kind {
	case yaml.MappingNode:
		return m.one(value, alias)
	case yaml.SequenceNode:
		for i, item := range value.Content {
			by := alias
			if inner := m.expander.via[value]; inner != nil && inner[i] != nil {
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
	m.p.add(Diagnostic{Code: "SW108", Message: "`<<` merges an object or a list of objects, got " + describe(n), Range: m.p.src.span(n),
		Help: "put `<<` in quotes if a key is meant"})
	return false
}

func (m *merger) one(from, alias *yaml.Node) bool {
	for i := 0; i+1 < len(from.Content); i += 2 {
		if m.merged++; m.merged > maxNodes {
			m.refuse(from, fmt.Sprintf("the merge keys merge more than %d properties", maxNodes))
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
	e.p.add(Diagnostic{Code: "SW104", Message: message, Range: e.p.src.firstLine(n), Help: "write the values out, or name them under `use`"})
}

// withAlias adds to a diagnostic the alias by which its text is used, if there is one. A repair is left out if it could change
// other places: text that belongs to an anchor, or several lines.
func (s *Source) withAlias(d Diagnostic) Diagnostic {
	if s.anchors == nil {
		return d
	}
	if alias := s.aliasOn(d.Pointer); alias != nil {
		d.Related = append(d.Related, Related{s.firstLine(alias), fmt.Sprintf("used here as `*%s`", alias.Value)})
		d.Fix = nil
		return d
	}
	for _, edit := range d.Fix {
		if edit.Range.Start.Line != edit.Range.End.Line || s.isShared(edit.Range.Start.Line) {
			d.Fix = nil
			break
		}
	}
	return d
}

// aliasOn returns the first alias on the way to a pointer, or nil.
func (s *Source) aliasOn(p Pointer) *yaml.Node {
	n := s.root
	for _, token := range p.Tokens() {
		_, value := child(n, token)
		if value == nil {
			return nil
		}
		for i, alias := range s.via[n] {
			if alias != nil && n.Content[i] == value {
				return alias
			}
		}
		n = value
	}
	return nil
}

// isShared reports whether a line holds an anchor, part of what it names, or an alias.
func (s *Source) isShared(line int) bool {
	for _, n := range s.anchors {
		if line >= n.Line && line <= s.lastLine(n) {
			return true
		}
	}
	return strings.Contains(string(s.Line(line)), "*")
}

// firstLine returns where a node begins, up to the end of its line.
func (s *Source) firstLine(n *yaml.Node) Range {
	start := s.start(n)
	return Range{s.position(start), s.position(s.endOfLine(start, len(s.Text)))}
}
