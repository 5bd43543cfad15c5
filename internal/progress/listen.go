package progress

import (
	"fmt"
	"strings"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/internal/delimited"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/terminal"
)

// listening describes the events that a listening task waits for, and the number of events that it has consumed.
type listening struct {
	filters string // the types of the events
	all     int    // number of required events; 0 if that is not known before
	came    int
}

// listeningAt returns the events that a task of a document listens for; nil if it does not listen.
func listeningAt(w *dsl.Workflow, p dsl.Pointer) *listening {
	task, _ := dsl.TaskAt(w, p).(*dsl.ListenTask)
	if task == nil || task.To == nil {
		return nil
	}
	l := &listening{}
	joint := " or "
	if task.To.Mode == "all" {
		l.all, joint = len(task.To.All), " and "
	}
	var kinds []string
	for _, f := range task.To.Filters() {
		kinds = append(kinds, typeOf(f))
	}
	if len(kinds) == 0 {
		kinds = []string{"any event"}
	}
	if over := len(kinds) - shownTypes; over > 0 {
		kinds = append(kinds[:shownTypes], fmt.Sprintf("%d more", over))
	}
	l.filters = strings.Join(kinds, joint)
	return l
}

// shownTypes is the maximum number of displayed filters of a task.
const shownTypes = 3

// typeOf describes the events that pass a filter by their type.
func typeOf(f *dsl.EventFilter) string {
	with, _ := f.With.Data.(map[string]any)
	kind, ok := with["type"].(string)
	if !ok || kind == "" || delimited.Is(kind) {
		return "an event"
	}
	return terminal.Printable(shorten.To(kind, 60))
}

// text returns a short description.
func (l *listening) text() string {
	text := "waits for " + l.filters
	switch {
	case l.all > 0:
		text += fmt.Sprintf(", %d of %d came", l.came, l.all)
	case l.came > 0:
		text += fmt.Sprintf(", %d came", l.came)
	}
	return text
}
