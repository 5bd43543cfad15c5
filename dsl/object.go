package dsl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
)

// object is a mapping of the document whose properties are being decoded. An absent or wrong value decodes as the zero value of its type, so that
// decoding always continues.
type object struct {
	p    *parser
	node *yaml.Node
	at   Pointer
	what string // for messages: a task, `document`
	// misspelt are the properties that are present under a wrong name, so that they are not reported as missing.
	misspelt map[string]bool
	open     bool // any property is allowed
	broken   bool // it is not a mapping, which was reported: no property is reported as missing in it
}

// entry is one member of a mapping.
type entry struct {
	key, value *yaml.Node
	at         Pointer
}

// object begins to decode a mapping with the allowed properties; it reports anything else. A name with a question mark
// before it is accepted, but not suggested.
func (p *parser) object(n *yaml.Node, at Pointer, what string, allowed ...string) *object {
	o := &object{p: p, node: n, at: at, what: what}
	if n.Kind != yaml.MappingNode {
		p.add(Diagnostic{Code: "SW108", Message: what + " must be an object, got " + source.Describe(n), Pointer: at, Range: p.src.RangeOf(n), Help: p.src.howToWriteObject(what, n, allowed)})
		o.node, o.broken = &yaml.Node{Kind: yaml.MappingNode, Line: n.Line, Column: n.Column}, true
		return o
	}
	p.duplicates(n, at)
	if o.open = len(allowed) == 0; o.open {
		return o
	}
	o.idleObject(allowed)
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i].Value
		switch {
		case n.Content[i].Kind != yaml.ScalarNode:
		case !slices.Contains(allowed, name) && !slices.Contains(allowed, "?"+name):
			o.unknown(n.Content[i], allowed)
		default:
			o.reportBlank(n.Content[i], n.Content[i+1])
		}
	}
	return o
}

// duplicates reports keys that occur twice in a mapping, and keys that are not scalars.
func (p *parser) duplicates(n *yaml.Node, at Pointer) {
	first := duplicateFinder(n)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode {
			p.add(Diagnostic{Code: "SW108", Message: "a key must be text", Range: p.src.RangeOf(key), Pointer: at,
				Help: "if this is an expression, write '${ ... }'"})
			continue
		}
		if before := first(i); before != nil {
			p.add(Diagnostic{
				Code: "SW103", Message: fmt.Sprintf("the key `%s` stands here twice", key.Value), Pointer: at.Key(key.Value),
				Range: p.src.RangeOf(key), Related: related(p.src.RangeOf(before), "the first one"),
				Help: "remove one of them, or rename it",
			})
		}
	}
}

// duplicateFinder returns a function that finds an earlier key of a mapping that equals the key at index i, or nil. Call it with rising indices.
func duplicateFinder(n *yaml.Node) func(i int) *yaml.Node {
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

// unknown reports a property that does not exist, with the property that was probably meant.
func (o *object) unknown(key *yaml.Node, allowed []string) {
	name := key.Value
	allowed = slices.DeleteFunc(slices.Clone(allowed), func(a string) bool { return strings.HasPrefix(a, "?") })
	d := Diagnostic{
		Code: "SW106", Message: fmt.Sprintf("`%s` is not a property of %s", name, o.what), Pointer: o.at.Key(name),
		Range: o.p.src.RangeOf(key), Expected: allowed,
	}
	tasks := name == "errors" && o.value(name) != nil && o.value(name).Kind == yaml.SequenceNode // the handling of errors, in other languages
	if member := memberWith(name, allowed); member != "" && !tasks {
		o.reportNotNested(key, member, allowed)
		return
	}
	meant := otherKeyFor(name, allowed)
	if around := o.at.Tokens(); meant == "" && slices.Contains(baseProperties(), name) && len(around) > 0 && slices.Contains(insideTasks(), around[len(around)-1]) {
		(&object{p: o.p}).reportTooDeep(o, name)
		return
	}
	if o.wraps(key, allowed) {
		d.Help = fmt.Sprintf("remove the line `%s:`, so that `do:` begins its line", name)
		o.markPresent("do")
	} else if tasks {
		d.Help = elsewhere("onError", allowed)
	} else if elsewhere := elsewhere(name, allowed); elsewhere != "" {
		d.Help = elsewhere
		o.markNamed(elsewhere, allowed)
		if o.joinsOther(d, key, allowed) {
			return
		}
	} else if meant == "" {
		d.Help = "allowed: " + strings.Join(allowed, " ")
	} else {
		o.markPresent(meant)
		if d = o.p.src.otherKey(d, key, allowed); o.value(meant) != nil {
			d.Fix = nil
		}
	}
	o.p.add(d)
}

// wraps reports whether the tasks of a workflow are below a property that does not exist.
func (o *object) wraps(key *yaml.Node, allowed []string) bool {
	do, _ := source.Child(o.value(key.Value), "do")
	return o.what == aWorkflow && do != nil && o.key("do") == nil && slices.Contains(allowed, "do")
}

// joinsOther adds a word of another language to the error about an earlier one in the same object, whose author has one mistake to learn of. It returns false
// if there is no such error.
func (o *object) joinsOther(d Diagnostic, key *yaml.Node, allowed []string) bool {
	const ending, endings = " is not a property of ", " are not properties of "
	for i, first := range o.p.found {
		at := first.Pointer.Tokens()
		if first.Code != d.Code || len(at) == 0 || o.at.Key(at[len(at)-1]) != first.Pointer || oneLine(elsewhere(at[len(at)-1], allowed)) != first.Help {
			continue
		}
		words, single := strings.CutSuffix(first.Message, ending+o.what)
		if !single {
			words = strings.ReplaceAll(strings.TrimSuffix(first.Message, endings+o.what), " and ", ", ")
		}
		o.p.found[i].Message = oneLine(fmt.Sprintf("%s and `%s`%s%s", words, key.Value, endings, o.what))
		o.p.found[i] = o.p.src.alsoSays(o.p.found[i], key, oneLine(d.Help))
		return true
	}
	return false
}

// markNamed marks the properties that a help text recommends as present under other names. `do` and `then` represent tasks in most help texts, and
// are only marked if the help begins with them.
func (o *object) markNamed(help string, allowed []string) {
	if contains(allowed, "bearer") { // a policy with words of another language has a scheme too
		o.markPresent("bearer")
	}
	for _, instead := range allowed {
		named := strings.Contains(help, "`"+instead+":")
		if named && (instead != "do" && instead != "then" || strings.HasPrefix(help, "write the tasks under") || strings.HasPrefix(help, "write `then: NAME`,")) {
			o.markPresent(instead)
		}
	}
}

// reportBlank reports a property without a value: it counts as absent, which is seldom meant. An explicit null is meant.
func (o *object) reportBlank(key, value *yaml.Node) {
	if !source.IsNull(value) || value.Value != "" {
		return
	}
	o.p.add(Diagnostic{Code: "SW131", Message: fmt.Sprintf("`%s` has no value, so it counts as absent", key.Value), Pointer: o.at.Key(key.Value),
		Range: o.p.src.RangeOf(key), Help: "give it a value, leave it out, or write `null` if that is meant"})
}

// key returns the node of a key, or nil.
func (o *object) key(name string) *yaml.Node {
	key, _ := source.Child(o.node, name)
	return key
}

// keys returns the names of the present properties, with or without a value.
func (o *object) keys() []string {
	var all []string
	for i := 0; i+1 < len(o.node.Content); i += 2 {
		all = append(all, o.node.Content[i].Value)
	}
	return all
}

// value returns the node of a value, or nil if the property is absent; null counts as absent (semantics 1.3a).
func (o *object) value(name string) *yaml.Node {
	_, value := source.Child(o.node, name)
	if value != nil && source.IsNull(value) {
		return nil
	}
	return value
}

// require reports every property that is missing.
func (o *object) require(names ...string) {
	for _, name := range names {
		if o.broken || o.value(name) != nil || o.misspelt[name] {
			continue
		}
		if key := o.key(name); key != nil {
			o.reportNull(key)
			continue
		}
		at := o.p.src.RangeOf(o.node)
		if key, value, _ := o.p.src.find(o.at); value == o.node && key != value && key != nil {
			at = o.p.src.RangeOf(key)
		}
		d := Diagnostic{
			Code: "SW107", Message: fmt.Sprintf("%s needs `%s`", o.what, name), Pointer: o.at, Range: at,
			Label: fmt.Sprintf("`%s` is missing", name),
		}
		if o.what == aWorkflow {
			d.Help = documentBelow
		}
		if name == "version" && o.what == "`workflow`" {
			d.Help = "write `version: latest` for the highest version"
		}
		if image := o.value("name"); name == "image" && image != nil && source.IsText(image) && strings.ContainsAny(image.Value, ":/") {
			d.Range, d.Label = o.p.src.RangeOf(o.key("name")), didYouMean("image") // `name` is the name of the container itself
		}
		o.p.add(o.near(d, name))
	}
}

// near adds to a diagnostic about missing properties a key that resembles one of them, in an object that may have any key.
func (o *object) near(d Diagnostic, missing ...string) Diagnostic {
	for i := 0; o.open && i+1 < len(o.node.Content); i += 2 {
		key := o.node.Content[i]
		meant := otherKeyFor(key.Value, missing)
		if key.Kind != yaml.ScalarNode || meant == "" || meant == key.Value {
			continue
		}
		d.Range = o.p.src.RangeOf(key)
		o.p.found = slices.DeleteFunc(o.p.found, func(w Diagnostic) bool { return w.Code == "SW128" && w.Range == d.Range })
		return o.p.src.otherKey(d, key, missing)
	}
	return o.instead(d, missing)
}

// instead makes an error about missing properties one about the word of another language that has one of them as its remedy, if a warning says so.
func (o *object) instead(d Diagnostic, missing []string) Diagnostic {
	i := slices.IndexFunc(o.p.found, func(w Diagnostic) bool {
		at := w.Pointer.Tokens()
		return w.Code == "SW128" && o.at.Key(at[len(at)-1]) == w.Pointer && slices.ContainsFunc(missing, func(m string) bool { return strings.Contains(w.Help, "`"+m+":") })
	})
	if i < 0 {
		return d
	}
	w := o.p.found[i]
	o.p.found = slices.Delete(o.p.found, i, i+1)
	d.Range, d.Help, d.Related = w.Range, w.Help, append(d.Related, w.Related...)
	return d
}

// reportNull reports a required property that is null.
func (o *object) reportNull(key *yaml.Node) {
	at := o.at.Key(key.Value)
	o.p.found = slices.DeleteFunc(o.p.found, func(d Diagnostic) bool { return d.Code == "SW131" && d.Pointer == at })
	o.p.add(Diagnostic{Code: "SW107", Message: fmt.Sprintf("`%s` of %s has no value", key.Value, o.what), Pointer: at, Range: o.p.src.RangeOf(key),
		Help: howToFill(o.what, key.Value)})
}

// report adds a diagnostic at the value of a property.
func (o *object) report(code, name, message string) { o.reportWith(code, name, message, "") }

// exactlyOne reports an error unless exactly one of the properties is present. It returns the first present property.
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
	if i := slices.IndexFunc(names, func(n string) bool { return o.key(n) != nil }); i >= 0 && len(present) == 0 {
		o.reportNull(o.key(names[i]))
		return ""
	}
	d := Diagnostic{
		Code: "SW122", Message: fmt.Sprintf("%s needs exactly one of `%s`", o.what, strings.Join(names, "`, `")),
		Pointer: o.at, Range: o.p.src.RangeOf(o.node), Help: chooseOne(len(present)),
	}
	if len(present) == 0 {
		d = o.near(d, names...)
	}
	if len(present) > 1 {
		d.Message += fmt.Sprintf(", got %d", len(present))
		d.Range = o.p.src.RangeOf(o.key(present[1]))
		d.Related = related(o.p.src.RangeOf(o.key(present[0])), "the first one")
	}
	o.p.add(d)
	return append(present, "")[0]
}

// openObject begins to decode a mapping that may have any property by the DSL. Only the known properties have a meaning: it warns of all others.
func (p *parser) openObject(n *yaml.Node, at Pointer, what string, known ...string) *object {
	o := p.object(n, at, what)
	o.idleObject(known)
	for i := 0; i+1 < len(o.node.Content); i += 2 {
		key := o.node.Content[i]
		if slices.Contains(known, key.Value) {
			o.reportBlank(key, o.node.Content[i+1])
			continue
		}
		if key.Kind != yaml.ScalarNode {
			continue
		}
		d := Diagnostic{
			Code: "SW128", Message: fmt.Sprintf("`%s` has no meaning in %s", key.Value, what), Pointer: at.Key(key.Value),
			Range: p.src.RangeOf(key), Expected: known, Help: "known: " + strings.Join(known, " "),
		}
		if member := memberWith(key.Value, known); member != "" {
			d.Label = fmt.Sprintf("move it into `%s`", member)
		} else if help := elsewhere(key.Value, known); help != "" && !slices.Contains(known, resembling()[key.Value]) {
			if d.Help = help; p.repeats(d) {
				continue
			}
		} else if meant := otherKeyFor(key.Value, known); o.value(meant) == nil {
			d = p.src.otherKey(d, key, known)
			d.Fix = onlyIf(false, d.Fix) // the document is valid as it is
		}
		p.add(d)
	}
	return o
}

// repeats adds a word of another language to the warning about an earlier word of the same object with the same remedy. It returns false if there is none.
func (p *parser) repeats(d Diagnostic) bool {
	for i, first := range p.found {
		at, other := first.Pointer.Tokens(), d.Pointer.Tokens()
		if first.Code == d.Code && first.Help == oneLine(d.Help) && slices.Equal(at[:len(at)-1], other[:len(other)-1]) {
			p.found[i].Related = append(first.Related, source.Related{Range: d.Range, Label: "this has the remedy of `" + oneLine(at[len(at)-1]) + "`"})
			return true
		}
	}
	return false
}

// wrongType reports a value of a wrong type. The parameter what names the place.
func (p *parser) wrongType(n *yaml.Node, at Pointer, what string, must wanted) {
	d := Diagnostic{Code: "SW108", Message: fmt.Sprintf("%s must be %s, got %s", what, must, source.Describe(n)), Pointer: at, Range: p.src.RangeOf(n)}
	d.Help = must.remedy(n)
	if _, err := strconv.Atoi(strings.TrimSpace(n.Value)); err == nil && source.IsText(n) {
		d.Help = "write the number without quotes"
	}
	p.add(d)
}
