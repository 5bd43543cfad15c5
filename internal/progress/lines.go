package progress

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/execution"
)

// lines writes one line per change of state, for grep and for the logs of CI.
type lines struct {
	w       io.Writer
	run     Run
	last    time.Time                                     // time of the last line, on the real clock
	at      time.Time                                     // of the last record, on the clock of the run
	running map[interpreter.Path]interpreter.HistoryEvent // tasks in progress
	// outlasting are the tasks whose work continues after the end of the run.
	outlasting []string
	now        func() time.Time
}

// heartbeat is the maximum time between two lines.
const heartbeat = 30 * time.Second

func newLines(w io.Writer, s Run, now func() time.Time) *lines {
	return &lines{w: w, run: s, last: now(), now: now, running: map[interpreter.Path]interpreter.HistoryEvent{}}
}

func (l *lines) observe(r interpreter.HistoryEvent) {
	l.at = r.At
	switch r.Type {
	case interpreter.TaskStarted:
		r.Data = nil
		l.running[r.Path] = r
	case interpreter.TaskCompleted, interpreter.TaskFaulted, interpreter.TaskCancelled:
		delete(l.running, r.Path)
	case interpreter.EffectStarted, interpreter.EffectFinished, interpreter.ResultLate:
		return // readers of the log do not need this record
	}
	l.write(r.At, string(r.Type), l.words(r))
}

func (l *lines) publish(event map[string]any) {
	words := []string{"type=" + terminal.Printable(fmt.Sprint(event["type"])), "id=" + terminal.Printable(fmt.Sprint(event["id"]))}
	l.write(l.moment(l.now()), "event.published", words)
}

// moment returns the time of an event without its own time, on the clock of the run.
func (l *lines) moment(now time.Time) time.Time {
	if l.run.Virtual && !l.at.IsZero() {
		return l.at
	}
	return now
}

func (l *lines) outlast(tasks []string) {
	l.outlasting = tasks
	l.write(l.moment(l.now()), "run.outlasted", append([]string{l.run.name(), "run=" + terminal.Printable(l.run.ID), "ended-by=Ctrl-C", "begun-at"}, tasks...))
}

func (l *lines) write(at time.Time, event string, words []string) {
	l.last = l.now()
	fmt.Fprintf(l.w, "%s %-18s %s\n", at.UTC().Format("2006-01-02T15:04:05.000Z"), event, strings.Join(words, " "))
}

func (l *lines) words(r interpreter.HistoryEvent) []string {
	if r.Kind == "" {
		words := []string{l.run.name(), "run=" + terminal.Printable(l.run.ID)}
		if r.Error != nil {
			words = append(words, "error="+terminal.Printable(shorten.To(r.Error.Error(), 300)))
		}
		return words
	}
	words := []string{terminal.Printable(string(r.Path)), "kind=" + string(r.Kind)}
	if r.Attempt > 0 {
		words = append(words, fmt.Sprintf("attempt=%d", r.Attempt))
	}
	if !r.Until.IsZero() {
		words = append(words, "until="+r.Until.UTC().Format(time.RFC3339Nano))
	}
	if r.CaughtBy != "" {
		words = append(words, "by="+terminal.Printable(string(r.CaughtBy)))
	}
	if r.Error != nil {
		words = append(words, "error="+terminal.Printable(shorten.To(r.Error.Error(), 300)))
	}
	return words
}

func (l *lines) tick(now time.Time) {
	if now.Sub(l.last) < heartbeat {
		return
	}
	if len(l.outlasting) > 0 {
		l.outlast(l.outlasting)
		return
	}
	l.write(l.moment(now), "running", append([]string{l.run.name(), "run=" + terminal.Printable(l.run.ID), "at"}, firstFew(l.innermost())...))
}

// innermost returns the paths of the tasks in progress that contain no other task in progress.
func (l *lines) innermost() []string {
	var paths []string
	for _, path := range slices.Sorted(maps.Keys(l.running)) {
		outer := false
		for other := range l.running {
			rest, inside := strings.CutPrefix(string(other), string(path))
			outer = outer || inside && rest != "" && strings.IndexByte("/![(", rest[0]) >= 0
		}
		if !outer {
			paths = append(paths, terminal.Printable(string(path)))
		}
	}
	return paths
}

func (l *lines) end(o execution.Outcome, _ bool) {
	l.write(o.EndedAt, "run.ended", []string{
		l.run.name(), "run=" + terminal.Printable(l.run.ID), "status=" + string(o.Status), "elapsed=" + terminal.Elapsed(o.Took()),
	})
}
