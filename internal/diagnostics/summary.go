package diagnostics

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/internal/terminal"
)

// summary counts the findings, and names the next commands.
func summary(r Report) string {
	if len(r.Diagnostics)+r.Hidden == 0 {
		return ""
	}
	var parts []string
	for s := dsl.SeverityError; s <= dsl.SeverityHint; s++ {
		if n := Count(r.Diagnostics, s); n > 0 {
			parts = append(parts, terminal.Counted(n, s.String()))
		}
	}
	if r.Hidden > 0 {
		parts = append(parts, terminal.Counted(r.Hidden, "hint")+" hidden (--hints)")
	}
	if len(r.Diagnostics) > 0 {
		gravest := slices.MinFunc(r.Diagnostics, func(a, b dsl.Diagnostic) int { return cmp.Compare(a.Severity, b.Severity) })
		parts = append(parts, "swrun explain "+gravest.Code) // of several codes, the first
	}
	if n := countFixable(r.Diagnostics); n > 0 && r.FixCommand != "" {
		parts = append(parts, fmt.Sprintf("fix %d automatically: %s", n, r.FixCommand))
	}
	return strings.Join(parts, " · ")
}

func Count(ds dsl.Diagnostics, s dsl.Severity) (n int) {
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

// isFixable reports whether all edits of d may be made without confirmation.
func isFixable(d dsl.Diagnostic) bool {
	return len(d.Fix) > 0 && !slices.ContainsFunc(d.Fix, func(e source.Edit) bool { return !e.Safe })
}
