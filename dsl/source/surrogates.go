package source

import (
	"sort"
	"strconv"
	"strings"
	"unicode/utf16"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/internal/lazyregexp"
)

// surrogates matches two escapes that stand for one character, as JSON writes those beyond U+FFFF.
var surrogates = lazyregexp.New(`^\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}`)

// narrowed is how much shorter the one escape is than the two.
const narrowed = len(`\uD83D\uDE00`) - len(`\U0001F600`)

// joinSurrogates replaces each pair of surrogates in double quotes by one escape, which the library can read. It notes the places,
// so that columns stay those of the document. It returns nil if the library's error is about something else.
func (t *Tree) joinSurrogates(text []byte, err error) []byte {
	if err == nil || !strings.Contains(err.Error(), "invalid Unicode") {
		return nil
	}
	var changed []byte
	done := 0
	for _, q := range t.scan(len(text)).quotes {
		for at := q.at; t.Text[q.at] == '"' && at < q.end; at++ {
			if text[at] != '\\' {
				continue
			}
			pair := surrogates().Find(text[at:q.end])
			if pair == nil {
				at++
				continue
			}
			place := t.PositionOf(at)
			if t.pairs == nil {
				t.pairs = map[int][]int{}
			}
			t.pairs[place.Line] = append(t.pairs[place.Line], place.Column)
			changed = append(append(changed, text[done:at]...), oneEscape(pair)...)
			done = at + len(pair)
			at = done - 1
		}
	}
	if done == 0 {
		return nil
	}
	return append(changed, text[done:]...)
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

// widened converts a column of the text that the library has read to the document's.
func (t *Tree) widened(line, column int) int {
	columns := t.pairs[line]
	return column + narrowed*sort.Search(len(columns), func(i int) bool { return columns[i]-narrowed*i >= column })
}

// widen moves all nodes of a tree to their columns in the document. It returns false if a change
// was made outside of double quotes after all.
func (t *Tree) widen(root *yaml.Node) bool {
	if t.pairs == nil {
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
	for line, columns := range t.pairs {
		for _, column := range columns {
			after := sort.Search(len(scalars), func(i int) bool {
				return scalars[i].Line > line || scalars[i].Line == line && scalars[i].Column > column
			})
			if after == 0 || scalars[after-1].Style&yaml.DoubleQuotedStyle == 0 {
				return false
			}
		}
	}
	return true
}

// JoinSurrogates replaces each pair of surrogates in the double quotes of a YAML text by one escape, which the YAML library can read.
// ok is false if err, the library's error for the text, is about something else.
func JoinSurrogates(text []byte, err error) (joined []byte, ok bool) {
	changed := newTree("", text).joinSurrogates(text, err)
	return changed, changed != nil
}
