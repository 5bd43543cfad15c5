package diagnostics

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/internal/terminal"
)

// mark is one range to underline.
type mark struct {
	at      source.Range
	label   string
	primary bool
}

// marksOf returns the ranges of d in the order of the text.
func marksOf(d dsl.Diagnostic) []mark {
	marks := []mark{{d.Range, d.Label, true}}
	for _, r := range d.Related {
		marks = append(marks, mark{r.Range, r.Label, false})
	}
	slices.SortStableFunc(marks, func(a, b mark) int {
		return cmp.Or(cmp.Compare(a.at.Start.Line, b.at.Start.Line), cmp.Compare(a.at.Start.Column, b.at.Start.Column))
	})
	return marks
}

// excerpts shows lines of a document with marks below them.
type excerpts struct {
	lines  []string
	gutter int
	look   terminal.Style
}

func (e excerpts) write(b *strings.Builder, d dsl.Diagnostic) {
	marks := marksOf(d)
	for i, m := range marks {
		line := m.at.Start.Line
		if line < 1 || line > len(e.lines) {
			continue
		}
		shown := expand(strings.TrimSuffix(e.lines[line-1], "\r"))
		from, to := shown.columns(m.at)
		shown, from, to = shown.around(from, to, cutSign(e.look))
		if i == 0 || marks[i-1].at.Start.Line != line {
			fmt.Fprintf(b, "%s %s\n", e.look.Blue(fmt.Sprintf("%*d |", e.gutter, line)), shown.text)
		}
		gutter := e.look.Blue(fmt.Sprintf("%*s |", e.gutter, ""))
		fmt.Fprintf(b, "%s %s%s\n", gutter, strings.Repeat(" ", from), e.underline(m, d.Severity, to-from))
	}
}

// underline returns the text below a marked range of that number of columns.
func (e excerpts) underline(m mark, s dsl.Severity, width int) string {
	label := terminal.Printable(m.label)
	if label != "" {
		label = " " + e.look.Text(label)
	}
	if m.primary {
		return painted(e.look, s, strings.Repeat("^", width)+label)
	}
	return e.look.Blue(strings.Repeat("-", width) + label)
}

// expanded is a source line for display: tabs are spaces, and characters that could control the terminal are escaped.
type expanded struct {
	text string
	at   []int // display column of the start of the i-th character of the source, and of the end
	byte []int // the same as offsets into text
}

func expand(line string) expanded {
	var b strings.Builder
	x := expanded{}
	column := 0
	for len(line) > 0 {
		r, size := utf8.DecodeRuneInString(line)
		x.at, x.byte = append(x.at, column), append(x.byte, b.Len())
		text := terminal.Escaped(r, line[:size])
		width := terminal.Width(text)
		if r == '\t' {
			width = tabWidth - column%tabWidth
			text = strings.Repeat(" ", width)
		}
		b.WriteString(text)
		column += width
		line = line[size:]
	}
	x.at, x.byte = append(x.at, column), append(x.byte, b.Len())
	x.text = b.String()
	return x
}

// columns returns the display columns of r on this line: at least one wide, at most to the end of the line.
func (x expanded) columns(r source.Range) (from, to int) {
	last := len(x.at) - 1
	start := min(max(r.Start.Column-1, 0), last)
	end := last
	if r.End.Line == r.Start.Line {
		end = min(max(r.End.Column-1, start), last)
	}
	return x.at[start], max(x.at[end], x.at[start]+1)
}

// cutSign replaces omitted text; it is one column wide.
func cutSign(l terminal.Style) string {
	if l.ASCII {
		return "~"
	}
	return "…"
}

// around cuts a very long line to the surroundings of the columns [from, to).
func (x expanded) around(from, to int, cut string) (expanded, int, int) {
	end := x.at[len(x.at)-1]
	if end <= sourceWidth {
		return x, from, to
	}
	first := max(0, min(from-sourceWidth/4, end-sourceWidth))
	i, _ := slices.BinarySearch(x.at, first)
	j, _ := slices.BinarySearch(x.at, x.at[i]+sourceWidth)
	j = min(j, len(x.at)-1)
	text, moved := x.text[x.byte[i]:x.byte[j]], x.at[i]
	to = min(to, x.at[j])
	if i > 0 {
		text, moved = cut+text, moved-1
	}
	if j < len(x.at)-1 {
		text += cut
	}
	return expanded{text: text}, from - moved, max(to-moved, from-moved+1)
}
