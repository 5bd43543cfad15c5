package dsl

import (
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/internal/shorten"
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

// quoted shows a text in a message, cut to a length that is read.
func quoted(s string) string {
	const most = 200
	return strconv.Quote(shorten.To(s, most))
}
