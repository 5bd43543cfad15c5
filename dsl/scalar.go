package dsl

import (
	"bytes"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// offsets returns, for every byte of a scalar's decoded value and for its end, the offset in the text that it comes
// from. The YAML library tells only where the scalar begins.
func (s *Source) offsets(n *yaml.Node) []int {
	w := &scalarWalk{text: s.Text, at: s.start(n), value: n.Value}
	switch {
	case n.Style&yaml.DoubleQuotedStyle != 0:
		w.at++
		w.escape = '\\'
	case n.Style&yaml.SingleQuotedStyle != 0:
		w.at++
		w.escape = '\''
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		w.header()
	}
	for w.done < len(w.value) {
		w.step()
	}
	return append(w.offsets, w.at)
}

// scalarWalk follows a decoded value through the text that it was read from.
type scalarWalk struct {
	text    []byte
	at      int // offset in text
	value   string
	done    int // bytes of value whose offsets are known
	escape  byte
	indent  int // of a block scalar
	block   bool
	offsets []int
}

// header passes over a block scalar's indicators and finds its indentation.
func (w *scalarWalk) header() {
	w.block = true
	explicit := 0
	for w.at < len(w.text) && w.text[w.at] != '\n' {
		if c := w.text[w.at]; c >= '1' && c <= '9' && explicit == 0 {
			explicit = int(c - '0')
		}
		w.at++
	}
	w.at++
	for line := w.at; line < len(w.text); {
		end := bytes.IndexByte(w.text[line:], '\n')
		if end < 0 {
			end = len(w.text) - line
		}
		if blank := bytes.TrimLeft(w.text[line:line+end], " "); len(blank) > 0 && blank[0] != '\r' {
			w.indent = end - len(blank)
			break
		}
		line += end + 1
	}
	if explicit > 0 { // leading spaces belong to the value
		w.indent -= len(w.value) - len(trimSpaces(w.value))
	}
	w.skipIndent()
}

func trimSpaces(s string) string {
	for len(s) > 0 && s[0] == ' ' {
		s = s[1:]
	}
	return s
}

func (w *scalarWalk) skipIndent() {
	for i := 0; i < w.indent && w.at < len(w.text) && w.text[w.at] == ' '; i++ {
		w.at++
	}
}

// take notes that the next n bytes of the value come from the current offset, which then moves on by size.
func (w *scalarWalk) take(n, size int) {
	for range min(n, len(w.value)-w.done) {
		w.offsets = append(w.offsets, min(w.at, len(w.text)))
	}
	w.done += n
	w.at += size
}

func (w *scalarWalk) step() {
	if w.at >= len(w.text) {
		w.take(len(w.value)-w.done, 0)
		return
	}
	c, next := w.text[w.at], w.value[w.done]
	switch {
	case c == '\n' || c == '\r' && w.at+1 < len(w.text) && w.text[w.at+1] == '\n':
		w.lineBreak(next)
	case c == w.escape && c == '\\':
		w.escaped()
	case c == w.escape && w.at+1 < len(w.text) && w.text[w.at+1] == c: // '' in single quotes
		w.take(1, 2)
	case (c == ' ' || c == '\t') && !w.block && w.trailing():
		w.skipSpace()
	default:
		_, size := utf8.DecodeRune(w.text[w.at:])
		w.copy(size)
	}
}

// copy takes one character that stands for itself, byte by byte.
func (w *scalarWalk) copy(size int) {
	for range size {
		if w.done < len(w.value) {
			w.offsets = append(w.offsets, w.at)
		}
		w.done++
		w.at++
	}
	w.done = min(w.done, len(w.value))
}

// trailing reports whether only white space follows on the line: folding drops it.
func (w *scalarWalk) trailing() bool {
	rest := bytes.TrimLeft(w.text[w.at:], " \t\r")
	return len(rest) > 0 && rest[0] == '\n'
}

func (w *scalarWalk) skipSpace() {
	for w.at < len(w.text) && (w.text[w.at] == ' ' || w.text[w.at] == '\t') {
		w.at++
	}
}

// lineBreak passes over one line break, which is a line break of the value, a space, or nothing.
func (w *scalarWalk) lineBreak(next byte) {
	size := 1
	if w.text[w.at] == '\r' {
		size = 2
	}
	if next == '\n' || next == ' ' {
		w.take(1, size)
	} else {
		w.at += size
	}
	if w.block {
		w.skipIndent()
		return
	}
	w.skipSpace()
	for w.at < len(w.text) && w.text[w.at] == '\n' && w.done < len(w.value) && w.value[w.done] != '\n' && next == '\n' {
		w.at++
		w.skipSpace()
	}
}

// escaped passes over an escape sequence of a double-quoted scalar.
func (w *scalarWalk) escaped() {
	if w.at+1 >= len(w.text) {
		w.take(1, 1)
		return
	}
	size := 2
	switch w.text[w.at+1] {
	case 'x':
		size = 4
	case 'u':
		size = 6
	case 'U':
		size = 10
	case '\n', '\r': // the break itself is escaped: nothing of it is left
		w.at += 2
		w.skipSpace()
		return
	}
	r, n := utf8.DecodeRuneInString(w.value[w.done:])
	if size == 6 && r > 0xFFFF { // a pair of surrogates
		size = 12
	}
	w.take(n, size)
}
