package dsl

import (
	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
)

// Source is the text of a document and the places of everything in it, by pointer.
type Source struct {
	*source.Tree

	at            Pointer   // the beginning of all pointers in the text: empty for a document
	errorPointers []Pointer // places of errors that Parse found
}

// Key returns the range of the key of p (/do/0/greet: the word greet), or of the nearest enclosing place that exists.
func (s *Source) Key(p Pointer) source.Range {
	key, _, _ := s.find(p)
	return s.RangeOf(key)
}

// Value returns the range of the value of p, or of the nearest enclosing place that exists.
func (s *Source) Value(p Pointer) source.Range {
	key, value, _ := s.find(p)
	if value == nil || value.Kind == yaml.ScalarNode && value.Value == "" && value.Style == 0 {
		return s.RangeOf(key)
	}
	return s.RangeOf(value)
}

// Within returns the range of the bytes [from, to) of the string value of p, through quotes, escapes and block scalars. Offsets outside the value are
// moved to its ends.
func (s *Source) Within(p Pointer, from, to int) source.Range {
	_, n, exact := s.find(p)
	if !exact || n.Kind != yaml.ScalarNode {
		return s.Value(p)
	}
	return s.RangeWithin(n, from, to)
}

// Data returns the value of p as plain JSON data (nil, bool, int, float64, json.Number for numbers that fit neither, string, []any, map[string]any),
// or nil if it does not exist.
func (s *Source) Data(p Pointer) any {
	if _, n, exact := s.find(p); exact {
		return source.Data(n)
	}
	return nil
}

// find returns the key and value nodes of p, or of the nearest enclosing place that exists; exact is true for p itself. For items of sequences and
// for the whole document the key is the value itself. Both are nil if there is no tree at all.
func (s *Source) find(p Pointer) (key, value *yaml.Node, exact bool) {
	key, value = s.Root, s.Root
	for _, token := range s.tokens(p) {
		k, v := source.Child(value, token)
		if v == nil {
			return key, value, false
		}
		key, value = k, v
	}
	return key, value, value != nil
}

// withAlias adds to a diagnostic the alias that uses its text, if there is one. It omits an edit that could change other places as well.
func (s *Source) withAlias(d Diagnostic) Diagnostic {
	alias, ok := s.AliasOn(s.tokens(d.Pointer))
	if ok {
		d.Related = append(d.Related, alias)
	}
	if ok || !s.ChangesOneNode(d.Fix) {
		d.Fix = nil
	}
	return d
}
