package describe

import (
	"fmt"
	"strings"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/terminal"
)

// listens lists the events that listening tasks have not consumed, with the reasons.
func listens(d *api.Description) string {
	var b strings.Builder
	for _, t := range d.Open {
		if t.Listening == nil || len(t.Listening.Unmatched) == 0 {
			continue
		}
		fmt.Fprintf(&b, "Events that %s has not consumed, the oldest first:\n", terminal.Printable(t.Pointer))
		for _, e := range t.Listening.Unmatched {
			b.WriteString("  " + terminal.Printable(unmatchedText(t.File, e)) + "\n")
		}
	}
	return b.String()
}

func unmatchedText(file string, e api.UnmatchedEvent) string {
	text := fmt.Sprintf("%s  %s", e.At, e.Type)
	if e.ID != "" {
		text += fmt.Sprintf(" (id %s of %s)", e.ID, e.Source)
	}
	switch {
	case e.Early:
		return text + ": it came before the task listened"
	case e.Large:
		return text + ": it is too large to be kept, and not known any more"
	}
	var all []string
	for _, r := range e.Refusals {
		one := fmt.Sprintf("%s (%s:%d): %s", r.Filter, file, r.Line, r.Attribute)
		if r.Why != "" {
			one += ": " + r.Why
		}
		all = append(all, one)
	}
	if e.More > 0 {
		all = append(all, fmt.Sprintf("and %s more", terminal.Counted(e.More, "filter")))
	}
	return text + ": " + strings.Join(all, "; ")
}
