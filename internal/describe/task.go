package describe

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/terminal"
)

// maxTaskData is the maximum length of a displayed value of a task, in bytes.
const maxTaskData = 2000

// Task describes the data and the changes of an occurrence of a task.
func Task(r *api.TaskRecord) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s) of %s: %s", terminal.Printable(cmp.Or(r.Path, r.Pointer)), r.Kind, r.Run, r.Status)
	if r.Attempts > 1 {
		fmt.Fprintf(&b, ", %d attempts", r.Attempts)
	}
	b.WriteString("\n")
	row := func(name, text string) { fmt.Fprintf(&b, "  %-12s %s\n", name, text) }
	for _, data := range []struct {
		name string
		v    *any
	}{{"input", &r.Input}, {"transformed", r.TransformedInput}, {"raw output", r.RawOutput}, {"output", r.Output}, {"$context", r.ContextBefore}} {
		if data.v != nil {
			row(data.name, shownData(*data.v))
		}
	}
	for _, c := range r.ContextChanges {
		row("  "+terminal.Printable(cmp.Or(c.Pointer, "all of it")), change(c))
	}
	if r.Error != nil {
		row("error", terminal.Printable(shorten.To(api.ParseError(r.Error).Error(), maxTaskData)))
	}
	if r.Incomplete != "" {
		fmt.Fprintf(&b, "  not all is known: %s\n", r.Incomplete)
	}
	return b.String()
}

// change describes a change.
func change(c api.Change) string {
	switch {
	case c.Before == nil:
		return "added: " + shownData(*c.After)
	case c.After == nil:
		return "removed: " + shownData(*c.Before)
	}
	return shownData(*c.Before) + " became " + shownData(*c.After)
}

func shownData(v any) string {
	data, err := expr.Encode(v)
	if err != nil {
		return "?"
	}
	return terminal.Printable(shorten.To(string(data), maxTaskData))
}
