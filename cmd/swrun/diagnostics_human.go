package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/internal/terminal"
)

// This file shows diagnostics to people (ux.md 1.4 and 2.1).

const (
	shownDiagnostics = 20  // the rest is only counted
	locationColumn   = 78  // where file:line:column stands if the message leaves room
	sourceWidth      = 200 // longer source lines are cut around the mark
	tabWidth         = 4
)

// report is what is told of one document.
type report struct {
	text        []byte
	diagnostics dsl.Diagnostics // shown
	hidden      int             // of lower severity, not shown
	fixCommand  string          // how to apply the fixes, empty if that is not offered
}

// humanDiagnostics returns the report as text that ends in a newline, or nothing if there is nothing to tell.
func humanDiagnostics(r report, l terminal.Style) string {
	var b strings.Builder
	lines := strings.Split(string(r.text), "\n")
	shown := r.diagnostics[:min(len(r.diagnostics), shownDiagnostics)]
	gutter := gutterWidth(shown, len(lines))
	for _, d := range shown {
		writeDiagnostic(&b, d, excerpts{lines: lines, gutter: gutter, look: l})
	}
	if more := len(r.diagnostics) - len(shown); more > 0 {
		fmt.Fprintf(&b, "%s and %d more\n", l.Sign("…"), more)
	}
	if summary := summary(r); summary != "" {
		b.WriteString(l.Text(summary) + "\n")
	}
	return b.String()
}

func gutterWidth(ds dsl.Diagnostics, lines int) int {
	width := 0
	for _, d := range ds {
		for _, m := range marksOf(d) {
			if m.at.Start.Line <= lines {
				width = max(width, len(strconv.Itoa(m.at.Start.Line)))
			}
		}
	}
	return max(width, 2)
}

func writeDiagnostic(b *strings.Builder, d dsl.Diagnostic, e excerpts) {
	title := fmt.Sprintf("%s[%s]", d.Severity, d.Code)
	message := terminal.Printable(d.Message)
	location := fmt.Sprintf("%s:%d:%d", terminal.Printable(d.File), max(1, d.Range.Start.Line), max(1, d.Range.Start.Column))
	column := locationColumn
	if e.look.Width > 0 {
		column = min(column, e.look.Width-terminal.Width(location))
	}
	plain := e.look.Text(title + ": " + message)
	head := painted(e.look, d.Severity, title) + e.look.Bold(": "+e.look.Text(message))
	b.WriteString(head + strings.Repeat(" ", max(2, column-terminal.Width(plain))) + e.look.Dim(location) + "\n")
	e.write(b, d)
	if help := helpLine(d); help != "" {
		fmt.Fprintf(b, "%*s %s %s\n", e.gutter, "", e.look.Blue("="), e.look.Text(help))
	}
}

// painted colours a text by a severity.
func painted(l terminal.Style, s dsl.Severity, text string) string {
	switch s {
	case dsl.SeverityError:
		return l.Paint("1;31", text)
	case dsl.SeverityWarning:
		return l.Paint("1;33", text)
	}
	return l.Paint("1;36", text)
}

func helpLine(d dsl.Diagnostic) string {
	var parts []string
	switch {
	case d.Help != "":
		parts = append(parts, terminal.Printable(d.Help))
	case len(d.Expected) > 0:
		parts = append(parts, "allowed: "+terminal.Printable(strings.Join(d.Expected, " ")))
	}
	if d.Pointer != "" {
		parts = append(parts, "at "+terminal.Printable(string(d.Pointer)))
	}
	return strings.Join(parts, " · ")
}

// mark is one range to underline.
type mark struct {
	at      dsl.Range
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
		e.writeMark(b, d.Severity, m, from, to)
	}
}

func (e excerpts) writeMark(b *strings.Builder, s dsl.Severity, m mark, from, to int) {
	under := strings.Repeat("-", to-from)
	if m.primary {
		under = strings.Repeat("^", to-from)
	}
	if label := terminal.Printable(m.label); label != "" {
		under += " " + e.look.Text(label)
	}
	if m.primary {
		under = painted(e.look, s, under)
	} else {
		under = e.look.Blue(under)
	}
	fmt.Fprintf(b, "%s %s%s\n", e.look.Blue(fmt.Sprintf("%*s |", e.gutter, "")), strings.Repeat(" ", from), under)
}

// expanded is a source line as it is shown: tabs are spaces, what could drive the terminal is escaped.
type expanded struct {
	text string
	at   []int // display column at which the i-th character of the source starts, and the end
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
func (x expanded) columns(r dsl.Range) (from, to int) {
	last := len(x.at) - 1
	start := min(max(r.Start.Column-1, 0), last)
	end := last
	if r.End.Line == r.Start.Line {
		end = min(max(r.End.Column-1, start), last)
	}
	return x.at[start], max(x.at[end], x.at[start]+1)
}

// cutSign stands for what is left out; it is one column wide.
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

// summary counts what was found and says what to do next.
func summary(r report) string {
	if len(r.diagnostics)+r.hidden == 0 {
		return ""
	}
	var parts []string
	for s := dsl.SeverityError; s <= dsl.SeverityHint; s++ {
		if n := countSeverity(r.diagnostics, s); n > 0 {
			parts = append(parts, terminal.Counted(n, s.String()))
		}
	}
	if r.hidden > 0 {
		parts = append(parts, terminal.Counted(r.hidden, "hint")+" hidden (--hints)")
	}
	if n := min(len(r.diagnostics), shownDiagnostics); n > 0 {
		parts = append(parts, "swrun explain "+r.diagnostics[n-1].Code)
	}
	if n := countFixable(r.diagnostics); n > 0 && r.fixCommand != "" {
		parts = append(parts, fmt.Sprintf("fix %d automatically: %s", n, r.fixCommand))
	}
	return strings.Join(parts, " · ")
}

func countSeverity(ds dsl.Diagnostics, s dsl.Severity) (n int) {
	for _, d := range ds {
		if d.Severity == s {
			n++
		}
	}
	return n
}

func countFixable(ds dsl.Diagnostics) (n int) {
	for _, d := range ds {
		if isFixable(d) {
			n++
		}
	}
	return n
}

// isFixable reports whether all of d's edits may be made without asking.
func isFixable(d dsl.Diagnostic) bool {
	return len(d.Fix) > 0 && !slices.ContainsFunc(d.Fix, func(e dsl.Edit) bool { return !e.Safe })
}
