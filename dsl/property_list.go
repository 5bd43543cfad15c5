package dsl

import (
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/internal/delimited"
)

// list decodes a list into its nodes.
func (o *object) list(name string) []*yaml.Node {
	n := o.value(name)
	if n == nil {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		o.p.noList(n, o.at.Key(name), name)
		return nil
	}
	return n.Content
}

// noList reports a value of another type in the place of a list.
func (p *parser) noList(n *yaml.Node, at Pointer, name string) {
	d := Diagnostic{Code: "SW108", Message: fmt.Sprintf("`%s` must be a list, got %s", name, source.Describe(n)), Pointer: at, Range: p.src.RangeOf(n)}
	switch {
	case n.Kind == yaml.MappingNode && name == "secrets":
		d.Help = "write the names alone, `secrets: [name]`: the values are given to the engine (--secrets)"
	case n.Kind == yaml.MappingNode:
		d.Help = "begin each item with `- `"
	case source.IsText(n) && !delimited.Is(n.Value):
		d.Help = fmt.Sprintf("write `%s: [%s]`", name, p.src.Quote(oneLine(n.Value)))
	case !source.IsText(n):
		d.Help = "begin each item with `- `"
	}
	p.add(d)
}

// texts decodes a list of strings.
func (o *object) texts(name string) []string { return o.textsBy(name, o.p.text) }

// textsBy decodes a list of strings, each with decode.
func (o *object) textsBy(name string, decode func(*yaml.Node, Pointer, string) string) []string {
	var texts []string
	for i, n := range o.list(name) {
		texts = append(texts, decode(n, o.at.Key(name).Index(i), fmt.Sprintf("%s[%d]", name, i)))
	}
	return texts
}

// durations decodes a list of at least one duration.
func (o *object) durations(name string) (all []*Duration) {
	items := o.list(name)
	if n := o.value(name); n != nil && n.Kind == yaml.SequenceNode && len(items) == 0 {
		o.p.add(Diagnostic{Code: "SW123", Message: fmt.Sprintf("`%s` needs at least one duration", name), Pointer: o.at.Key(name), Range: o.p.src.RangeOf(n),
			Help: "write one, such as `[PT1S]`, or leave it out"})
	}
	for i, n := range items {
		all = append(all, o.p.duration(n, o.at.Key(name).Index(i), fmt.Sprintf("%s[%d]", name, i)))
	}
	return all
}

// entries decodes an object into its members.
func (o *object) entries(name string) []entry {
	n := o.value(name)
	if n == nil {
		return nil
	}
	inner := o.p.object(n, o.at.Key(name), fmt.Sprintf("`%s`", name))
	o.p.reportBlankKeys(inner.node, inner.at, fmt.Sprintf("a name in `%s`", name))
	entries := []entry{}
	for i := 0; i+1 < len(inner.node.Content); i += 2 {
		key := inner.node.Content[i]
		entries = append(entries, entry{key, inner.node.Content[i+1], inner.at.Key(key.Value)})
	}
	return entries
}
