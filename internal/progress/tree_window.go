package progress

import (
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/internal/terminal"
)

// This file fits the tree into the terminal while the run goes on.

// window is the tasks that are shown of a tree; nil shows all.
type window map[*occurrence]bool

// of returns which children of o are shown, and how many others have ended and are in progress.
func (w window) of(o *occurrence) (visible []*occurrence, over, running int) {
	if w == nil {
		return o.children, o.dropped, 0
	}
	over = o.dropped
	for _, child := range o.children {
		switch {
		case w[child]:
			visible = append(visible, child)
		case child.state == stateRunning:
			running++
		default:
			over++
		}
	}
	return visible, over, running
}

// fitting returns the tree in at most so many columns and lines. If there are more lines than that, it shows what ends
// first of what is in progress, and how much more there is.
func (v *treeView) fitting(now time.Time, width, height int) []string {
	rows := v.rows(now, nil)
	if len(rows) > height {
		rows = v.soonest(now, height)
	}
	if over := len(rows) - height; over > 0 { // it is nested deeper than that
		rows = append([]row{{label: v.look.Sign("…"), paint: func(s string) string { return s }, rest: []string{"", "", ""}}}, rows[over+1:]...)
	}
	text := aligned(rows)
	if slices.ContainsFunc(text, func(s string) bool { return terminal.Width(s) > width }) {
		text = narrow(rows, width)
	}
	return text
}

// soonest returns the rows of as many of the tasks in progress as there is room for, those that end first.
func (v *treeView) soonest(now time.Time, height int) []row {
	leaves := leavesOf(&v.tree.root, nil)
	slices.SortStableFunc(leaves, func(a, b *occurrence) int { return endOfTask(a).Compare(endOfTask(b)) })
	for n := min(len(leaves), height); n > 0; n-- {
		shown := window{}
		for _, leaf := range leaves[:n] {
			for o := leaf; o != nil; o = o.parent {
				shown[o] = true
			}
		}
		if rows := v.rows(now, shown); len(rows) <= height || n == 1 {
			return rows
		}
	}
	return v.rows(now, nil)
}

// leavesOf appends the tasks in progress below o that have none in progress below them.
func leavesOf(o *occurrence, all []*occurrence) []*occurrence {
	before := len(all)
	for _, child := range o.children {
		if child.state == stateRunning {
			all = leavesOf(child, all)
		}
	}
	if len(all) == before && o.parent != nil {
		all = append(all, o)
	}
	return all
}

// never is later than anything ends.
var never = time.Unix(1<<40, 0)

// endOfTask is when a task in progress ends at the latest, as far as is known: its own wait, or its timeout.
func endOfTask(o *occurrence) time.Time {
	end := never
	for _, at := range []time.Time{o.waits, o.deadline} {
		if !at.IsZero() && at.Before(end) {
			end = at
		}
	}
	return end
}

// shortest is remaining in few columns: until when it waits, or may take.
func shortest(o *occurrence, now time.Time) string {
	end := endOfTask(o)
	switch {
	case end != never:
		return "⏱ " + terminal.Elapsed(end.Sub(now))
	case len(o.children) == 0:
		return terminal.Elapsed(now.Sub(o.started))
	}
	return ""
}

// narrow puts rows into few columns: what state a task is in, its name as far as there is room, and its time.
func narrow(rows []row, width int) []string {
	times := 0
	for _, r := range rows {
		times = max(times, terminal.Width(r.short))
	}
	names := max(1, width-times-1)
	text := make([]string, len(rows))
	for i, r := range rows {
		prefix, room := r.prefix, max(1, names/2)
		if over := terminal.Width(prefix+r.mark+r.label) - names; over > 0 && terminal.Width(prefix) > room {
			prefix = terminal.Clip(prefix, max(2, room-2)) + " " // deep inside the name matters more than where
		}
		name := terminal.Clip(r.label, max(1, names-terminal.Width(prefix+r.mark)))
		line := prefix + r.paint(r.mark) + name
		line += strings.Repeat(" ", max(1, width-times-terminal.Width(line))) + r.short
		text[i] = terminal.Clip(strings.TrimRight(line, " "), width)
	}
	return text
}
