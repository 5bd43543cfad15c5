package dsl

import (
	"cmp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// asObject returns how to write an object in whose place another value stands. Allowed are the properties that it may have, if they are known.
func asObject(n *yaml.Node, allowed []string) string {
	if n.Kind == yaml.SequenceNode {
		return "write its members as `name: value`, without hyphens"
	}
	known := slices.DeleteFunc(slices.Clone(allowed), func(a string) bool { return strings.HasPrefix(a, "?") })
	if len(known) == 0 {
		return propertiesBelow
	}
	return propertiesBelow + ": " + strings.Join(known, " ")
}

// asText returns how to write a text in whose place a list or an object stands.
func asText(n *yaml.Node) string {
	if n.Kind == yaml.SequenceNode {
		return "write one text, without hyphens and brackets"
	}
	return "write one text, in quotes if a colon or a brace is in it"
}

// asItem returns how to write an item of a list in whose place another value stands.
func asItem(l listed) string {
	return "write `- " + l.example + ":` and indent its properties below it"
}

// asNamed returns how to write what a message asks for, in the place of a value of another type: the message ends with it.
func asNamed(message string, n *yaml.Node) string {
	for _, one := range []struct{ wanted, help string }{
		{"must be a list of tasks", "write each task as `- name:` with its properties indented below"},
		{"must be an object or an expression", "write its members as `name: value`, without hyphens, or an expression such as '${ .name }'"},
		{"must be an expression or an object", "write an expression such as '${ .name }', or its members as `name: value`, without hyphens"},
		{"number", "write one number, without quotes"},
		{"must be an object", asObject(n, nil)},
	} {
		if strings.HasSuffix(message, one.wanted) {
			return one.help
		}
	}
	return ""
}

// chooseOne returns what to do about properties of which exactly one must be there, and about how many are.
func chooseOne(present int) string {
	if present > 1 {
		return "remove all but one"
	}
	return "write one of them, with its value"
}

// howToWriteObject returns how to write an object in whose place one value stands.
func (s *Source) howToWriteObject(what string, n *yaml.Node, allowed []string) string {
	return cmp.Or(s.howToWrite(what, n), asObject(n, allowed))
}

// reportWith adds a diagnostic at the value of a property, with what to do about it.
func (o *object) reportWith(code, name, message, help string) {
	o.p.add(Diagnostic{Code: code, Message: message, Pointer: o.at.Key(name), Range: o.p.src.RangeOf(o.value(name)), Help: help})
}
