package describe

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/terminal"
)

// shownOfReview is the maximum number of displayed children and failures: the last ones.
const shownOfReview = 20

// children lists the runs that a run has started; empty without any.
func children(d *api.Description) string {
	return lastRows("Children", d.Children, []string{"RUN", "STATUS", "STARTED BY", "AT"}, func(c api.Child) []string {
		return []string{c.Run, cmp.Or(c.Status, "-"), cmp.Or(c.Path, c.Pointer), c.StartedAt}
	})
}

// failures lists the failures of a run, including caught ones; empty without any.
func failures(d *api.Description) string {
	return lastRows("Failures", d.Failures, []string{"AT", "WHERE", "CATEGORY", "PROPAGATION", "OUTCOME", "ERROR"}, func(f api.Failure) []string {
		outcome := cmp.Or(f.Outcome, "-")
		if f.CaughtBy != "" {
			outcome += " by " + f.CaughtBy
		}
		text := strings.Join(append(nonRetryable(f.Error), api.ParseError(f.Error).Error()), ": ")
		if f.Child != "" {
			text = f.Child + ": " + text
		}
		if called := api.ParseError(f.Error).Reached().String(); called != "" {
			text = "(" + called + ") " + text
		}
		return []string{f.At, cmp.Or(f.Path, f.Pointer, "the workflow"), f.Category, f.Propagation, outcome, shorten.To(text, 200)}
	})
}

// lastRows returns a table of the last items of a list, under a title with their number.
func lastRows[T any](title string, all []T, columns []string, row func(T) []string) string {
	if len(all) == 0 {
		return ""
	}
	var b strings.Builder
	if shown := all[max(0, len(all)-shownOfReview):]; len(shown) < len(all) {
		title = fmt.Sprintf("%s, the last %d of %d", title, len(shown), len(all))
		all = shown
	}
	b.WriteString(title + ":\n")
	w := terminal.NewTable(&b, indented(columns)...)
	for _, one := range all {
		cells := row(one)
		for n := range cells {
			cells[n] = terminal.Printable(cells[n])
		}
		w.Row(indented(cells)...)
	}
	w.Flush() // it writes to memory
	return b.String()
}
