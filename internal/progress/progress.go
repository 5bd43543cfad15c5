// Package progress shows a run in progress: as a tree that is redrawn on a terminal, as lines for logs, or as the lifecycle events of the
// specification. The command writes the result to standard error. The package never changes or stops a run, even if its output cannot be written.
package progress

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/execution"
)

// View shows a run in progress. Several goroutines may use it.
type View struct {
	mu    sync.Mutex
	shown view
	now   func() time.Time
}

// view is one form of progress. Its methods are called one at a time.
type view interface {
	observe(interpreter.HistoryEvent)
	publish(event map[string]any)
	outlast(tasks []string)
	tick(now time.Time)
	end(o execution.Outcome, failed bool)
}

// Run is the displayed run.
type Run struct {
	Workflow *dsl.Workflow
	ID       string
	Virtual  bool // it runs on virtual time
	// Output is a URI of the run's output, if it is kept; empty otherwise.
	Output string
	Types  Types // of lifecycle events
}

func (r Run) name() string { return terminal.Printable(r.Workflow.Document.String()) }

// Redactor hides secrets.
type Redactor interface {
	Text(string) string
	Value(any) any
}

// Config specifies the displayed run, the form, and the output.
type Config struct {
	Mode     string // one of Modes
	Run      Run
	Out      io.Writer
	Secrets  Redactor
	Now      func() time.Time
	Style    terminal.Style
	Terminal bool                       // Out is a terminal
	Dumb     bool                       // a terminal whose cursor cannot be moved
	Size     func() (width, height int) // of the terminal
}

// The forms of progress. Auto is a tree on a terminal, and no output elsewhere.
const (
	Auto  = "auto"
	Tree  = "tree"
	Lines = "lines"
	JSON  = "json"
	None  = "none"
)

// Modes returns all forms.
func Modes() []string { return []string{Auto, Tree, Lines, JSON, None} }

// New returns the view of a run.
func New(c Config) *View {
	return &View{shown: newView(c), now: c.Now}
}

func newView(c Config) view {
	text := redactedWriter{c.Out, c.Secrets}
	switch {
	case c.Mode == Tree, c.Mode == Auto && c.Terminal:
		return &treeView{w: text, look: c.Style, run: c.Run, tree: newTree(c.Run.Workflow), live: c.Terminal && !c.Dumb, size: c.Size}
	case c.Mode == Lines:
		return newLines(text, c.Run, c.Now)
	case c.Mode == JSON:
		return &lifecycle{w: c.Out, run: c.Run, secrets: c.Secrets}
	}
	return silent{}
}

// redactedWriter hides secrets in the output. Each Write contains whole lines.
type redactedWriter struct {
	w       io.Writer
	secrets Redactor
}

func (w redactedWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.w, w.secrets.Text(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Observe shows a record of the run; they come in order.
func (v *View) Observe(r interpreter.HistoryEvent) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.shown.observe(r)
}

// Publish shows an event that the workflow has emitted.
func (v *View) Publish(event map[string]any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.shown.publish(event)
}

// Outlast shows that the run is over and waits for the work of some of its tasks, by their places.
func (v *View) Outlast(tasks []interpreter.Path) {
	v.mu.Lock()
	defer v.mu.Unlock()
	words := make([]string, len(tasks))
	for i, path := range tasks {
		words[i] = terminal.Printable(string(path))
	}
	v.shown.outlast(firstFew(words))
}

// firstFew shortens a list to the length of a line.
func firstFew(words []string) []string {
	const few = 5
	if more := len(words) - few; more > 0 {
		return append(words[:few:few], fmt.Sprintf("and %d more", more))
	}
	return words
}

// End shows the outcome of the run, after all records. Failed means that a report of the failure follows.
func (v *View) End(o execution.Outcome, failed bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.shown.end(o, failed)
}

// Tick updates the view with the clock, until the returned function is called.
func (v *View) Tick() (stop func()) {
	if _, ok := v.shown.(silent); ok {
		return func() {}
	}
	done := make(chan struct{})
	var ticking sync.WaitGroup
	ticking.Go(func() {
		ticker := time.NewTicker(redrawEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				v.tick()
			case <-done:
				return
			}
		}
	})
	return func() { close(done); ticking.Wait() }
}

func (v *View) tick() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.shown.tick(v.now())
}

// silent shows nothing.
type silent struct{}

func (silent) observe(interpreter.HistoryEvent) {}
func (silent) publish(map[string]any)           {}
func (silent) outlast([]string)                 {}
func (silent) tick(time.Time)                   {}
func (silent) end(execution.Outcome, bool)      {}
