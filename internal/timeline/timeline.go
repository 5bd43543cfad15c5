// Package timeline draws the history of a run over time: a row for each task, with its attempts, the waits between them, and ticks for deadlines. It
// draws a history, and knows no store.
package timeline

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/duration"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/svg"
	"github.com/swrun/swrun/interpreter"
)

// Timeline is a run over time. Add takes the records of a run in their order.
type Timeline struct {
	title string
	begin time.Time
	end   time.Time // of the records so far
	rows  []*row
	at    map[dsl.Pointer]*row
	open  map[string]*bar // bars in progress, by the occurrence of the task
	more  int             // tasks without a row
	runs  []time.Time     // deadlines of the whole run
	told  interpreter.ToldDeadlines
	fault string // the category of the error of a faulted run; otherwise empty
}

// row is a task.
type row struct {
	pointer   dsl.Pointer
	depth     int
	bars      []*bar
	deadlines []time.Time
}

// bar is a span of time in a row.
type bar struct {
	from, to time.Time // to is zero while the bar is in progress
	state    string
	about    string
	mark     string // beside the bar, after the sign of its state
}

// The states of bars.
const (
	stateOpen      = "in progress"
	stateDone      = "completed"
	stateFaulted   = "faulted"
	stateCancelled = "cancelled"
	stateBackoff   = "waits for the next attempt"
)

// maxRows is the maximum number of tasks with rows: a larger drawing is unreadable anyway.
const maxRows = 200

// New returns an empty timeline.
func New(title string) *Timeline {
	return &Timeline{title: title, at: map[dsl.Pointer]*row{}, open: map[string]*bar{}}
}

// Add adds a record.
func (t *Timeline) Add(r interpreter.HistoryEvent) {
	if t.begin.IsZero() {
		t.begin = r.At
	}
	t.end = r.At
	if r.Type == interpreter.WorkflowFaulted && r.Error != nil {
		t.fault = errors.Category(r.Error.Type)
	}
	told := t.told.Add(r)
	in := (*row)(nil)
	if r.Kind != "" {
		in = t.row(r.Pointer)
	}
	t.InForce(told)
	if in != nil {
		t.task(in, r)
	}
}

// InForce adds the active deadlines from a description of the run: records do not contain the deadlines of attempts and activities. Known ones are
// drawn once.
func (t *Timeline) InForce(all []interpreter.ActiveDeadline) {
	for _, d := range all {
		known := &t.runs
		if d.Pointer != "" {
			in := t.at[d.Pointer]
			if in == nil {
				continue
			}
			known = &in.deadlines
		}
		if !slices.ContainsFunc(*known, d.At.Equal) {
			*known = append(*known, d.At)
		}
	}
}

// task adds a record of a task to its row.
func (t *Timeline) task(in *row, r interpreter.HistoryEvent) {
	occurrence := string(r.Path)
	switch r.Type {
	case interpreter.TaskStarted:
		t.open[occurrence] = in.add(&bar{from: r.At, state: stateOpen})
	case interpreter.EffectStarted:
		about := fmt.Sprintf("attempt %d", max(r.Attempt, 1))
		if b := t.open[occurrence]; b != nil && b.from.Equal(r.At) { // it begins with its first attempt
			b.about = about
			break
		}
		t.close(occurrence, r.At, stateDone, "")
		t.open[occurrence] = in.add(&bar{from: r.At, state: stateOpen, about: about})
	case interpreter.RetryScheduled:
		in.add(&bar{from: r.At, to: r.Until, state: stateBackoff, about: fmt.Sprintf("attempt %d comes next", r.Attempt)})
	case interpreter.TaskCompleted:
		t.close(occurrence, r.At, stateDone, "")
	case interpreter.TaskFaulted:
		t.fails(occurrence, r)
	case interpreter.EffectRetried: // the next attempt at an activity
		t.fails(occurrence, r)
		in.add(&bar{from: r.At, to: r.Until, state: stateBackoff, about: fmt.Sprintf("attempt %d comes next", r.Attempt+1)})
		t.open[occurrence] = in.add(&bar{from: r.Until, state: stateOpen, about: fmt.Sprintf("attempt %d", r.Attempt+1)})
	case interpreter.TaskCancelled:
		t.close(occurrence, r.At, stateCancelled, "")
	}
}

// fails closes the bar of a failed attempt, and marks it with the category of the error. It marks an error that is not retried, which explains the
// missing attempts.
func (t *Timeline) fails(occurrence string, r interpreter.HistoryEvent) {
	if r.Error == nil {
		t.close(occurrence, r.At, stateFaulted, "")
		return
	}
	category := errors.Category(r.Error.Type)
	mark, about := category, "category "+category+": "+r.Error.Error()
	if marked, _ := r.Error.Extensions[interpreter.MemberNonRetryable].(bool); marked {
		mark, about = mark+", non-retryable", "non-retryable, no other attempt is made, "+about
	}
	if b := t.open[occurrence]; b != nil {
		b.mark = mark
	}
	t.close(occurrence, r.At, stateFaulted, about)
}

// row returns the row of a task; nil if there are too many.
func (t *Timeline) row(p dsl.Pointer) *row {
	if in := t.at[p]; in != nil {
		return in
	}
	if len(t.rows) == maxRows {
		t.more++
		return nil
	}
	in := &row{pointer: p, depth: max(strings.Count(string(p), "/")/3-1, 0)}
	t.rows, t.at[p] = append(t.rows, in), in
	return in
}

func (r *row) add(b *bar) *bar {
	r.bars = append(r.bars, b)
	return b
}

func (t *Timeline) close(occurrence string, at time.Time, state, about string) {
	b := t.open[occurrence]
	if b == nil {
		return
	}
	delete(t.open, occurrence)
	b.to, b.state = at, state
	if about != "" {
		b.about = strings.TrimSpace(b.about + " " + about)
	}
}

// Measures of the drawing.
const (
	labels    = 260.0
	chart     = 720.0
	rowHeight = 24.0
	head      = 56.0
	margin    = 200.0 // right of the chart, for the marks beside bars
	minimum   = 2.0   // width of a bar
	ticks     = 5
)

// SVG returns the current timeline; the timeline of a finished run ends with its last record.
func (t *Timeline) SVG(now time.Time, ended bool) string {
	if t.begin.IsZero() {
		t.begin = now
	}
	if !ended && now.After(t.end) {
		t.end = now
	}
	d := svg.New(int(labels+chart+margin), int(head+rowHeight*float64(len(t.rows)+1))+16, t.title)
	headline := t.title
	if t.fault != "" {
		headline += " ✖ " + t.fault
	}
	d.Text(svg.Text{X: 12, Y: 22, Text: headline, Color: svg.Ink, Size: 14})
	t.axis(d)
	for n, in := range t.rows {
		t.draw(d, in, head+rowHeight*float64(n))
	}
	if t.more > 0 {
		d.Text(svg.Text{X: 12, Y: head + rowHeight*float64(len(t.rows)) + 15, Text: fmt.Sprintf("%d records of further tasks are not shown", t.more), Color: svg.Faint, Size: 12})
	}
	for _, at := range t.runs {
		t.deadline(d, tick{at, head - 8, rowHeight*float64(len(t.rows)) + 8, "the run"})
	}
	return d.String()
}

// x returns the position of a moment.
func (t *Timeline) x(at time.Time) float64 {
	whole := max(t.end.Sub(t.begin), time.Millisecond)
	return labels + chart*float64(at.Sub(t.begin))/float64(whole)
}

func (t *Timeline) axis(d *svg.Drawing) {
	whole := max(t.end.Sub(t.begin), time.Millisecond)
	for n := range ticks + 1 {
		x := labels + chart*float64(n)/ticks
		d.Upright(x, head-10, 10+rowHeight*float64(len(t.rows)), svg.Plain(svg.Grey))
		d.Text(svg.Text{X: x, Y: head - 16, Text: duration.FormatRough(whole * time.Duration(n) / ticks), Color: svg.Faint, Size: 11, Middle: true})
	}
}

func (t *Timeline) draw(d *svg.Drawing, in *row, y float64) {
	name := string(in.pointer[strings.LastIndex(string(in.pointer), "/")+1:])
	d.Text(svg.Text{X: 12 + 12*float64(in.depth), Y: y + 15, Text: shorten.To(name, 34-2*min(in.depth, 10)), Color: svg.Ink, Size: 12})
	fills := map[string]svg.Color{stateOpen: svg.Blue, stateDone: svg.Green, stateFaulted: svg.Red, stateCancelled: svg.Grey, stateBackoff: svg.Yellow}
	signs := map[string]string{stateFaulted: "✖", stateCancelled: "⊘", stateOpen: "▶"}
	bars := slices.DeleteFunc(slices.Clone(in.bars), func(b *bar) bool { return b.from.After(t.end) }) // without future attempts
	for n, b := range bars {
		to := b.to
		if to.IsZero() || to.After(t.end) {
			to = t.end
		}
		from := t.x(b.from)
		width := max(t.x(to)-from, minimum)
		title := fmt.Sprintf("%s %s after %s", in.pointer, b.state, duration.FormatRough(to.Sub(b.from)))
		if b.about != "" {
			title += ": " + shorten.To(b.about, 200)
		}
		d.Box(svg.Box{X: from, Y: y + 4, W: width, H: rowHeight - 8, Fill: fills[b.state], Border: svg.Line, Round: 2, Dashed: b.state == stateBackoff || b.state == stateOpen, Title: title})
		sign := signs[b.state]
		if n == len(bars)-1 { // there is room
			sign = strings.TrimSpace(sign + " " + b.mark)
		}
		if sign != "" {
			d.Text(svg.Text{X: from + width + 3, Y: y + 16, Text: sign, Color: svg.Ink, Size: 11})
		}
	}
	for _, at := range in.deadlines {
		t.deadline(d, tick{at, y + 1, rowHeight - 2, string(in.pointer)})
	}
}

// tick is a deadline, with its vertical position and height in the drawing.
type tick struct {
	at        time.Time
	y, height float64
	whose     string
}

// deadline draws a tick for a deadline; a deadline beyond the drawing is an arrow at its edge.
func (t *Timeline) deadline(d *svg.Drawing, k tick) {
	x, title := t.x(k.at), fmt.Sprintf("deadline of %s: %s", k.whose, k.at.UTC().Format(time.RFC3339Nano))
	if x > labels+chart {
		x = labels + chart + 6
		d.Text(svg.Text{X: x + 4, Y: k.y + 14, Text: "→", Color: svg.Alarm, Size: 12})
	}
	d.Upright(x, k.y, k.height, svg.Dashed(svg.Alarm))
	d.Box(svg.Box{X: x - 3, Y: k.y, W: 6, H: k.height, Fill: "transparent", Border: "none", Title: title})
}
