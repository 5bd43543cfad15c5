package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime"
)

// treeView shows a run as a tree: redrawn while the run goes on if the stream is a terminal, and whole at the end.
//
// It moves the cursor itself: a terminal library would put the terminal into raw mode and take Ctrl-C away.
type treeView struct {
	w       io.Writer
	look    look
	subject subject
	tree    *tree
	live    bool
	size    func() (width, height int)
	drawn   []string // what stands on the screen and is drawn over next
	lastAt  time.Time
	began   bool
}

const (
	redrawEvery  = 100 * time.Millisecond
	nameWidth    = 40
	shownRows    = 300 // of a finished tree
	defaultWidth = 160
)

func (v *treeView) observe(r interpreter.HistoryEvent) {
	if r.Type == interpreter.WorkflowStarted {
		v.header()
	}
	v.tree.observe(r)
}

// header is printed once and never redrawn.
func (v *treeView) header() {
	v.began = true
	line := v.look.bold(v.look.sign("●")+" "+v.look.text(v.subject.name())) + "  run " + printable(v.subject.id)
	if after := v.subject.workflow.TimeoutAfter(v.subject.workflow.Timeout); after != nil {
		line += "  " + v.look.sign("⏱") + " run deadline " + v.look.text(written(after))
	}
	if v.subject.virtual {
		line += "  virtual time"
	}
	fmt.Fprintln(v.w, line)
}

// publish shows nothing: the emit task itself is in the tree.
func (v *treeView) publish(map[string]any) {}

func (v *treeView) tick(now time.Time) {
	if !v.live || !v.began || now.Sub(v.lastAt) < redrawEvery {
		return
	}
	v.lastAt = now
	if v.subject.virtual {
		now = v.tree.at
	}
	width, height := v.size()
	v.draw(v.fitting(now, max(1, width-1), max(1, height-2)), width)
}

// draw replaces what was drawn before. A narrower terminal has wrapped the old rows by now, hence the counting.
func (v *treeView) draw(rows []string, width int) {
	var b strings.Builder
	if up := screenRows(v.drawn, width); up > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r\x1b[J", up)
	}
	for _, row := range rows {
		b.WriteString(row + "\n")
	}
	v.drawn = rows
	io.WriteString(v.w, b.String()) // a terminal that is gone is no reason to stop the run
}

func screenRows(rows []string, width int) int {
	n := 0
	for _, row := range rows {
		n += max(1, (displayWidth(row)+width-1)/max(1, width))
	}
	return n
}

func (v *treeView) end(o runtime.Outcome, failed bool) {
	width := defaultWidth
	if v.live {
		width, _ = v.size()
	}
	rows := aligned(v.rows(o.EndedAt, nil))
	if hidden := len(rows) - shownRows; hidden > 0 {
		half := shownRows / 2
		rows = append(append(rows[:half:half], fmt.Sprintf("%s %d more", v.look.sign("…"), hidden)), rows[len(rows)-half:]...)
	}
	v.draw(nil, width)
	for _, row := range rows {
		fmt.Fprintln(v.w, row)
	}
	if failed {
		return
	}
	line := v.look.green(v.look.sign("✔")) + " completed in " + elapsed(o.EndedAt.Sub(o.StartedAt))
	if v.tree.caught > 0 {
		line += "   (" + counted(v.tree.caught, "error") + " caught)"
	}
	fmt.Fprintln(v.w, line)
}

// row is one line of the tree before its columns are aligned.
type row struct {
	prefix, mark, label string
	paint               func(string) string
	short               string   // the time, where there is little room
	rest                []string // kind, time, note
}

// rows returns the tree as it is at now; of its tasks only those in shown, or all if that is nil.
func (v *treeView) rows(now time.Time, shown window) []row {
	root := &v.tree.root
	if len(root.children) == 1 && len(root.children[0].children) == 0 && root.dropped == 0 {
		return []row{v.row("", root.children[0], now)}
	}
	return v.children(nil, root, "", now, shown)
}

func (v *treeView) children(rows []row, o *occurrence, indent string, now time.Time, shown window) []row {
	visible, over, running := shown.of(o)
	if over > 0 {
		rows = append(rows, v.more(indent+v.look.sign("├─")+" ", over, "earlier"))
	}
	for i, child := range visible {
		branch, below := v.look.sign("├─")+" ", v.look.sign("│")+"  "
		if i == len(visible)-1 && running == 0 && o != &v.tree.root {
			branch, below = v.look.sign("└─")+" ", "   "
		}
		rows = append(rows, v.row(indent+branch, child, now))
		rows = v.children(rows, child, indent+below, now, shown)
	}
	if running > 0 {
		rows = append(rows, v.more(indent+v.look.sign("└─")+" ", running, "more in progress"))
	}
	return rows
}

// more is a line that stands for tasks that are not shown.
func (v *treeView) more(prefix string, n int, what string) row {
	return row{
		prefix: prefix, label: fmt.Sprintf("%s %d %s", v.look.sign("…"), n, what),
		paint: func(s string) string { return s }, rest: []string{"", "", ""},
	}
}

func (v *treeView) row(prefix string, o *occurrence, now time.Time) row {
	r := row{prefix: prefix, label: clip(v.look.text(o.label), nameWidth), rest: []string{kindWords(o.kind), "", v.look.text(o.note)}}
	switch o.state {
	case stateRunning:
		r.mark, r.paint = "▶", v.look.blue
		r.rest[1], r.short = v.look.text(remaining(o, now)), v.look.text(shortest(o, now))
	case stateCompleted:
		r.mark, r.paint = "✔", v.look.green
		r.rest[1] = elapsed(o.ended.Sub(o.started))
	case stateFaulted:
		r.mark, r.paint = "✖", v.look.red
		r.rest[1] = elapsed(o.ended.Sub(o.started))
	case stateCancelled:
		r.mark, r.paint = "⊘", v.look.yellow
		r.rest[1] = elapsed(o.ended.Sub(o.started))
		r.rest[2] = strings.TrimSpace("cancelled " + r.rest[2])
	case stateSkipped:
		r.mark, r.paint = "○", v.look.dim
	}
	if r.short == "" {
		r.short = r.rest[1]
	}
	if o.state == stateCompleted && len(o.children) > 0 { // what a group has to tell, its tasks tell
		r.mark, r.rest[1], r.short = "", "", ""
	}
	if r.mark != "" {
		r.mark = v.look.sign(r.mark) + " "
	}
	return r
}

// remaining tells what a task in progress waits for.
func remaining(o *occurrence, now time.Time) string {
	var parts []string
	switch {
	case o.retry > 0 && !o.waits.IsZero():
		parts = append(parts, fmt.Sprintf("attempt %d in %s", o.retry, elapsed(o.waits.Sub(now))))
	case !o.waits.IsZero():
		parts = append(parts, fmt.Sprintf("⏱ %s left of %s", elapsed(o.waits.Sub(now)), dsl.Span(o.waits.Sub(o.started))))
	case len(o.children) == 0:
		parts = append(parts, elapsed(now.Sub(o.started)))
	}
	if !o.deadline.IsZero() {
		parts = append(parts, "⏱ times out in "+elapsed(o.deadline.Sub(now)))
	}
	return strings.Join(parts, "  ")
}

// aligned puts the columns of all rows below each other.
func aligned(rows []row) []string {
	var names, kinds, times int
	for _, r := range rows {
		names = max(names, displayWidth(r.prefix+r.mark+r.label))
		kinds = max(kinds, displayWidth(r.rest[0]))
		times = max(times, min(displayWidth(r.rest[1]), 12))
	}
	text := make([]string, len(rows))
	for i, r := range rows {
		name := padded(r.prefix+r.mark+r.label, names)
		painted := r.prefix + r.paint(r.mark) + name[len(r.prefix+r.mark):]
		text[i] = strings.TrimRight(strings.Join([]string{
			painted, padded(r.rest[0], kinds), padded(r.rest[1], times), r.rest[2],
		}, "   "), " ")
	}
	return text
}
