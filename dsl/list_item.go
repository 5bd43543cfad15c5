package dsl

import (
	"fmt"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
)

// listed is a kind of list item: a task, a case or an extension, which has a name in its list.
type listed struct {
	what    string                // for messages: a task
	example string                // a name for one
	own     []string              // the properties that it may have
	is      func(*yaml.Node) bool // reports whether a value has the form of such an item
}

func listedTask() listed {
	own := slices.Concat(baseProperties(), keywordNames(), []string{"with", "while", "catch", "foreach"})
	return listed{"a task", "step1", own, hasKeyword}
}

// hasKeyword reports whether an object is a task: one of its keys is a keyword, or a misspelt one.
func hasKeyword(n *yaml.Node) bool {
	for i := 0; isObject(n) && i+1 < len(n.Content); i += 2 {
		if otherKeyFor(n.Content[i].Value, keywordNames()) != "" {
			return true
		}
	}
	return false
}

func listedCase() listed { return listed{"a case", "case1", []string{"when", "then"}, isObject} }

func listedExtension() listed {
	return listed{"an extension", "extension1", []string{"extend", "when", "before", "after"}, isObject}
}

func isObject(n *yaml.Node) bool { return n.Kind == yaml.MappingNode }

// item decodes a list item: an object with one key, its name.
func (p *parser) item(n *yaml.Node, at Pointer, l listed) (entry, bool) {
	what := l.what
	if n.Kind != yaml.MappingNode {
		d := Diagnostic{Code: "SW108", Message: what + " in a list must be an object with one key, its name, got " + source.Describe(n), Pointer: at, Range: p.src.RangeOf(n), Help: asItem(l)}
		if source.IsText(n) && n.Style == 0 {
			d.Help = asName(n.Value)
		}
		p.add(d)
		return entry{}, false
	}
	if e, ok := p.nameless(n, at, l); ok {
		return e, true
	}
	if e, ok := p.otherCase(n, at, l); ok {
		return e, true
	}
	if e, ok := p.namedInside(n, at, l); ok {
		return e, e.value != nil
	}
	if what != "a task" {
		p.reportBlankKeys(n, at, "the name of "+what)
	}
	if len(n.Content) == 2 {
		key := n.Content[0]
		return entry{key, n.Content[1], at.Key(key.Value)}, true
	}
	if len(n.Content) == 0 {
		d := notOneKey(n, at, what, p.src.RangeOf(n))
		d.Help = asItem(l)
		p.add(d)
		return entry{}, false
	}
	return p.severalKeys(n, at, what), true
}

func notOneKey(n *yaml.Node, at Pointer, what string, place source.Range) Diagnostic {
	return Diagnostic{
		Code: "SW121", Message: fmt.Sprintf("%s in a list must have exactly one key, its name, got %d", what, len(n.Content)/2),
		Pointer: at, Range: place,
	}
}

// severalKeys reports an item with more than one key, and decodes the probable meaning: the properties of the first key, which
// are not indented enough, or several items, of which it returns the first.
func (p *parser) severalKeys(n *yaml.Node, at Pointer, what string) entry {
	key, value, second := n.Content[0], n.Content[1], n.Content[2]
	d := notOneKey(n, at, what, p.src.RangeOf(second))
	block := n.Style&yaml.FlowStyle == 0
	if source.IsNull(value) {
		d.Label, d.Help = fmt.Sprintf("does this belong to `%s`?", key.Value), "indent the properties deeper than the name"
		value = &yaml.Node{Kind: yaml.MappingNode, Line: second.Line, Column: second.Column, Content: n.Content[2:]}
		if block {
			d.Fix = p.src.Indent(second.Line, p.src.LastLine(n))
		}
	} else if rest := besideName(n); value.Kind == yaml.MappingNode && rest != nil {
		d.Label, d.Help = fmt.Sprintf("does this belong to `%s`?", key.Value), fmt.Sprintf("indent it as deep as `%s`", value.Content[0].Value)
		if block && value.Style&yaml.FlowStyle == 0 && value.Column == second.Column+2 {
			d.Fix = p.src.Indent(second.Line, p.src.LastLine(n))
		}
		whole := *value
		whole.Content = slices.Concat(value.Content, rest)
		value = &whole
	} else {
		d.Label, d.Help = "a list item of its own?", "begin each with its own `-`"
		for i := 2; block && i+1 < len(n.Content); i += 2 {
			d.Fix = append(d.Fix, p.src.Dash(n.Content[i])...)
		}
	}
	p.add(d)
	return entry{key, value, at.Key(key.Value)}
}

// besideName returns the keys and values of an item except the first, if the first is the name of a task with properties, and the others can only be
// properties of it: a task of that name would have a keyword.
func besideName(n *yaml.Node) []*yaml.Node {
	var also []string // the properties beside the keyword of the first task, with any values
	isKeyword := func(key *yaml.Node) bool { return contains(keywordNames(), key.Value) }
	for _, k := range keywords() {
		if slices.ContainsFunc(n.Content[1].Content, func(key *yaml.Node) bool { return key.Value == k.name }) {
			also = append(also, k.also...)
		}
	}
	for i := 2; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i].Value, n.Content[i+1]
		task := isObject(value) && slices.ContainsFunc(value.Content, isKeyword)
		if !contains(also, name) && (task || !contains(baseProperties(), name)) {
			return nil
		}
	}
	return n.Content[2:]
}

// nameless reports an item that lacks the name around its properties, and decodes it as if it had one.
func (p *parser) nameless(n *yaml.Node, at Pointer, l listed) (entry, bool) {
	if len(n.Content) == 0 || source.IsNull(n.Content[1]) {
		return entry{}, false
	}
	complete := true // each value could be a whole item under its key as the name
	for i := 0; i+1 < len(n.Content); i += 2 {
		if !slices.Contains(l.own, n.Content[i].Value) {
			return entry{}, false
		}
		complete = complete && l.is(n.Content[i+1])
	}
	if complete {
		return entry{}, false
	}
	first := n.Content[0]
	p.add(Diagnostic{
		Code: "SW121", Message: fmt.Sprintf("%s in a list needs a name around its properties", l.what), Pointer: at,
		Range: p.src.RangeOf(first), Label: "its name is missing",
		Help: fmt.Sprintf("write `- %s:` and indent the properties below it", l.example),
	})
	return entry{first, n, at}, true
}

// otherCase reports a case without a name whose properties have names of other languages, and decodes it as a case.
func (p *parser) otherCase(n *yaml.Node, at Pointer, l listed) (entry, bool) {
	meant := map[string]string{"condition": "when", "if": "when", "case": "when", "when": "when", "next": "then", "goto": "then", "transition": "then", "then": "then"}
	if l.what != "a case" || len(n.Content) != 4 || meant[n.Content[0].Value] != "when" || meant[n.Content[2].Value] != "then" || !source.IsText(n.Content[3]) {
		return entry{}, false
	}
	inner := *n
	inner.Content = slices.Clone(n.Content)
	for _, i := range []int{0, 2} {
		key := *n.Content[i]
		key.Value = meant[key.Value]
		inner.Content[i] = &key
	}
	p.add(Diagnostic{
		Code: "SW121", Message: fmt.Sprintf("a case in a list needs a name around its properties, which are called `when` and `then`, got `%s` and `%s`", n.Content[0].Value, n.Content[2].Value),
		Pointer: at, Range: p.src.RangeOf(n.Content[0]), Help: fmt.Sprintf("write `- %s: { when: ..., then: %s }`", l.example, oneLine(n.Content[3].Value)),
	})
	return entry{n.Content[0], &inner, at}, true
}

// namedInside reports an item with its name among its properties, as in other languages, and decodes it under that name, unless its other properties
// are unknown too.
func (p *parser) namedInside(n *yaml.Node, at Pointer, l listed) (entry, bool) {
	if len(n.Content) < 4 || !slices.Contains([]string{"name", "id"}, n.Content[0].Value) || n.Content[1].Value == "" || !source.IsText(n.Content[1]) {
		return entry{}, false
	}
	foreign := false
	for i := 2; i+1 < len(n.Content); i += 2 {
		foreign = foreign || !slices.Contains(l.own, n.Content[i].Value)
	}
	if foreign && l.what != "a task" {
		return entry{}, false
	}
	name, inner := n.Content[1], *n
	inner.Content = n.Content[2:]
	p.add(Diagnostic{
		Code: "SW121", Message: fmt.Sprintf("the name of %s stands around its properties, not among them", l.what), Pointer: at,
		Range: p.src.RangeOf(n.Content[0]), Help: fmt.Sprintf("write `- %s:` and indent the properties below it", oneLine(name.Value)),
	})
	if foreign { // its properties belong to another language
		return entry{}, true
	}
	return entry{name, &inner, at.Key(name.Value)}, true
}
