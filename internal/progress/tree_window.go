package progress

import (
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/internal/terminal"
)

// This file fits the tree into the terminal during the run.

// window is the set of displayed tasks of a tree; nil means all.
type window map[*occurrence]bool

// of returns the displayed children of o, and the numbers of the other finished children and of those in progress.
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

// fitting returns the tree with a maximum number of columns and lines. If the tree has more lines, it contains the tasks in progress that end first,
// and the number of the others.
func (v *treeView) fitting(now time.Time, width, height int) []string {
	rows := v.rows(now, nil)
	if len(rows) > height {
		rows = v.soonest(now, height)
	}
	if over := len(rows) - height; over > 0 { // the tree is nested deeper than the height
		rows = append([]row{{label: v.look.Sign("…"), paint: func(s string) string { return s }, rest: []string{"", "", ""}}}, rows[over+1:]...)
	}
	text := aligned(rows)
	if slices.ContainsFunc(text, func(s string) bool { return terminal.Width(s) > width }) {
		text = narrow(rows, width)
	}
	return text
}

// soonest returns the rows of the tasks in progress that end first, as many as there is room for.
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

// leavesOf appends the tasks in progress below o that contain no other task in progress.
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

// never is later than the end of any task.
var never = time.Unix(1<<40, 0)

// endOfTask returns the latest known end of a task in progress: the end of its wait, or its timeout.
func endOfTask(o *occurrence) time.Time {
	end := never
	for _, at := range []time.Time{o.waits, o.deadline} {
		if !at.IsZero() && at.Before(end) {
			end = at
		}
	}
	return end
}

// shortest is remaining in few columns: the time until the end of the wait or the timeout.
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

// narrow formats rows for few columns: the state of a task, its name as far as there is room, and its time.
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
			prefix = terminal.Clip(prefix, max(2, room-2)) + " " // deep inside, the name is more important than the place
		}
		name := terminal.Clip(r.label, max(1, names-terminal.Width(prefix+r.mark)))
		line := prefix + r.paint(r.mark) + name
		line += strings.Repeat(" ", max(1, width-times-terminal.Width(line))) + r.short
		text[i] = terminal.Clip(strings.TrimRight(line, " "), width)
	}
	return text
}
