// Package diagnostics displays findings in documents: for people, with their lines, and for other programs as SARIF and as GitHub's annotations
// (their JSON is in package api). It also makes the edits that repair findings. The findings come from packages dsl and interpreter.
package diagnostics

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/internal/terminal"
)

const (
	shownDiagnostics = 20  // the rest is only counted
	locationColumn   = 78  // column of file:line:column, if the message leaves room
	sourceWidth      = 200 // longer source lines are cut around the mark
	tabWidth         = 4
)

// Report contains the display of one document.
type Report struct {
	Text        []byte
	Diagnostics dsl.Diagnostics // shown
	Hidden      int             // number of findings of lower severity that are not shown
	FixCommand  string          // command that applies the fixes; empty if it is not offered
}

// Human returns the report as text that ends in a newline, or an empty text without findings.
func Human(r Report, l terminal.Style) string {
	var b strings.Builder
	lines := strings.Split(string(r.Text), "\n")
	shown := r.Diagnostics[:min(len(r.Diagnostics), shownDiagnostics)]
	gutter := gutterWidth(shown, len(lines))
	for _, d := range shown {
		writeDiagnostic(&b, d, excerpts{lines: lines, gutter: gutter, look: l})
	}
	if more := len(r.Diagnostics) - len(shown); more > 0 {
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
	title := terminal.Printable(fmt.Sprintf("%s[%s]", d.Severity, d.Code))
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
