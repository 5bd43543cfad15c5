package dsl

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// idleValue keeps a SW134 about a property with an empty object or list that does nothing, for reportIdle.
func (o *object) idleValue(name, message, help string) {
	if n := o.value(name); n != nil && n.Kind != yaml.ScalarNode && len(n.Content) == 0 {
		o.p.idles = append(o.p.idles, Diagnostic{Code: "SW134", Message: message, Pointer: o.at.Key(name), Range: o.p.src.RangeOf(n), Help: help})
	}
}

// idleTasks keeps one for a list of tasks. If the list is required, its task can be removed, but not the list alone. Beside a policy for retries, an
// empty `do` of a catch handles the error of the last attempt.
func (o *object) idleTasks(name string) {
	has := func(name string) bool { return o.value(name) != nil }
	help := howToFill(o.what, "do")
	switch {
	case o.what == "`catch`" && has("retry"):
		return
	case slices.Contains([]string{"`catch`", "`foreach`", "an extension"}, o.what):
		help += ", or remove it"
	case o.what == "a `do` task" && slices.ContainsFunc([]string{"input", "output", "export", "then"}, has):
		help += ", or write `set: '${ . }'` in its place if the other properties are all that is meant"
	case o.what != aWorkflow:
		help += ", or remove the task"
	}
	o.idleValue(name, fmt.Sprintf("`%s` is empty, so it runs nothing", name), help)
}

// idleObject keeps one for an object that has no property with a value. Known are the properties that it may have.
func (o *object) idleObject(known []string) {
	has := func(name string) bool { return o.value(name) != nil }
	if o.node.Line == 0 || slices.Contains(notIdle(), o.what) || slices.ContainsFunc(o.keys(), has) { // a `with` that is absent has no line
		return
	}
	known = slices.DeleteFunc(slices.Clone(known), func(name string) bool { return strings.HasPrefix(name, "?") })
	message, some := o.what+" is empty, so it does nothing", "`"+strings.Join(known, "`, `")+"`"
	if len(o.node.Content) > 0 {
		message = fmt.Sprintf("no property of %s has a value, so it does nothing", o.what)
	}
	if len(known) > 1 {
		some = "at least one of " + some
	}
	o.p.idles = append(o.p.idles, Diagnostic{Code: "SW134", Message: message, Pointer: o.at, Range: o.p.src.RangeOf(o.node), Help: fmt.Sprintf("give it %s, or remove it", some)})
}

// idleWithout keeps one for an object that does nothing without one of its properties.
func (o *object) idleWithout(message, help string, names ...string) {
	if !slices.ContainsFunc(names, func(name string) bool { return o.value(name) != nil }) {
		o.p.idles = append(o.p.idles, Diagnostic{Code: "SW134", Message: message, Pointer: o.at, Range: o.p.src.RangeOf(o.node), Help: help})
	}
}

// notIdle returns the objects that may be empty. A catch without properties catches every error, a retry policy without properties has its defaults,
// and a message without properties is sent. `use` is a place for definitions, as the maps in it are. SW704 is about a schedule.
func notIdle() []string {
	return []string{"`catch`", "a retry policy", "`message`", "`use`", "`schedule`"}
}

// reportIdle reports the values that do nothing, after all other diagnostics: no other diagnostic may be about such a value, or a place inside it.
func (p *parser) reportIdle() {
	told := map[string]bool{}
	for _, d := range p.found {
		at := string(d.Pointer)
		for told[at] = true; at != ""; told[at] = true {
			at = at[:max(0, strings.LastIndexByte(at, '/'))]
		}
	}
	for _, d := range p.idles {
		if at := string(d.Pointer); !told[at] {
			told[at] = true // some values are read twice
			p.add(d)
		}
	}
}
