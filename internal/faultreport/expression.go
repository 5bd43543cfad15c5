package faultreport

import (
	"fmt"
	"maps"
	"slices"

	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/terminal"
)

// expression describes the expression that the error comes from, if there is one: its text, its place, and its input.
func (r Report) expression() []string {
	cited, ok := r.Outcome.Fault.ExpressionContext()
	if !ok {
		return nil
	}
	lines := []string{
		labelled("in", detailLines(cited.Text)),
		labelled("", ""),
		labelled("given", terminal.Printable(shorten.To(cited.Input, 300))),
	}
	if place := cited.Place(); place != "" {
		lines[1] = fmt.Sprintf("%-6s %s", "", "("+terminal.Printable(shorten.To(place, 600))+")")
	}
	for _, name := range slices.Sorted(maps.Keys(cited.Variables)) {
		lines = append(lines, labelled("with", terminal.Printable(shorten.To(fmt.Sprintf("$%s: %v", name, cited.Variables[name]), 200))))
	}
	return lines
}
