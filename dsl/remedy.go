package dsl

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
)

// asObject returns how to write an object in the place of another value. Allowed are the properties that it may have, if they are known.
func asObject(n *yaml.Node, allowed []string) string {
	isList := n.Kind == yaml.SequenceNode
	switch {
	case isList && slices.Contains(allowed, "any"):
		return "write `any:` before the list for one of the events, or `all:` for all of them"
	case isList && nameOfFirst(n) != "":
		return fmt.Sprintf("write `%s:` in the place of `- name: %s`, and indent its properties below", nameOfFirst(n), nameOfFirst(n))
	case isList:
		return "write its members as `name: value`, without hyphens"
	case slices.Contains(allowed, "until") && !slices.Contains(allowed, "?read"):
		return "write a condition in quotes such as '.done', or `one: { with: { type: ... } }`"
	}
	known := slices.DeleteFunc(slices.Clone(allowed), func(a string) bool { return strings.HasPrefix(a, "?") })
	if len(known) == 0 {
		return propertiesBelow
	}
	return propertiesBelow + ": " + strings.Join(known, " ")
}

// nameOfFirst returns the name that the first object of a list has as a property, or "".
func nameOfFirst(list *yaml.Node) string {
	if len(list.Content) == 0 {
		return ""
	}
	_, name := source.Child(list.Content[0], "name")
	if name == nil || !source.IsText(name) {
		return ""
	}
	return oneLine(name.Value)
}

// asText returns how to write a text in the place of a list or an object.
func asText(n *yaml.Node) string {
	if n.Kind == yaml.SequenceNode {
		return "write one text, without hyphens and brackets"
	}
	return "write one text, in quotes if a colon or a brace is in it"
}

// asItem returns how to write an item of a list in the place of another value.
func asItem(l listed) string {
	return "write `- " + l.example + ":` and indent its properties below it"
}

// asName returns how to write a name in a list of names in the place of a text.
func asName(text string) string {
	switch {
	case strings.Contains(text, ">>") || strings.Contains(text, "->"):
		return "tasks run in the order of their list: leave it out"
	case strings.Trim(text, ".…") == "":
		return "leave it out, or write the task that it stands for"
	}
	return fmt.Sprintf("write `- %s:` with a colon, and indent its properties below", oneLine(text))
}

// wanted is the type of value that a place accepts, as a message names it.
type wanted string

const (
	objects            wanted = "an object"
	objectOrExpression wanted = "an object or an expression"
	expressionOrObject wanted = "an expression or an object"
	expressionOrList   wanted = "an expression or a list"
	numbers            wanted = "a number"
	wholeNumbers       wanted = "a whole number"
	taskLists          wanted = "a list of tasks"
)

// remedy returns how to write such a value in the place of another one.
func (w wanted) remedy(n *yaml.Node) string {
	switch w {
	case objects:
		return asObject(n, nil)
	case objectOrExpression:
		return "write its members as `name: value`, without hyphens, or an expression such as '${ .name }'"
	case expressionOrObject:
		return "write an expression such as '${ .name }', or its members as `name: value`, without hyphens"
	case expressionOrList:
		return "write an expression such as '${ .items }', or each item after a hyphen"
	case numbers, wholeNumbers:
		return "write one number, without quotes"
	case taskLists:
		return "write each task as `- name:` with its properties indented below"
	}
	return ""
}

// chooseOne returns the help for properties of which exactly one must be present; present is the number of present properties.
func chooseOne(present int) string {
	if present > 1 {
		return "remove all but one"
	}
	return "write one of them, with its value"
}

// howToWriteObject returns how to write an object in the place of one value.
func (s *Source) howToWriteObject(what string, n *yaml.Node, allowed []string) string {
	return cmp.Or(s.howToWrite(what, n), asObject(n, allowed))
}

// reportWith adds a diagnostic at the value of a property, with its help.
func (o *object) reportWith(code, name, message, help string) {
	o.p.add(Diagnostic{Code: code, Message: message, Pointer: o.at.Key(name), Range: o.p.src.RangeOf(o.value(name)), Help: help})
}

// helpBetter replaces the help of the last diagnostic, unless the new help is empty.
func (p *parser) helpBetter(help string) {
	if help != "" {
		p.found[len(p.found)-1].Help = oneLine(help)
	}
}
