package source

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// offsets returns the offsets in the text of the bytes of a scalar's decoded value, with one more element for its end: byte i begins at starts[i] and
// ends at ends[i+1]. The YAML library only reports where the scalar begins.
func (t *Tree) offsets(n *yaml.Node) (starts, ends []int) {
	w := &scalarWalk{text: t.Text, at: t.OffsetOf(n), value: n.Value}
	w.skipTag()
	w.ends = append(w.ends, w.at)
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
	w.ends[0] = w.at
	for w.done < len(w.value) {
		w.step()
	}
	return append(w.starts, w.at), w.ends
}

// scalarWalk follows a decoded value through the text from which it was read.
type scalarWalk struct {
	text   []byte
	at     int // offset in text
	value  string
	done   int // bytes of value whose offsets are known
	escape byte
	indent int // of a block scalar
	block  bool
	starts []int
	ends   []int
}

// skipTag skips a tag and an anchor before the scalar.
func (w *scalarWalk) skipTag() {
	if w.at >= len(w.text) || w.text[w.at] != '!' && w.text[w.at] != '&' {
		return
	}
	for w.at < len(w.text) && !isSpace(w.text[w.at]) {
		w.at++
	}
	for w.at < len(w.text) && (isSpace(w.text[w.at]) || w.text[w.at] == '#') {
		if w.text[w.at] == '#' { // a comment up to the end of the line
			w.at += max(0, bytes.IndexByte(w.text[w.at:], '\n'))
		}
		w.at++
	}
	w.skipTag() // a tag and an anchor may be in either order
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// header skips a block scalar's indicators and finds its indentation.
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
		for line := range strings.SplitSeq(w.value, "\n") {
			if text := strings.TrimLeft(line, " "); text != "" {
				w.indent -= len(line) - len(text)
				break
			}
		}
	}
	w.skipIndent()
}

func (w *scalarWalk) skipIndent() {
	for i := 0; i < w.indent && w.at < len(w.text) && w.text[w.at] == ' '; i++ {
		w.at++
	}
}

// take records that the next n bytes of the value come from the current offset, which then advances by size.
func (w *scalarWalk) take(n, size int) {
	for range min(n, len(w.value)-w.done) {
		w.starts = append(w.starts, min(w.at, len(w.text)))
		w.ends = append(w.ends, min(w.at+size, len(w.text)))
	}
	w.done = min(w.done+n, len(w.value))
	w.at = min(w.at+size, len(w.text))
}

func (w *scalarWalk) step() {
	if w.at >= len(w.text) {
		w.take(len(w.value)-w.done, 0)
		return
	}
	c, next := w.text[w.at], w.value[w.done]
	switch {
	case w.breakSize() > 0:
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

// copy takes one character that represents itself, byte by byte.
func (w *scalarWalk) copy(size int) {
	for range size {
		w.take(1, 1)
	}
}

// trailing reports whether only white space follows on the line; folding removes it.
func (w *scalarWalk) trailing() bool {
	rest := bytes.TrimLeft(w.text[w.at:], " \t\r")
	return len(rest) > 0 && rest[0] == '\n'
}

func (w *scalarWalk) skipSpace() {
	for w.at < len(w.text) && (w.text[w.at] == ' ' || w.text[w.at] == '\t') {
		w.at++
	}
}

// lineBreak skips a line break. In the value of a block scalar it is a line break, a space or nothing.
func (w *scalarWalk) lineBreak(next byte) {
	if !w.block {
		w.fold()
		return
	}
	size := w.breakSize()
	if next == '\n' || next == ' ' {
		w.take(1, size)
	} else {
		w.at += size
	}
	w.skipIndent()
}

// fold skips the line breaks between two lines of a flow scalar. A single one is a space in the value; if there are several, the first one is dropped.
func (w *scalarWalk) fold() {
	first, size := w.at, w.breakSize()
	w.at += size
	w.skipSpace()
	if w.breakSize() == 0 {
		after := w.at
		w.at = first
		w.take(1, size)
		w.at = after
		return
	}
	w.emptyLines()
}

func (w *scalarWalk) emptyLines() {
	for size := w.breakSize(); size > 0; size = w.breakSize() {
		w.take(1, size)
		w.skipSpace()
	}
}

// breakSize returns the number of bytes of the line break at the current offset.
func (w *scalarWalk) breakSize() int {
	switch rest := w.text[w.at:]; {
	case bytes.HasPrefix(rest, []byte("\n")):
		return 1
	case bytes.HasPrefix(rest, []byte("\r\n")):
		return 2
	}
	return 0
}

// escaped skips an escape sequence of a double-quoted scalar.
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
	case '\n', '\r': // an escaped line break is not in the value
		w.at++
		w.at += w.breakSize()
		w.skipSpace()
		w.emptyLines()
		return
	}
	r, n := utf8.DecodeRuneInString(w.value[w.done:])
	if size == 6 && r > 0xFFFF { // a pair of surrogates
		size = 12
	}
	w.take(n, size)
}
