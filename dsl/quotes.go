package dsl

import (
	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/internal/lazyregexp"
)

// typographic matches text in typographic quotes, which are not quotes in YAML.
var typographic = lazyregexp.New(`^[“”„‟«‘’‚‛](?s:.*)[“”‟»‘’‛]$`)

// checkQuotes: SW133, values in typographic quotes. If such a value already has an error, the advice about quotes replaces the help of that error.
func (p *parser) checkQuotes(n *yaml.Node, at Pointer) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			p.checkQuotes(n.Content[i+1], at.Key(n.Content[i].Value))
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			p.checkQuotes(item, at.Index(i))
		}
	case yaml.ScalarNode:
		if n.Style != 0 || !typographic().MatchString(n.Value) {
			return
		}
		const help = `write plain quotes, "" or '', if the text ends at them`
		for i, d := range p.found {
			if d.Pointer == at {
				p.found[i].Help = "these quotes are typographic, and a part of the text: write plain quotes, \"\" or ''"
				return
			}
		}
		p.add(Diagnostic{Code: "SW133", Message: "these quotes are typographic: they are a part of the text", Pointer: at, Range: p.src.RangeOf(n), Help: help})
	}
}
