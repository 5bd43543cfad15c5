package progress

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/swrun/swrun/internal/duration"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/execution"
)

// treeView shows a run as a tree: redrawn during the run if the stream is a terminal, and complete at the end.
//
// It moves the cursor itself: a terminal library would put the terminal into raw mode and disable Ctrl-C.
type treeView struct {
	w      io.Writer
	look   terminal.Style
	run    Run
	tree   *tree
	live   bool
	size   func() (width, height int)
	drawn  []string // rows on the screen, which the next drawing replaces
	lastAt time.Time
	began  bool
	// outlasting describes the work after the end of the run; empty without any.
	outlasting string
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
	line := v.look.Bold(v.look.Sign("●")+" "+v.look.Text(v.run.name())) + "  run " + terminal.Printable(v.run.ID)
	if after := v.run.Workflow.TimeoutAfter(v.run.Workflow.Timeout); after != nil {
		line += "  " + v.look.Sign("⏱") + " run deadline " + v.look.Text(terminal.Duration(after))
	}
	if v.run.Virtual {
		line += "  virtual time"
	}
	fmt.Fprintln(v.w, line)
}

// publish shows nothing: the tree contains the emit task.
func (v *treeView) publish(map[string]any) {}

// outlast is drawn below the tree while it applies, or printed once if nothing can be redrawn.
func (v *treeView) outlast(tasks []string) {
	v.outlasting = v.look.Text("the run has ended; waiting for what " + strings.Join(tasks, ", ") + " began, which Ctrl-C ends")
	if !v.live {
		fmt.Fprintln(v.w, v.outlasting)
	}
}

func (v *treeView) tick(now time.Time) {
	if !v.live || !v.began || now.Sub(v.lastAt) < redrawEvery {
		return
	}
	v.lastAt = now
	if v.run.Virtual {
		now = v.tree.at
	}
	width, height := v.size()
	var below []string
	if v.outlasting != "" {
		below = []string{terminal.Clip(v.outlasting, max(1, width-1))}
	}
	v.draw(append(v.fitting(now, max(1, width-1), max(1, height-2-len(below))), below...), width)
}

// draw replaces the previous drawing. A narrower terminal has wrapped the old rows, hence the count.
func (v *treeView) draw(rows []string, width int) {
	var b strings.Builder
	if up := screenRows(v.drawn, width); up > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r\x1b[J", up)
	}
	for _, row := range rows {
		b.WriteString(row + "\n")
	}
	v.drawn = rows
	io.WriteString(v.w, b.String()) // a broken terminal is no reason to stop the run
}

func screenRows(rows []string, width int) int {
	n := 0
	for _, row := range rows {
		n += max(1, (terminal.Width(row)+width-1)/max(1, width))
	}
	return n
}

func (v *treeView) end(o execution.Outcome, failed bool) {
	width := defaultWidth
	if v.live {
		width, _ = v.size()
	}
	rows := aligned(v.rows(o.EndedAt, nil))
	if hidden := len(rows) - shownRows; hidden > 0 {
		half := shownRows / 2
		rows = append(append(rows[:half:half], fmt.Sprintf("%s %d more", v.look.Sign("…"), hidden)), rows[len(rows)-half:]...)
	}
	v.draw(nil, width)
	for _, row := range rows {
		fmt.Fprintln(v.w, row)
	}
	if failed {
		return
	}
	line := v.look.Green(v.look.Sign("✔")) + " completed in " + terminal.Elapsed(o.Took())
	if v.tree.caught > 0 {
		line += "   (" + terminal.Counted(v.tree.caught, "error") + " caught)"
	}
	fmt.Fprintln(v.w, line)
}

// row is one line of the tree before its columns are aligned.
type row struct {
	prefix, mark, label string
	paint               func(string) string
	short               string   // the time for narrow terminals
	rest                []string // kind, time, note
}

// rows returns the tree at a time, limited to the tasks in shown; all tasks if that is nil.
func (v *treeView) rows(now time.Time, shown window) []row {
	root := &v.tree.root
	if len(root.children) == 1 && len(root.children[0].children) == 0 && root.dropped == 0 {
		return []row{v.row("", root.children[0], now)}
	}
	all := treeRows{view: v, now: now, shown: shown}
	all.addBelow(root, "")
	return all.rows
}

// treeRows collects the rows of a tree.
type treeRows struct {
	view  *treeView
	now   time.Time
	shown window
	rows  []row
}

// addBelow adds the tasks below o.
func (t *treeRows) addBelow(o *occurrence, indent string) {
	v := t.view
	visible, over, running := t.shown.of(o)
	if over > 0 {
		t.rows = append(t.rows, v.more(indent+v.look.Sign("├─")+" ", over, "earlier"))
	}
	for i, child := range visible {
		branch, below := v.look.Sign("├─")+" ", v.look.Sign("│")+"  "
		if i == len(visible)-1 && running == 0 && o != &v.tree.root {
			branch, below = v.look.Sign("└─")+" ", "   "
		}
		t.rows = append(t.rows, v.row(indent+branch, child, t.now))
		t.addBelow(child, indent+below)
	}
	if running > 0 {
		t.rows = append(t.rows, v.more(indent+v.look.Sign("└─")+" ", running, "more in progress"))
	}
}

// more returns a line in the place of tasks that are not shown.
func (v *treeView) more(prefix string, n int, what string) row {
	return row{
		prefix: prefix, label: fmt.Sprintf("%s %d %s", v.look.Sign("…"), n, what),
		paint: func(s string) string { return s }, rest: []string{"", "", ""},
	}
}

func (v *treeView) row(prefix string, o *occurrence, now time.Time) row {
	r := row{prefix: prefix, label: terminal.Clip(v.look.Text(o.label), nameWidth), rest: []string{o.kind.Words(), "", v.look.Text(o.note)}}
	switch o.state {
	case stateRunning:
		r.mark, r.paint = "▶", v.look.Blue
		if o.listens != nil {
			r.rest[2] = v.look.Text(o.listens.text())
		}
		r.rest[1], r.short = v.look.Text(remaining(o, now)), v.look.Text(shortest(o, now))
	case stateCompleted:
		r.mark, r.paint = "✔", v.look.Green
		r.rest[1] = terminal.Elapsed(o.ended.Sub(o.started))
	case stateFaulted:
		r.mark, r.paint = "✖", v.look.Red
		r.rest[1] = terminal.Elapsed(o.ended.Sub(o.started))
	case stateCancelled:
		r.mark, r.paint = "⊘", v.look.Yellow
		r.rest[1] = terminal.Elapsed(o.ended.Sub(o.started))
		r.rest[2] = strings.TrimSpace("cancelled " + r.rest[2])
	case stateSkipped:
		r.mark, r.paint = "○", v.look.Dim
	}
	if r.short == "" {
		r.short = r.rest[1]
	}
	if o.state == stateCompleted && len(o.children) > 0 { // the tasks of a group show it already
		r.mark, r.rest[1], r.short = "", "", ""
	}
	if r.mark != "" {
		r.mark = v.look.Sign(r.mark) + " "
	}
	return r
}

// remaining describes the wait of a task in progress.
func remaining(o *occurrence, now time.Time) string {
	var parts []string
	switch {
	case o.retry > 0 && !o.waits.IsZero():
		parts = append(parts, fmt.Sprintf("attempt %d in %s", o.retry, terminal.Elapsed(o.waits.Sub(now))))
	case !o.waits.IsZero():
		parts = append(parts, fmt.Sprintf("⏱ %s left of %s", terminal.Elapsed(o.waits.Sub(now)), duration.Format(o.waits.Sub(o.started))))
	case len(o.children) == 0:
		parts = append(parts, terminal.Elapsed(now.Sub(o.started)))
	}
	if !o.deadline.IsZero() {
		parts = append(parts, "⏱ times out in "+terminal.Elapsed(o.deadline.Sub(now)))
	}
	return strings.Join(parts, "  ")
}

// aligned aligns the columns of all rows.
func aligned(rows []row) []string {
	var names, kinds, times int
	for _, r := range rows {
		names = max(names, terminal.Width(r.prefix+r.mark+r.label))
		kinds = max(kinds, terminal.Width(r.rest[0]))
		times = max(times, min(terminal.Width(r.rest[1]), 12))
	}
	text := make([]string, len(rows))
	for i, r := range rows {
		name := terminal.Pad(r.prefix+r.mark+r.label, names)
		painted := r.prefix + r.paint(r.mark) + name[len(r.prefix+r.mark):]
		text[i] = strings.TrimRight(strings.Join([]string{
			painted, terminal.Pad(r.rest[0], kinds), terminal.Pad(r.rest[1], times), r.rest[2],
		}, "   "), " ")
	}
	return text
}
