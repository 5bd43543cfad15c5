package dsl

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/internal/lazyregexp"
	"github.com/swrun/swrun/internal/shorten"
)

// data decodes any JSON value.
func (o *object) data(name string) any {
	n := o.value(name)
	if n == nil {
		return nil
	}
	return o.p.data(n, o.at.Key(name))
}

// mapping decodes an object of any JSON values.
func (o *object) mapping(name string) map[string]any {
	n := o.value(name)
	if n == nil {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		o.p.wrongType(n, o.at.Key(name), "`"+name+"`", objects)
		o.p.helpBetter(pairs(name, n))
		return nil
	}
	return o.p.data(n, o.at.Key(name)).(map[string]any)
}

// pairs returns how to write a map in the place of a list of texts, as in files of Compose and requests of curl, or "".
func pairs(name string, n *yaml.Node) string {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		return ""
	}
	if _, key := source.Child(n.Content[0], "name"); key != nil { // beside its value, as in Kubernetes
		return fmt.Sprintf("write `%s: { %s: ... }`", name, oneLine(key.Value))
	}
	if !source.IsText(n.Content[0]) {
		return ""
	}
	separator := map[string]string{"ports": ":", "volumes": ":", "environment": "=", "headers": ":"}[name]
	first := oneLine(n.Content[0].Value)
	before, after, found := strings.Cut(first, separator)
	if i := strings.LastIndexByte(first, ':'); name == "ports" && i >= 0 { // an address may precede both
		before, after = first[:i], first[i+1:]
	}
	switch {
	case separator == "" || !found || before == "" || strings.TrimSpace(after) == "":
		return ""
	case name == "ports": // the port of the machine comes first there, and last here
		before, after = after, before
	case name == "volumes" && strings.HasPrefix(before, "."):
		return fmt.Sprintf("write `volumes: { /path/of/the/folder: %s }`: a folder of the machine begins with /", after)
	}
	return fmt.Sprintf("write `%s: { %s: %s }`", name, before, strings.TrimSpace(after))
}

// dataOrText decodes data. If it is text, usually an expression, it must not be empty.
func (o *object) dataOrText(name string) any {
	if n := o.value(name); source.IsText(n) && o.p.reportIfEmpty(n, o.at.Key(name), name) {
		return nil
	}
	return o.data(name)
}

// data decodes any JSON value. It reports values that JSON does not have, and scalars whose meaning differs from their look.
func (p *parser) data(n *yaml.Node, at Pointer) any {
	p.checkData(n, at)
	return source.Data(n)
}

func (p *parser) checkData(n *yaml.Node, at Pointer) {
	switch n.Kind {
	case yaml.MappingNode:
		p.duplicates(n, at)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			if source.IsNull(value) && value.Value == "" && strings.Contains(key.Value, "=") {
				p.add(Diagnostic{Code: "SW131", Message: fmt.Sprintf("`%s` is a name here, and has no value", oneLine(key.Value)), Pointer: at.Key(key.Value),
					Range: p.src.RangeOf(key), Help: "write a colon and a space between a name and its value"})
			}
			p.checkData(value, at.Key(key.Value))
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			p.checkData(item, at.Index(i))
		}
	case yaml.ScalarNode:
		p.checkScalar(n, at)
	}
}

// otherTemplate matches expressions in the notation of other tools: {{ .x }}, #{ .x }, $( .x ), <% .x %>.
var otherTemplate = lazyregexp.New(`^\s*(?:(?:\{\{|#\{|<%=?|\{)\s*([.$][^{}]*?)\s*(?:\}\}|\}|%>)|\$\(\s*(\.[A-Za-z_][\w.]*)\s*\))\s*$`)

// olderNumber matches an integer of YAML 1.1 that YAML 1.2 reads as text: a number with underscores, and a binary number.
var olderNumber = lazyregexp.New(`^[-+]?(0b[01_]+|[0-9][0-9_]*_[0-9_]*(\.[0-9_]*)?|0x[0-9a-fA-F_]+)$`)

// variableRoot matches the variable at the beginning of an expression.
var variableRoot = lazyregexp.New(`^\$[A-Za-z_]\w*`)

func (p *parser) checkScalar(n *yaml.Node, at Pointer) {
	if emptyExpression(n.Value) && source.IsText(n) {
		tokens := at.Tokens()
		p.emptyExpression(n, at, tokens[len(tokens)-1])
	}
	if m := otherTemplate().FindStringSubmatch(n.Value); m != nil && source.IsText(n) {
		inner := m[1] + m[2]
		if member, ok := strings.CutPrefix(inner, "$json."); ok { // the input in n8n
			inner = "." + member
		}
		d := Diagnostic{Code: "SW129", Message: fmt.Sprintf("`%s` is plain text here", strings.TrimSpace(n.Value)), Pointer: at, Range: p.src.RangeOf(n)}
		if root := variableRoot().FindString(inner); root != "" && !slices.Contains(builtInVariables(), root[1:]) {
			d.Help = "write `${ .name }` for the input, and `${ $context.name }` for what was exported"
		} else {
			meant := "${ " + inner + " }"
			d.Label, d.Fix = didYouMean(meant), onlyIf(false, p.src.Replace(n, meant)) // the text may be a template for another tool
		}
		p.add(d)
	}
	if n.Style != 0 {
		return
	}
	p.checkPlainScalar(n, at)
}

// checkPlainScalar reports a scalar without quotes that is no JSON value, or that older YAML reads as another value.
func (p *parser) checkPlainScalar(n *yaml.Node, at Pointer) {
	report := func(code, message, help string) {
		p.add(Diagnostic{Code: code, Message: message, Pointer: at, Range: p.src.RangeOf(n), Help: help})
	}
	switch source.TypeOf(n) {
	case source.NotANumber:
		if source.IsLong(n) {
			report("SW108", fmt.Sprintf("`%s` is too long for a hexadecimal or octal number", shorten.To(n.Value, 40)), "write the number with decimal digits, or put it in quotes if text is meant")
			return
		}
		report("SW108", fmt.Sprintf("`%s` is not a number in JSON", n.Value), "put it in quotes if text is meant")
	case source.IntScalar:
		if digits := strings.TrimLeft(n.Value, "+-"); len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9' {
			report("SW119", fmt.Sprintf("`%s` reads as the decimal number %s", n.Value, fmt.Sprint(source.Data(n))),
				"write 0o for octal numbers, and put text in quotes")
		}
	case source.TextScalar:
		if slices.Contains([]string{"yes", "no", "on", "off"}, strings.ToLower(n.Value)) {
			report("SW119", fmt.Sprintf("`%s` reads as text here, not as a boolean", n.Value), "write true or false, or put the text in quotes")
		}
		if olderNumber().MatchString(n.Value) {
			report("SW119", fmt.Sprintf("`%s` reads as text here, not as a number", n.Value), "write the number with decimal digits only, or put the text in quotes")
		}
	}
}
