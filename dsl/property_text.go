package dsl

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/internal/delimited"
)

// text decodes a string that must not be empty. It returns "" if the property is absent, or was reported.
func (o *object) text(name string) string { return o.textOr(name, "") }

// textOr decodes a string that has a default.
func (o *object) textOr(name, otherwise string) string {
	n := o.value(name)
	if n == nil {
		return otherwise
	}
	return o.p.text(n, o.at.Key(name), name)
}

// text decodes a string, and reports an empty string, which is different from an absent one (semantics 1.3a).
func (p *parser) text(n *yaml.Node, at Pointer, name string) string {
	text := p.anyText(n, at, name)
	if source.IsText(n) && p.reportIfEmpty(n, at, name) {
		return ""
	}
	return text
}

// anyText decodes a string that may be empty, because it is data: a password, an argument, the input of a process.
func (p *parser) anyText(n *yaml.Node, at Pointer, name string) string {
	if source.IsText(n) {
		if emptyExpression(n.Value) {
			p.emptyExpression(n, at, name)
			return ""
		}
		return n.Value
	}
	d := Diagnostic{
		Code: "SW108", Message: fmt.Sprintf("`%s` must be text, got %s", name, source.Describe(n)), Pointer: at, Range: p.src.RangeOf(n),
	}
	switch {
	case source.IsNull(n):
		d.Help = "take it out, or write '' for empty text"
	case n.Kind == yaml.SequenceNode && name == "command":
		d.Help = "write the first word as `command`, and the others under `arguments`"
	case n.Kind == yaml.ScalarNode:
		d.Help = "put it in quotes"
		d.Fix = p.src.ReplaceQuoted(n, n.Value)
	case name == "then":
		d.Help = "write the name of one task, or `end`: `then: end`"
	case name == "cron" && n.Kind == yaml.MappingNode:
		d.Help = "write the expression itself: `cron: '0 9 * * *'`"
	case name == "call" && n.Kind == yaml.MappingNode && len(n.Content) > 0:
		d.Help = fmt.Sprintf("write `call: %s`, and its arguments under `with`", oneLine(n.Content[0].Value))
	case name == "if" || name == "when":
		d.Help = "write one expression: `.a and .b == 1`"
	default:
		d.Help = asText(n)
	}
	p.add(d)
	return ""
}

// reportIfEmpty reports text that is empty, blank, or an empty expression. Only an absent property has its default.
func (p *parser) reportIfEmpty(n *yaml.Node, at Pointer, name string) bool {
	switch {
	case strings.TrimSpace(n.Value) == "":
		p.emptyName(n, at, fmt.Sprintf("`%s`", name))
		return true
	case emptyExpression(n.Value):
		p.emptyExpression(n, at, name)
		return true
	}
	return false
}

// reportBlankKeys reports the keys of a mapping that are empty or blank.
func (p *parser) reportBlankKeys(n *yaml.Node, at Pointer, what string) {
	for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
		if key := n.Content[i]; key.Kind == yaml.ScalarNode && strings.TrimSpace(key.Value) == "" {
			p.emptyName(key, at.Key(key.Value), what)
		}
	}
}

func (p *parser) emptyName(n *yaml.Node, at Pointer, what string) {
	p.add(Diagnostic{Code: "SW130", Message: what + " must not be empty", Pointer: at, Range: p.src.RangeOf(n),
		Help: "give it a value; what is not required may be left out"})
}

// emptyExpression reports whether text is an expression without content.
func emptyExpression(text string) bool {
	return delimited.Is(text) && strings.TrimSpace(delimited.Inside(text)) == ""
}

func (p *parser) emptyExpression(n *yaml.Node, at Pointer, name string) {
	if p.reportedEmpty[n] {
		return
	}
	p.reportedEmpty[n] = true
	p.add(Diagnostic{Code: "SW130", Message: fmt.Sprintf("the expression of `%s` is empty", name), Pointer: at, Range: p.src.RangeOf(n),
		Help: "write `${ . }` for the input itself"})
}
