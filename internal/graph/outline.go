package graph

import (
	"fmt"
	"strings"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/terminal"
)

// outlineText draws the tasks with their nesting.
func outlineText(w *dsl.Workflow) string {
	var b strings.Builder
	b.WriteString(terminal.Printable(w.Document.String()))
	if w.Timeout != nil {
		b.WriteString(timeoutNote(w, w.Timeout))
	}
	b.WriteString("\n")
	writeOutline(&b, outline(w, w.Do), "")
	return b.String()
}

// outlineItem is a line of the outline with the lines below it.
type outlineItem struct {
	line  string
	below []outlineItem
}

func outline(w *dsl.Workflow, list dsl.TaskList) []outlineItem {
	var items []outlineItem
	for _, t := range list {
		item := outlineItem{line: outlineLine(w, t)}
		if try, ok := t.(*dsl.TryTask); ok {
			item.below = append(outline(w, try.Try), outlineItem{"catch " + catchLabel(try), outline(w, try.Catch.Do)})
		} else {
			for _, inner := range dsl.Lists(t) {
				item.below = append(item.below, outline(w, inner)...)
			}
		}
		items = append(items, item)
	}
	return items
}

func writeOutline(b *strings.Builder, items []outlineItem, indent string) {
	for i, item := range items {
		branch, below := "├─ ", "│  "
		if i == len(items)-1 {
			branch, below = "└─ ", "   "
		}
		b.WriteString(indent + branch + item.line + "\n")
		writeOutline(b, item.below, indent+below)
	}
}

func outlineLine(w *dsl.Workflow, t dsl.Task) string {
	base := t.Base()
	line := terminal.Printable(base.Name) + "   " + t.Kind().Words()
	if wait, ok := t.(*dsl.WaitTask); ok && wait.Wait != nil {
		line += " " + terminal.Duration(wait.Wait)
	}
	if base.Timeout != nil {
		line += timeoutNote(w, base.Timeout)
	}
	if base.If.Text != "" {
		line += "   if " + terminal.Printable(shorten.To(base.If.Text, 60))
	}
	if choice, ok := t.(*dsl.SwitchTask); ok {
		for _, c := range choice.Cases {
			line += fmt.Sprintf("   %s → %s", terminal.Printable(c.Name), terminal.Printable(thenWord(c.Then)))
		}
	}
	if base.Then != "" {
		line += "   then " + terminal.Printable(base.Then)
	}
	return line
}

func thenWord(then string) string {
	if then == "" {
		return "continue"
	}
	return then
}

func timeoutNote(w *dsl.Workflow, t *dsl.Timeout) string {
	after := w.TimeoutAfter(t)
	if after == nil {
		return ""
	}
	return "   ⏱ " + terminal.Duration(after)
}

func catchLabel(try *dsl.TryTask) string {
	f := try.Catch.Errors
	label := "any error"
	switch {
	case f != nil && f.Type != "":
		label = terminal.Printable(errors.Name(f.Type))
	case f != nil && f.Status != nil:
		label = fmt.Sprintf("status %d", *f.Status)
	case f != nil:
		label = "some errors"
	}
	if try.Catch.Retry != nil || try.Catch.RetryUse.Name != "" {
		label += ", retry"
	}
	return label
}
