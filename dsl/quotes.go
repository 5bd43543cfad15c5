package dsl

import (
	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/internal/lazyregexp"
)

// typographic matches text in typographic quotes, which are not quotes in YAML.
var typographic = lazyregexp.New(`^[“”„‟«‘’‚‛](?s:.*)[“”‟»‘’‛]$`)

// checkQuotes: SW133, names and values in typographic quotes. If one of them already has an error, the advice about quotes replaces the help of that error.
func (p *parser) checkQuotes(n *yaml.Node, at Pointer) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			inner := at.Key(n.Content[i].Value)
			p.checkQuotesOf(n.Content[i], inner)
			p.checkQuotes(n.Content[i+1], inner)
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			p.checkQuotes(item, at.Index(i))
		}
	case yaml.ScalarNode:
		p.checkQuotesOf(n, at)
	}
}

// checkQuotesOf checks the quotes of one name or value.
func (p *parser) checkQuotesOf(n *yaml.Node, at Pointer) {
	if n.Style != 0 || !typographic().MatchString(n.Value) {
		return
	}
	place := p.src.RangeOf(n)
	for i, d := range p.found {
		if d.Range == place {
			p.found[i].Help = "these quotes are typographic, and a part of the text: write plain quotes, \"\" or ''"
			return
		}
	}
	p.add(Diagnostic{Code: "SW133", Message: "these quotes are typographic: they are a part of the text", Pointer: at, Range: place,
		Help: `write plain quotes, "" or '', if the text ends at them`})
}
