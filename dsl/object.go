package dsl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// object is a mapping of the document whose properties are being decoded. An absent or wrong value decodes as the
// zero value of its type, so that decoding always goes on.
type object struct {
	p    *parser
	node *yaml.Node
	at   Pointer
	what string // for messages: a task, `document`
	// misspelt are the properties that stand under another name; that they are missing is not told again.
	misspelt map[string]bool
	open     bool // any property is allowed
	broken   bool // no mapping at all: what is missing in it is no news
}

// entry is one member of a mapping.
type entry struct {
	key, value *yaml.Node
	at         Pointer
}

// object begins to decode a mapping with the allowed properties; it reports anything else.
func (p *parser) object(n *yaml.Node, at Pointer, what string, allowed ...string) *object {
	o := &object{p: p, node: n, at: at, what: what}
	if n.Kind != yaml.MappingNode {
		p.wrongType(n, at, what+" must be an object")
		o.node, o.broken = &yaml.Node{Kind: yaml.MappingNode, Line: n.Line, Column: n.Column}, true
		return o
	}
	p.duplicates(n, at)
	if o.open = len(allowed) == 0; o.open {
		return o
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Kind == yaml.ScalarNode && !slices.Contains(allowed, n.Content[i].Value) {
			o.unknown(n.Content[i], allowed)
		}
	}
	return o
}

// duplicates reports keys that stand twice in a mapping, and keys that are no scalars.
func (p *parser) duplicates(n *yaml.Node, at Pointer) {
	first := firstOf(n)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode {
			p.add(Diagnostic{Code: "SW108", Message: "a key must be text", Range: p.src.span(key), Pointer: at})
			continue
		}
		if before := first(i); before != nil {
			p.add(Diagnostic{
				Code: "SW103", Message: fmt.Sprintf("the key `%s` stands here twice", key.Value), Pointer: at.Key(key.Value),
				Range: p.src.span(key), Related: []Related{{p.src.span(before), "the first one"}},
				Help: "remove one of them, or rename it",
			})
		}
	}
}

// firstOf returns a function that finds, for the key at index i of a mapping, the same key before it, or nil. It is to
// be called with rising indices.
func firstOf(n *yaml.Node) func(i int) *yaml.Node {
	if len(n.Content) > 64 { // comparing all with all would take too long
		seen := make(map[string]*yaml.Node, len(n.Content)/2)
		return func(i int) *yaml.Node {
			before := seen[n.Content[i].Value]
			if before == nil {
				seen[n.Content[i].Value] = n.Content[i]
			}
			return before
		}
	}
	return func(i int) *yaml.Node {
		for j := 0; j < i; j += 2 {
			if n.Content[j].Kind == yaml.ScalarNode && n.Content[j].Value == n.Content[i].Value {
				return n.Content[j]
			}
		}
		return nil
	}
}

// slips are names from other languages for properties of this one.
func slips() map[string]string {
	return map[string]string{
		"url": "endpoint", "uri": "endpoint", "parallel": "fork", "delay": "wait", "sleep": "wait",
		"minute": "minutes", "second": "seconds", "hour": "hours", "day": "days", "millisecond": "milliseconds",
		"ms": "milliseconds", "sec": "seconds", "secs": "seconds", "min": "minutes", "mins": "minutes",
		"condition": "if", "foreach": "for", "loop": "for", "invoke": "call", "throw": "raise",
		"retries": "retry", "maxAttempts": "attempt", "attempts": "attempt", "next": "then", "goto": "then",
		"params": "parameters", "args": "arguments", "env": "environment",
		"cmd": "command",
	}
}

// unknown reports a property that does not exist, with the one that was probably meant.
func (o *object) unknown(key *yaml.Node, allowed []string) {
	name := key.Value
	d := Diagnostic{
		Code: "SW106", Message: fmt.Sprintf("`%s` is no property of %s", name, o.what), Pointer: o.at.Key(name),
		Range: o.p.src.span(key), Expected: allowed,
	}
	meant := o.meant(name, allowed)
	if meant == "" {
		d.Help = "allowed: " + strings.Join(allowed, " ")
	} else {
		if o.misspelt == nil {
			o.misspelt = map[string]bool{}
		}
		o.misspelt[meant] = true
		d.Label = fmt.Sprintf("did you mean `%s`?", meant)
		if o.value(meant) == nil {
			d.Fix = []Edit{{Range: d.Range, NewText: meant, Safe: true}}
		}
	}
	o.p.add(d)
}

func (o *object) meant(name string, allowed []string) string {
	if slip := slips()[name]; slices.Contains(allowed, slip) {
		return slip
	}
	return Suggest(name, allowed)
}

// key returns the node of a key, or nil.
func (o *object) key(name string) *yaml.Node {
	key, _ := child(o.node, name)
	return key
}

// value returns the node of a value, or nil if there is none.
func (o *object) value(name string) *yaml.Node {
	_, value := child(o.node, name)
	return value
}

// require reports every property that is missing.
func (o *object) require(names ...string) {
	for _, name := range names {
		if o.broken || o.value(name) != nil || o.misspelt[name] {
			continue
		}
		at := o.p.src.span(o.node)
		if key, value := o.p.src.find(o.at); value == o.node && key != value && key != nil {
			at = o.p.src.span(key)
		}
		d := Diagnostic{
			Code: "SW107", Message: fmt.Sprintf("%s needs `%s`", o.what, name), Pointer: o.at, Range: at,
			Label: fmt.Sprintf("`%s` is missing", name),
		}
		o.p.add(o.near(d, name))
	}
}

// near adds to a diagnostic about missing properties the key that one of them may stand under: some objects of the
// DSL may have any key.
func (o *object) near(d Diagnostic, missing ...string) Diagnostic {
	for i := 0; o.open && i+1 < len(o.node.Content); i += 2 {
		key := o.node.Content[i]
		meant := Suggest(key.Value, missing)
		if key.Kind != yaml.ScalarNode || meant == "" || meant == key.Value {
			continue
		}
		d.Range, d.Label = o.p.src.span(key), fmt.Sprintf("did you mean `%s`?", meant)
		d.Fix = []Edit{{Range: d.Range, NewText: meant, Safe: true}}
		break
	}
	return d
}

// report adds a diagnostic at the value of a property.
func (o *object) report(code, name, message string) {
	o.p.add(Diagnostic{Code: code, Message: message, Pointer: o.at.Key(name), Range: o.p.src.span(o.value(name))})
}

func (p *parser) wrongType(n *yaml.Node, at Pointer, message string) {
	p.add(Diagnostic{Code: "SW108", Message: message + ", got " + describe(n), Pointer: at, Range: p.src.span(n)})
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

func isText(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && scalarTypeOf(n) == textScalar
}

// text decodes a string.
func (o *object) text(name string) string { return o.textOr(name, "") }

// textOr decodes a string that has a default.
func (o *object) textOr(name, otherwise string) string {
	n := o.value(name)
	if n == nil {
		return otherwise
	}
	return o.p.text(n, o.at.Key(name), name)
}

func (p *parser) text(n *yaml.Node, at Pointer, name string) string {
	if isText(n) {
		return n.Value
	}
	d := Diagnostic{
		Code: "SW108", Message: fmt.Sprintf("`%s` must be text, got %s", name, describe(n)), Pointer: at, Range: p.src.span(n),
	}
	if n.Kind == yaml.ScalarNode && n.Value != "" {
		d.Help = "put it in quotes"
		d.Fix = []Edit{{Range: d.Range, NewText: "'" + n.Value + "'", Safe: true}}
	}
	p.add(d)
	return ""
}

func (o *object) expression(name string) Expression { return Expression(o.text(name)) }

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
	if !semverPattern.MatchString(version) {
		d := Diagnostic{
			Code: "SW111", Message: fmt.Sprintf("`%s` must be a semantic version such as 1.0.0, got %s", name, quoted(version)),
			Pointer: o.at.Key(name), Range: o.p.src.span(n),
		}
		if completed := strings.TrimPrefix(version, "v") + strings.Repeat(".0", max(0, 2-strings.Count(version, "."))); semverPattern.MatchString(completed) {
			d.Label = fmt.Sprintf("did you mean `%s`?", completed)
			d.Fix = []Edit{{Range: d.Range, NewText: "'" + completed + "'"}}
		}
		o.p.add(d)
		return ""
	}
	return version
}

func quoted(s string) string { return strconv.Quote(s) }

// name decodes a namespace or the name of a workflow.
func (o *object) name(property string) string {
	n := o.value(property)
	if n == nil {
		return ""
	}
	name := o.text(property)
	if isText(n) && !namePattern.MatchString(name) {
		o.report("SW112", property, fmt.Sprintf("`%s` must be at most 63 letters, digits and inner hyphens, got %s", property, quoted(name)))
	}
	return name
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
	return o.boolean(name)
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
	if !isText(n) || slices.Contains(values, text) {
		return text
	}
	d := Diagnostic{
		Code: "SW109", Message: fmt.Sprintf("`%s` cannot be %s", name, quoted(text)), Pointer: o.at.Key(name),
		Range: o.p.src.span(n), Expected: values, Help: "allowed: " + strings.Join(values, " "),
	}
	if meant := Suggest(text, values); meant != "" {
		d.Label = fmt.Sprintf("did you mean `%s`?", meant)
		d.Fix = []Edit{{Range: d.Range, NewText: meant, Safe: true}}
	}
	o.p.add(d)
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
			p.checkData(n.Content[i+1], at.Key(n.Content[i].Value))
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			p.checkData(item, at.Index(i))
		}
	case yaml.ScalarNode:
		p.checkScalar(n, at)
	}
}

func (p *parser) checkScalar(n *yaml.Node, at Pointer) {
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
func (o *object) texts(name string) []string {
	var texts []string
	for i, n := range o.list(name) {
		texts = append(texts, o.p.text(n, o.at.Key(name).Index(i), name))
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
	entries := []entry{}
	for i := 0; i+1 < len(inner.node.Content); i += 2 {
		key := inner.node.Content[i]
		entries = append(entries, entry{key, inner.node.Content[i+1], inner.at.Key(key.Value)})
	}
	return entries
}

// exactlyOne reports unless just one of the properties is there; it returns the first that is.
func (o *object) exactlyOne(names ...string) string {
	var present []string
	for _, name := range names {
		if o.value(name) != nil {
			present = append(present, name)
		}
	}
	if o.broken || len(present) == 1 || len(present) == 0 && slices.ContainsFunc(names, func(n string) bool { return o.misspelt[n] }) {
		return append(present, "")[0]
	}
	d := Diagnostic{
		Code: "SW122", Message: fmt.Sprintf("%s needs exactly one of `%s`", o.what, strings.Join(names, "`, `")),
		Pointer: o.at, Range: o.p.src.span(o.node),
	}
	if len(present) == 0 {
		d = o.near(d, names...)
	}
	if len(present) > 1 {
		d.Message += fmt.Sprintf(", got %d", len(present))
		d.Range = o.p.src.span(o.key(present[1]))
		d.Related = []Related{{o.p.src.span(o.key(present[0])), "the first one"}}
	}
	o.p.add(d)
	return append(present, "")[0]
}
