package source

import (
	"bytes"
	"sort"
	"strconv"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// Tree is a text, the nodes that were read from it, and the place of each node. Aliases and merge keys are replaced by their values, so that a node
// may be at several places of the tree.
type Tree struct {
	File string
	Text []byte
	Root *yaml.Node // nil if the text could not be read

	json  bool  // the text is JSON
	lines []int // offset of each line's first byte
	runes []int // characters before every stride-th byte, so that long lines are not slow

	aliases map[*yaml.Node][]*yaml.Node // of a collection: for each of its nodes the alias at that place in the text, or nil
	anchors map[string]*yaml.Node       // nil if the text has no anchors

	narrowed map[int][]narrowing // the escapes that the library reads in a shorter form, by line
}

const stride = 256

// newTree returns the tree of a text that has not been read yet.
func newTree(file string, text []byte) *Tree {
	t := &Tree{File: file, Text: text, lines: []int{0}}
	if bytes.HasPrefix(text, []byte("\xef\xbb\xbf")) { // a byte order mark belongs to no line
		t.lines[0] = len("\xef\xbb\xbf")
	}
	count := 0
	for i, b := range text {
		if i%stride == 0 {
			t.runes = append(t.runes, count)
		}
		if b == '\n' {
			t.lines = append(t.lines, i+1)
		}
		if utf8.RuneStart(b) {
			count++
		}
	}
	t.runes = append(t.runes, count)
	return t
}

// runesBefore returns the number of characters before an offset.
func (t *Tree) runesBefore(offset int) int {
	i := min(offset/stride, len(t.runes)-1)
	if i*stride > offset || offset == len(t.Text) {
		return t.runes[len(t.runes)-1]
	}
	count := t.runes[i]
	for _, b := range t.Text[i*stride : offset] {
		if utf8.RuneStart(b) {
			count++
		}
	}
	return count
}

// byteOffset returns the offset of the character that has n characters before it.
func (t *Tree) byteOffset(n int) int {
	i := max(0, sort.SearchInts(t.runes, n+1)-1)
	offset := min(i*stride, len(t.Text))
	for count := t.runes[i]; offset < len(t.Text); offset++ {
		if !utf8.RuneStart(t.Text[offset]) {
			continue
		}
		if count == n {
			break
		}
		count++
	}
	return offset
}

// Lines returns the number of lines.
func (t *Tree) Lines() int { return len(t.lines) }

// Line returns the text of a line without its end; lines count from 1.
func (t *Tree) Line(line int) []byte {
	if line < 1 || line > len(t.lines) {
		return nil
	}
	return bytes.TrimRight(t.Text[t.LineStart(line):t.LineStart(line+1)], "\r\n")
}

// LineStart returns the offset of a line's first byte; for the line after the last one, the end of the text.
func (t *Tree) LineStart(line int) int {
	if line > len(t.lines) {
		return len(t.Text)
	}
	return t.lines[line-1]
}

// PositionOf returns the position of a byte offset.
func (t *Tree) PositionOf(offset int) Position {
	offset = min(max(offset, t.lines[0]), len(t.Text))
	line := sort.SearchInts(t.lines, offset+1)
	return Position{Line: line, Column: t.runesBefore(offset) - t.runesBefore(t.lines[line-1]) + 1, Offset: offset}
}

// OffsetOf returns the offset of a node's first byte.
func (t *Tree) OffsetOf(n *yaml.Node) int {
	if n.Line < 1 || n.Line > len(t.lines) {
		return len(t.Text)
	}
	return t.byteOffset(t.runesBefore(t.lines[n.Line-1]) + n.Column - 1)
}

// RangeOf returns the range of a node: the whole of a scalar and of an empty collection, the first line of another collection.
func (t *Tree) RangeOf(n *yaml.Node) Range {
	if n == nil {
		return Range{t.PositionOf(0), t.PositionOf(0)}
	}
	start, end := t.OffsetOf(n), len(t.Text)
	if n.Kind != yaml.ScalarNode {
		end = t.closed(n)
	}
	if n.Kind == yaml.ScalarNode {
		_, ends := t.offsets(n)
		end = ends[len(ends)-1]
		if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 && end < len(t.Text) {
			end++
		}
	}
	return Range{t.PositionOf(start), t.PositionOf(t.endOfLine(start, end))}
}

// closed returns the offset behind the bracket that closes a list or an object in brackets, and the end of the text for any other.
func (t *Tree) closed(n *yaml.Node) int {
	at := t.OffsetOf(n)
	if at >= len(t.Text) || t.Text[at] != '[' && t.Text[at] != '{' {
		return len(t.Text)
	}
	at++
	if last := len(n.Content) - 1; last >= 0 {
		at = max(at, t.endOf(n.Content[last]))
		if aliases := t.aliases[n]; aliases != nil && aliases[last] != nil {
			at = t.OffsetOf(aliases[last])
		}
	}
	for comment := false; at < len(t.Text); at++ {
		switch c := t.Text[at]; {
		case c == '\n':
			comment = false
		case c == '#' && bytes.IndexByte([]byte(" \t\n"), t.Text[at-1]) >= 0:
			comment = true
		case !comment && (c == ']' || c == '}'):
			return at + 1
		}
	}
	return at
}

// endOf returns the offset behind a node.
func (t *Tree) endOf(n *yaml.Node) int {
	if n.Kind != yaml.ScalarNode {
		return t.closed(n)
	}
	_, ends := t.offsets(n)
	return ends[len(ends)-1]
}

// RangeWithin returns the range of the bytes [from, to) of a scalar's value, through quotes, escapes and block scalars. Offsets outside the value are
// moved to its ends.
func (t *Tree) RangeWithin(n *yaml.Node, from, to int) Range {
	starts, ends := t.offsets(n)
	last := len(starts) - 1
	from, to = min(max(from, 0), last), min(max(to, 0), last)
	return Range{t.PositionOf(starts[from]), t.PositionOf(max(starts[from], ends[to]))}
}

// firstLine returns the range from the beginning of a node to the end of its line.
func (t *Tree) firstLine(n *yaml.Node) Range {
	start := t.OffsetOf(n)
	return Range{t.PositionOf(start), t.PositionOf(t.endOfLine(start, len(t.Text)))}
}

// endOfLine returns end, or the end of the line of start if that comes first.
func (t *Tree) endOfLine(start, end int) int {
	if line := t.PositionOf(start).Line; line < len(t.lines) {
		end = min(end, t.lines[line]-1)
	}
	start, end = min(start, len(t.Text)), min(end, len(t.Text))
	return start + len(bytes.TrimRight(t.Text[start:max(start, end)], " \t\r\n"))
}

// LastLine returns the last line of a node. A closing bracket on a line of its own does not count.
func (t *Tree) LastLine(n *yaml.Node) int {
	line := n.Line
	if n.Kind == yaml.ScalarNode {
		_, ends := t.offsets(n)
		line = t.PositionOf(max(t.OffsetOf(n), ends[len(ends)-1]-1)).Line
	}
	for _, c := range n.Content {
		line = max(line, t.LastLine(c))
	}
	return line
}

// Child returns the key and value of a mapping's member, or an item of a sequence as both. Both are nil if it does not exist.
func Child(n *yaml.Node, token string) (key, value *yaml.Node) {
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

// pathTo returns the path to a node, as keys and indices. The path to a key is the path to its value.
func (t *Tree) pathTo(n *yaml.Node) []string {
	path, _ := pathIn(t.Root, n)
	return path
}

func pathIn(tree, n *yaml.Node) (path []string, found bool) {
	if tree == n {
		return nil, true
	}
	for i, c := range tree.Content {
		token := strconv.Itoa(i)
		if tree.Kind == yaml.MappingNode {
			token = tree.Content[i&^1].Value
		}
		if rest, ok := pathIn(c, n); ok {
			return append([]string{token}, rest...), true
		}
	}
	return nil, false
}
