package dsl

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/Masterminds/semver/v3"
	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/internal/delimited"
	"github.com/swrun/swrun/internal/suggest"
)

func (p *parser) wrongType(n *yaml.Node, at Pointer, message string) {
	d := Diagnostic{Code: "SW108", Message: message + ", got " + describe(n), Pointer: at, Range: p.src.span(n)}
	if _, err := strconv.Atoi(strings.TrimSpace(n.Value)); err == nil && isText(n) {
		d.Help = "write the number without quotes"
	}
	p.add(d)
}

// describe names what a node is, for messages.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "an object"
	case yaml.SequenceNode:
		return "a list"
	}
	switch scalarTypeOf(n) {
	case nullScalar:
		return "nothing"
	case boolScalar:
		return "the boolean " + n.Value
	case intScalar, floatScalar, notANumber:
		return "the number " + n.Value
	}
	return "text"
}

func scalarIsNumber(n *yaml.Node) bool {
	t := scalarTypeOf(n)
	return t == intScalar || t == floatScalar
}

func isText(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && scalarTypeOf(n) == textScalar
}

// text decodes a string that says something: "" is an absent one, or one that was reported.
func (o *object) text(name string) string { return o.textOr(name, "") }

// textOr decodes a string that has a default.
func (o *object) textOr(name, otherwise string) string {
	n := o.value(name)
	if n == nil {
		return otherwise
	}
	return o.p.text(n, o.at.Key(name), name)
}

// text decodes a string; it reports one that is empty, which is not the same as an absent one (semantics 1.3a).
func (p *parser) text(n *yaml.Node, at Pointer, name string) string {
	text := p.anyText(n, at, name)
	if isText(n) && p.empty(n, at, name) {
		return ""
	}
	return text
}

// empty reports text that says nothing: it is no value, and only an absent property stands for its default.
func (p *parser) empty(n *yaml.Node, at Pointer, name string) bool {
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

// names reports the keys of a mapping that are no names, because there is nothing in them.
func (p *parser) names(n *yaml.Node, at Pointer, what string) {
	for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
		if key := n.Content[i]; key.Kind == yaml.ScalarNode && strings.TrimSpace(key.Value) == "" {
			p.emptyName(key, at.Key(key.Value), what)
		}
	}
}

func (p *parser) emptyName(n *yaml.Node, at Pointer, what string) {
	p.add(Diagnostic{Code: "SW130", Message: what + " must not be empty", Pointer: at, Range: p.src.span(n),
		Help: "give it a value; what is not required may be left out"})
}

// emptyExpression reports whether text is an expression with nothing in it.
func emptyExpression(text string) bool {
	return delimited.Is(text) && strings.TrimSpace(delimited.Inside(text)) == ""
}

func (p *parser) emptyExpression(n *yaml.Node, at Pointer, name string) {
	if p.told[n] {
		return
	}
	p.told[n] = true
	p.add(Diagnostic{Code: "SW130", Message: fmt.Sprintf("the expression of `%s` is empty", name), Pointer: at, Range: p.src.span(n),
		Help: "write `${ . }` for the input itself"})
}

// anyText decodes a string that may be empty, because it is data: a password, an argument, the input of a process.
func (p *parser) anyText(n *yaml.Node, at Pointer, name string) string {
	if isText(n) {
		if emptyExpression(n.Value) {
			p.emptyExpression(n, at, name)
			return ""
		}
		return n.Value
	}
	d := Diagnostic{
		Code: "SW108", Message: fmt.Sprintf("`%s` must be text, got %s", name, describe(n)), Pointer: at, Range: p.src.span(n),
	}
	if n.Kind == yaml.ScalarNode && n.Value != "" {
		d.Help = "put it in quotes"
		d.Fix = p.src.inQuotes(n, n.Value)
	}
	p.add(d)
	return ""
}

func (o *object) expression(name string) Expression { return Expression{o.at.Key(name), o.text(name)} }

// version decodes a semantic version.
func (o *object) version(name string) string {
	n := o.value(name)
	if n == nil {
		return ""
	}
	version := n.Value
	if !isText(n) && (n.Kind != yaml.ScalarNode || scalarTypeOf(n) != floatScalar && scalarTypeOf(n) != intScalar) {
		return o.text(name)
	}
	if !isVersion(version) {
		d := Diagnostic{
			Code: "SW111", Message: fmt.Sprintf("`%s` must be a semantic version such as 1.0.0, got %s", name, quoted(version)),
			Pointer: o.at.Key(name), Range: o.p.src.span(n),
		}
		if completed := strings.TrimPrefix(version, "v") + strings.Repeat(".0", max(0, 2-strings.Count(version, "."))); isVersion(completed) {
			d.Label = fmt.Sprintf("did you mean `%s`?", completed)
			d.Fix = o.p.src.inQuotes(n, completed)
		}
		o.p.add(d)
		return ""
	}
	return version
}

func isVersion(text string) bool {
	_, err := semver.StrictNewVersion(text)
	return err == nil
}

// quoted shows a text in a message, cut to a length that is read.
func quoted(s string) string {
	const most = 200
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return strconv.Quote(s)
}

// name decodes a namespace or the name of a workflow.
func (o *object) name(property string) string {
	n := o.value(property)
	if n == nil {
		return ""
	}
	name := o.text(property)
	if name != "" && !namePattern.MatchString(name) {
		o.p.add(Diagnostic{
			Code: "SW112", Message: fmt.Sprintf("`%s` must be at most 63 letters, digits and inner hyphens, got %s", property, quoted(name)),
			Pointer: o.at.Key(property), Range: o.p.src.span(n), Label: hyphenated(name),
		})
	}
	return name
}

// hyphenated asks whether a name with hyphens was meant, if they make one of it.
func hyphenated(name string) string {
	meant := strings.Trim(notInName.ReplaceAllString(name, "-"), "-")
	if !namePattern.MatchString(meant) {
		return ""
	}
	return didYouMean(meant)
}

func (o *object) boolean(name string) bool {
	n := o.value(name)
	if n == nil {
		return false
	}
	if n.Kind != yaml.ScalarNode || scalarTypeOf(n) != boolScalar {
		o.p.wrongType(n, o.at.Key(name), fmt.Sprintf("`%s` must be true or false", name))
		return false
	}
	return n.Value[0] == 't' || n.Value[0] == 'T'
}

// booleanOr decodes a boolean that has a default.
func (o *object) booleanOr(name string, otherwise bool) bool {
	if o.value(name) == nil {
		return otherwise
	}
	if n := o.value(name); n.Kind == yaml.ScalarNode && scalarTypeOf(n) == boolScalar {
		return o.boolean(name)
	}
	o.boolean(name) // reports
	return otherwise
}

// integer decodes a whole number; nil if it is absent or wrong.
func (o *object) integer(name string) *int {
	n := o.value(name)
	if n == nil {
		return nil
	}
	if i, ok := wholeNumber(n); ok {
		return &i
	}
	o.p.wrongType(n, o.at.Key(name), fmt.Sprintf("`%s` must be a whole number", name))
	return nil
}

// count decodes a number of times.
func (o *object) count(name string) *int {
	i := o.integer(name)
	if i != nil && *i < 0 {
		o.report("SW123", name, fmt.Sprintf("`%s` must not be negative, got %d", name, *i))
		return nil
	}
	return i
}

// wholeNumber reads an int; 2.0 is one too, as in JSON Schema.
func wholeNumber(n *yaml.Node) (int, bool) {
	if n.Kind != yaml.ScalarNode {
		return 0, false
	}
	switch v := scalarData(n).(type) {
	case int:
		return v, true
	case float64:
		return int(v), v == float64(int(v))
	}
	return 0, false
}

// enum decodes one of a few words; the first is the default.
func (o *object) enum(name string, values ...string) string {
	n := o.value(name)
	if n == nil {
		return values[0]
	}
	text := o.text(name)
	switch {
	case text == "": // reported
		return values[0]
	case slices.Contains(values, text):
		return text
	}
	d := Diagnostic{
		Code: "SW109", Message: fmt.Sprintf("`%s` cannot be %s", name, quoted(text)), Pointer: o.at.Key(name),
		Range: o.p.src.span(n), Expected: values, Help: "allowed: " + strings.Join(values, " "),
	}
	o.p.add(o.p.src.suggested(d, n, values, suggest.Name)) // a short word is soon like another
	return values[0]
}

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
		o.p.wrongType(n, o.at.Key(name), fmt.Sprintf("`%s` must be an object", name))
		return nil
	}
	return o.p.data(n, o.at.Key(name)).(map[string]any)
}

// data decodes any JSON value and reports what is no JSON in it, or reads otherwise than it looks.
func (p *parser) data(n *yaml.Node, at Pointer) any {
	p.checkData(n, at)
	return dataOf(n)
}

func (p *parser) checkData(n *yaml.Node, at Pointer) {
	switch n.Kind {
	case yaml.MappingNode:
		p.duplicates(n, at)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			if isNull(value) && value.Value == "" && strings.Contains(key.Value, "=") {
				p.add(Diagnostic{Code: "SW131", Message: fmt.Sprintf("`%s` is a name here, and has no value", oneLine(key.Value)), Pointer: at.Key(key.Value),
					Range: p.src.span(key), Help: "write a colon and a space between a name and its value"})
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

// foreign is how other tools write expressions: {{ .x }}, #{ .x }, $( .x ), <% .x %>.
var foreign = regexp.MustCompile(`^\s*(?:(?:\{\{|#\{|<%=?)\s*([.$][^{}]*?)\s*(?:\}\}|\}|%>)|\$\(\s*(\.[A-Za-z_][\w.]*)\s*\))\s*$`)

func (p *parser) checkScalar(n *yaml.Node, at Pointer) {
	if emptyExpression(n.Value) && isText(n) {
		tokens := at.Tokens()
		p.emptyExpression(n, at, tokens[len(tokens)-1])
	}
	if m := foreign.FindStringSubmatch(n.Value); m != nil && isText(n) {
		meant := "${ " + m[1] + m[2] + " }"
		d := Diagnostic{
			Code: "SW129", Message: fmt.Sprintf("`%s` is plain text here", strings.TrimSpace(n.Value)), Pointer: at, Range: p.src.span(n),
			Label: didYouMean(meant),
		}
		d.Fix = onlyIf(false, p.src.respelt(n, meant)) // the text may be meant for a template of somebody else
		p.add(d)
	}
	if n.Style != 0 {
		return
	}
	report := func(code, message, help string) {
		p.add(Diagnostic{Code: code, Message: message, Pointer: at, Range: p.src.span(n), Help: help})
	}
	switch scalarTypeOf(n) {
	case notANumber:
		report("SW108", fmt.Sprintf("`%s` is no number in JSON", n.Value), "put it in quotes if text is meant")
	case intScalar:
		if digits := strings.TrimLeft(n.Value, "+-"); len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9' {
			report("SW119", fmt.Sprintf("`%s` reads as the decimal number %s", n.Value, fmt.Sprint(scalarData(n))),
				"write 0o for octal numbers, and put text in quotes")
		}
	case textScalar:
		if slices.Contains([]string{"yes", "no", "on", "off"}, strings.ToLower(n.Value)) {
			report("SW119", fmt.Sprintf("`%s` reads as text here, not as a boolean", n.Value), "write true or false, or put the text in quotes")
		}
	}
}

// dataOrText decodes data, in the place of which text must say something: an expression.
func (o *object) dataOrText(name string) any {
	if n := o.value(name); isText(n) && o.p.empty(n, o.at.Key(name), name) {
		return nil
	}
	return o.data(name)
}

// list decodes a list into its nodes.
func (o *object) list(name string) []*yaml.Node {
	n := o.value(name)
	if n == nil {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		o.p.wrongType(n, o.at.Key(name), fmt.Sprintf("`%s` must be a list", name))
		return nil
	}
	return n.Content
}

// texts decodes a list of strings.
func (o *object) texts(name string) []string { return o.textsBy(name, o.p.text) }

// textsBy decodes a list of strings, each by decode.
func (o *object) textsBy(name string, decode func(*yaml.Node, Pointer, string) string) []string {
	var texts []string
	for i, n := range o.list(name) {
		texts = append(texts, decode(n, o.at.Key(name).Index(i), fmt.Sprintf("%s[%d]", name, i)))
	}
	return texts
}

// entries decodes an object into its members.
func (o *object) entries(name string) []entry {
	n := o.value(name)
	if n == nil {
		return nil
	}
	inner := o.p.object(n, o.at.Key(name), fmt.Sprintf("`%s`", name))
	o.p.names(inner.node, inner.at, fmt.Sprintf("a name in `%s`", name))
	entries := []entry{}
	for i := 0; i+1 < len(inner.node.Content); i += 2 {
		key := inner.node.Content[i]
		entries = append(entries, entry{key, inner.node.Content[i+1], inner.at.Key(key.Value)})
	}
	return entries
}
