package dsl

import (
	"regexp"
	"sort"
	"strconv"
	"strings"
	"unicode/utf16"

	"gopkg.in/yaml.v3"
)

// surrogates matches two escapes that stand for one character, as JSON writes those beyond U+FFFF.
var surrogates = regexp.MustCompile(`^\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}`)

// narrowed is by how much shorter the one escape is that the library reads instead.
const narrowed = len(`\uD83D\uDE00`) - len(`\U0001F600`)

// withoutSurrogates writes each pair of surrogates in double quotes as the one escape that the library reads. It notes where,
// so that columns are those of the document. It returns nil unless that is what the library's error is about.
func (s *Source) withoutSurrogates(text []byte, err error) []byte {
	if err == nil || !strings.Contains(err.Error(), "invalid Unicode") {
		return nil
	}
	var changed []byte
	done := 0
	for _, q := range s.scan(len(text)).quotes {
		for at := q.at; s.Text[q.at] == '"' && at < q.end; at++ {
			if text[at] != '\\' {
				continue
			}
			pair := surrogates.Find(text[at:q.end])
			if pair == nil {
				at++
				continue
			}
			place := s.position(at)
			if s.pairs == nil {
				s.pairs = map[int][]int{}
			}
			s.pairs[place.Line] = append(s.pairs[place.Line], place.Column)
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

// widened returns the column in the document of a column in what the library has read.
func (s *Source) widened(line, column int) int {
	columns := s.pairs[line]
	return column + narrowed*sort.Search(len(columns), func(i int) bool { return columns[i]-narrowed*i >= column })
}

// widen moves all nodes of a tree to their columns in the document. It returns false if what was changed is no text in double
// quotes after all.
func (s *Source) widen(root *yaml.Node) bool {
	if s.pairs == nil {
		return true
	}
	var scalars []*yaml.Node
	var visit func(n *yaml.Node)
	visit = func(n *yaml.Node) {
		n.Column = s.widened(n.Line, n.Column)
		if n.Kind == yaml.ScalarNode {
			scalars = append(scalars, n)
		}
		for _, c := range n.Content {
			visit(c)
		}
	}
	visit(root)
	for line, columns := range s.pairs {
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

// WithoutSurrogates returns a YAML text in which pairs of surrogates in double quotes are written as the one escape that the
// library reads, if err, which it gave for the text, is about them.
func WithoutSurrogates(text []byte, err error) ([]byte, bool) {
	changed := newSource("", text).withoutSurrogates(text, err)
	return changed, changed != nil
}
