package source

import (
	"sort"
	"strconv"
	"strings"
	"unicode/utf16"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/internal/lazyregexp"
)

// surrogates matches two escapes that represent one character, as JSON writes characters beyond U+FFFF.
var surrogates = lazyregexp.New(`^\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}`)

// narrowing is an escape of JSON that is shorter in the text that the library reads.
type narrowing struct {
	column int // where it begins in the document
	by     int // number of characters that it lost
	before int // number of characters that all earlier narrowings of the line lost
}

// readableEscapes replaces the escapes in double quotes that JSON knows and the library does not: each pair of surrogates by one escape, and \/ by
// the slash. It records the places, so that columns match the document. It returns nil if the library's error is about something else.
func (t *Tree) readableEscapes(text []byte, err error) []byte {
	if err == nil || !strings.Contains(err.Error(), "invalid Unicode") && !strings.Contains(err.Error(), "unknown escape") {
		return nil
	}
	var changed []byte
	done := 0
	for _, q := range t.scan(len(text)).quotes {
		for at := q.at; t.Text[q.at] == '"' && at < q.end; at++ {
			if text[at] != '\\' {
				continue
			}
			size, readable := readableEscape(text[at:q.end])
			if size == 0 {
				at++
				continue
			}
			t.narrow(at, size-len(readable))
			changed = append(append(changed, text[done:at]...), readable...)
			done = at + size
			at = done - 1
		}
	}
	if done == 0 {
		return nil
	}
	return append(changed, text[done:]...)
}

// readableEscape returns the replacement of the escape at the beginning of a text, and the size of the escape; 0 if the library reads it.
func readableEscape(text []byte) (size int, readable string) {
	if len(text) > 1 && text[1] == '/' {
		return 2, "/"
	}
	if pair := surrogates().Find(text); pair != nil {
		return len(pair), oneEscape(pair)
	}
	return 0, ""
}

// narrow records that an escape at an offset became shorter.
func (t *Tree) narrow(offset, by int) {
	if t.narrowed == nil {
		t.narrowed = map[int][]narrowing{}
	}
	place := t.PositionOf(offset)
	n := narrowing{column: place.Column, by: by}
	if all := t.narrowed[place.Line]; len(all) > 0 {
		last := all[len(all)-1]
		n.before = last.before + last.by
	}
	t.narrowed[place.Line] = append(t.narrowed[place.Line], n)
}

// oneEscape writes a pair of surrogates as one escape.
func oneEscape(pair []byte) string {
	half := func(digits []byte) rune {
		n, _ := strconv.ParseUint(string(digits), 16, 16) // four digits, as matched
		return rune(n)
	}
	digits := strconv.FormatInt(int64(utf16.DecodeRune(half(pair[2:6]), half(pair[8:12]))), 16)
	return `\U` + strings.Repeat("0", 8-len(digits)) + strings.ToUpper(digits)
}

// widened converts a column of the text that the library read to a column of the document.
func (t *Tree) widened(line, column int) int {
	all := t.narrowed[line]
	n := sort.Search(len(all), func(i int) bool { return all[i].column-all[i].before >= column })
	if n == 0 {
		return column
	}
	return column + all[n-1].before + all[n-1].by
}

// widen moves all nodes of a tree to their columns in the document. It returns false if a change was made outside of double quotes after all.
func (t *Tree) widen(root *yaml.Node) bool {
	if t.narrowed == nil {
		return true
	}
	var scalars []*yaml.Node
	var visit func(n *yaml.Node)
	visit = func(n *yaml.Node) {
		n.Column = t.widened(n.Line, n.Column)
		if n.Kind == yaml.ScalarNode {
			scalars = append(scalars, n)
		}
		for _, c := range n.Content {
			visit(c)
		}
	}
	visit(root)
	for line, all := range t.narrowed {
		for _, one := range all {
			after := sort.Search(len(scalars), func(i int) bool {
				return scalars[i].Line > line || scalars[i].Line == line && scalars[i].Column > one.column
			})
			if after == 0 || scalars[after-1].Style&yaml.DoubleQuotedStyle == 0 {
				return false
			}
		}
	}
	return true
}
