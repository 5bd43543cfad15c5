package source

import "bytes"

// structure is the result of a scan of a text that cannot be parsed: text in quotes, and brackets that are not closed.
type structure struct {
	quotes []quotation
	open   []int // offsets of the brackets
	marks  []int // offsets of question marks in brackets that are part of a text
}

// quotation is the range of a text in quotes, with the quotes.
type quotation struct{ at, end int }

// lateQuote returns the text in quotes that began on an earlier line and ends before a problem on the same line, or nil. Its first
// quote was probably never closed, and the quote that seems to end it opens another text.
func (s *structure) lateQuote(src *Tree, problem int) *quotation {
	line := src.PositionOf(problem).Line
	for i := len(s.quotes) - 1; i >= 0; i-- {
		q := &s.quotes[i]
		if last := src.PositionOf(q.end).Line; last == line && q.end <= problem && src.PositionOf(q.at).Line < line {
			return q
		}
	}
	return nil
}

// quoted reports whether text in quotes ends right before an offset, except for white space.
func (s *structure) quoted(offset int, src *Tree) bool {
	for _, q := range s.quotes {
		if q.end <= offset && len(bytes.TrimSpace(src.Text[q.end:offset])) == 0 {
			return true
		}
	}
	return false
}

// scan finds the text in quotes before an offset. Quotes inside plain text, comments and block scalars do not count.
func (t *Tree) scan(until int) *structure {
	c := &structureScan{source: t, at: t.lines[0], until: min(until+1, len(t.Text)), start: true}
	for c.at < c.until {
		c.step()
	}
	return &structure{c.found, c.open, c.marks}
}

type structureScan struct {
	source    *Tree
	at, until int
	start     bool  // a value may begin here
	open      []int // brackets
	found     []quotation
	marks     []int
}

func (c *structureScan) peek() byte {
	if c.at+1 < len(c.source.Text) {
		return c.source.Text[c.at+1]
	}
	return '\n'
}

func (c *structureScan) step() {
	b := c.source.Text[c.at]
	switch {
	case isSpace(b):
		c.start = c.start || b == '\n'
	case b == '#' && (c.at == 0 || isSpace(c.source.Text[c.at-1])):
		c.skipTo('\n')
		return
	case (b == '\'' || b == '"') && c.start:
		c.quote(b)
		return
	case (b == '|' || b == '>') && c.start && len(c.open) == 0:
		c.block()
		return
	case (b == '[' || b == '{') && (c.start || len(c.open) > 0):
		c.open = append(c.open, c.at)
		c.start = true
	case (b == ']' || b == '}') && len(c.open) > 0:
		c.open = c.open[:len(c.open)-1]
		c.start = false
	case b == ',' && len(c.open) > 0:
		c.start = true
	case b == ':' && (isSpace(c.peek()) || len(c.open) > 0 && c.at > 0 && (c.source.Text[c.at-1] == '"' || c.source.Text[c.at-1] == '\'')):
		c.start = true
	case (b == '-' || b == '?') && c.start && isSpace(c.peek()):
	case b == '?' && len(c.open) > 0:
		c.marks = append(c.marks, c.at)
		c.start = false
	case (b == '!' || b == '&') && c.start:
		for c.at+1 < c.until && !isSpace(c.peek()) {
			c.at++
		}
	default:
		c.start = false
	}
	c.at++
}

func (c *structureScan) skipTo(b byte) {
	if i := bytes.IndexByte(c.source.Text[c.at:], b); i >= 0 {
		c.at += i
		return
	}
	c.at = len(c.source.Text)
}

func (c *structureScan) quote(b byte) {
	text, at := c.source.Text, c.at
	for c.at++; c.at < len(text); c.at++ {
		switch {
		case b == '"' && text[c.at] == '\\', b == '\'' && text[c.at] == b && c.peek() == b:
			c.at++
		case text[c.at] == b:
			c.at++
			c.found, c.start = append(c.found, quotation{at, c.at}), false
			return
		}
	}
}

// block skips a block scalar: all lines that are indented deeper than the line where it begins.
func (c *structureScan) block() {
	first := c.source.PositionOf(c.at).Line
	indent := indentOf(c.source.Line(first))
	line := first + 1
	for ; line <= len(c.source.lines); line++ {
		if text := c.source.Line(line); len(bytes.TrimSpace(text)) > 0 && indentOf(text) <= indent {
			break
		}
	}
	c.at, c.start = len(c.source.Text), true
	if line <= len(c.source.lines) {
		c.at = c.source.lines[line-1]
	}
}
