package dsl

import (
	"bytes"
	"sort"
	"strconv"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// Source is the text of a document and the place of everything in it.
type Source struct {
	File string
	Text []byte

	json          bool       // the text is JSON
	root          *yaml.Node // nil if the text is no YAML at all
	lines         []int      // offset of each line's first byte
	errorPointers []Pointer  // where Parse has found errors

	via     map[*yaml.Node][]*yaml.Node // the aliases that stand in collections, as the expander found them
	anchors map[string]*yaml.Node       // nil if there are none

	pairs map[int][]int // of surrogates: the columns where they begin, by line

	runes []int // characters before every stride-th byte, so that long lines are no slower
}

const stride = 256

func newSource(file string, text []byte) *Source {
	s := &Source{File: file, Text: text, lines: []int{0}}
	if bytes.HasPrefix(text, []byte("\xef\xbb\xbf")) { // a byte order mark belongs to no line
		s.lines[0] = len("\xef\xbb\xbf")
	}
	count := 0
	for i, b := range text {
		if i%stride == 0 {
			s.runes = append(s.runes, count)
		}
		if b == '\n' {
			s.lines = append(s.lines, i+1)
		}
		if utf8.RuneStart(b) {
			count++
		}
	}
	s.runes = append(s.runes, count)
	return s
}

// runesBefore returns the number of characters before an offset.
func (s *Source) runesBefore(offset int) int {
	i := min(offset/stride, len(s.runes)-1)
	if i*stride > offset || offset == len(s.Text) {
		return s.runes[len(s.runes)-1]
	}
	count := s.runes[i]
	for _, b := range s.Text[i*stride : offset] {
		if utf8.RuneStart(b) {
			count++
		}
	}
	return count
}

// offsetOf returns the offset of the character that has n characters before it.
func (s *Source) offsetOf(n int) int {
	i := max(0, sort.SearchInts(s.runes, n+1)-1)
	offset := min(i*stride, len(s.Text))
	for count := s.runes[i]; offset < len(s.Text); offset++ {
		if !utf8.RuneStart(s.Text[offset]) {
			continue
		}
		if count == n {
			break
		}
		count++
	}
	return offset
}

// Line returns the text of a line without its end; lines count from 1.
func (s *Source) Line(line int) []byte {
	if line < 1 || line > len(s.lines) {
		return nil
	}
	end := len(s.Text)
	if line < len(s.lines) {
		end = s.lines[line]
	}
	return bytes.TrimRight(s.Text[s.lines[line-1]:end], "\r\n")
}

// Key returns where the key of p stands (/do/0/greet: the word greet), or the nearest enclosing place that exists.
func (s *Source) Key(p Pointer) Range {
	key, _, _ := s.find(p)
	return s.span(key)
}

// Value returns where the value of p stands, or the nearest enclosing place that exists.
func (s *Source) Value(p Pointer) Range {
	key, value, _ := s.find(p)
	if value == nil || value.Kind == yaml.ScalarNode && value.Value == "" && value.Style == 0 {
		return s.span(key)
	}
	return s.span(value)
}

// Within returns where the bytes [from, to) of the string value of p stand, through quotes, escapes and block
// scalars. Offsets outside the value are moved to its ends.
func (s *Source) Within(p Pointer, from, to int) Range {
	_, n, exact := s.find(p)
	if !exact || n.Kind != yaml.ScalarNode {
		return s.Value(p)
	}
	starts, ends := s.offsets(n)
	last := len(starts) - 1
	from, to = min(max(from, 0), last), min(max(to, 0), last)
	return Range{s.position(starts[from]), s.position(max(starts[from], ends[to]))}
}

// Data returns the value of p as plain JSON data (nil, bool, int, float64, json.Number for numbers that fit
// neither, string, []any, map[string]any), or nil if there is none.
func (s *Source) Data(p Pointer) any {
	if _, n, exact := s.find(p); exact {
		return dataOf(n)
	}
	return nil
}

// find returns the key and value nodes of p, or of the nearest enclosing place that exists; exact says which. For
// items of sequences and for the whole document the key is the value itself. Both are nil if there is no tree at all.
func (s *Source) find(p Pointer) (key, value *yaml.Node, exact bool) {
	key, value = s.root, s.root
	for _, token := range p.Tokens() {
		k, v := child(value, token)
		if v == nil {
			return key, value, false
		}
		key, value = k, v
	}
	return key, value, value != nil
}

// pointerTo returns the pointer of a node: for a key, that of its value.
func (s *Source) pointerTo(n *yaml.Node) Pointer {
	p, _ := pointerIn(s.root, n, "")
	return p
}

func pointerIn(tree, n *yaml.Node, at Pointer) (Pointer, bool) {
	if tree == n {
		return at, true
	}
	for i, c := range tree.Content {
		inner := at.Index(i)
		if tree.Kind == yaml.MappingNode {
			inner = at.Key(tree.Content[i&^1].Value)
		}
		if p, ok := pointerIn(c, n, inner); ok {
			return p, true
		}
	}
	return "", false
}

func child(n *yaml.Node, token string) (key, value *yaml.Node) {
	if n == nil {
		return nil, nil
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == token {
				return n.Content[i], n.Content[i+1]
			}
		}
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(n.Content) {
			return n.Content[i], n.Content[i]
		}
	}
	return nil, nil
}

// position returns the position of a byte offset.
func (s *Source) position(offset int) Position {
	offset = min(max(offset, s.lines[0]), len(s.Text))
	line := sort.SearchInts(s.lines, offset+1)
	return Position{Line: line, Column: s.runesBefore(offset) - s.runesBefore(s.lines[line-1]) + 1, Offset: offset}
}

// start returns the offset of a node's first byte.
func (s *Source) start(n *yaml.Node) int {
	if n.Line < 1 || n.Line > len(s.lines) {
		return len(s.Text)
	}
	return s.offsetOf(s.runesBefore(s.lines[n.Line-1]) + n.Column - 1)
}

// span returns where a node stands: a scalar as a whole, of a collection the first line.
func (s *Source) span(n *yaml.Node) Range {
	if n == nil {
		return Range{s.position(0), s.position(0)}
	}
	start := s.start(n)
	if n.Kind == yaml.ScalarNode {
		_, ends := s.offsets(n)
		end := ends[len(ends)-1]
		if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 && end < len(s.Text) {
			end++
		}
		return Range{s.position(start), s.position(s.endOfLine(start, end))}
	}
	return Range{s.position(start), s.position(s.endOfLine(start, len(s.Text)))}
}

// endOfLine returns end, or the end of the line of start if that comes first.
func (s *Source) endOfLine(start, end int) int {
	if line := s.position(start).Line; line < len(s.lines) {
		end = min(end, s.lines[line]-1)
	}
	start, end = min(start, len(s.Text)), min(end, len(s.Text))
	return start + len(bytes.TrimRight(s.Text[start:max(start, end)], " \t\r\n"))
}

// lastLine returns the last line that a node stands on; a closing bracket alone on its line is not seen.
func (s *Source) lastLine(n *yaml.Node) int {
	line := n.Line
	if n.Kind == yaml.ScalarNode {
		_, ends := s.offsets(n)
		line = s.position(max(s.start(n), ends[len(ends)-1]-1)).Line
	}
	for _, c := range n.Content {
		line = max(line, s.lastLine(c))
	}
	return line
}
