package local

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/interpreter"
)

// Arrival is an event that comes to the runs.
type Arrival struct {
	// After is how long after the start of the first run it comes, if it is Timed. Otherwise, and if that is no time, it comes, in
	// order, once something listens.
	After time.Duration
	Timed bool
	Event map[string]any // a structured CloudEvent
}

// Unmatched is an event that nothing has consumed.
type Unmatched struct {
	Event    map[string]any
	Refusals []interpreter.Refusal // by the tasks that listened when it arrived
	Repeated bool                  // another event with this source and ID arrived before
}

// ListeningError reports that the runs listen for events, and that no further events will arrive.
type ListeningError struct {
	Tasks     []interpreter.Listening
	Unmatched []Unmatched
}

// Error lists the awaited events.
func (e *ListeningError) Error() string {
	var at []string
	for _, t := range e.Tasks {
		for _, filter := range t.Missing {
			at = append(at, string(filter))
		}
	}
	return fmt.Sprintf("no event is left to come, and the run listens for one that passes %s", strings.Join(at, " or "))
}

// arrivals are the events that come to a family of runs.
type arrivals struct {
	timed     []Arrival        // the next one first
	waiting   []map[string]any // for something that listens
	live      <-chan Arrival   // nil once it is closed
	seen      map[eventID]bool
	unmatched []Unmatched
}

// eventID is the identity of events.
type eventID struct{ source, id string }

func newArrivals(c Config) arrivals {
	a := arrivals{live: c.Live, seen: map[eventID]bool{}}
	for _, arrival := range c.Arrivals {
		a.add(arrival)
	}
	return a
}

func (a *arrivals) add(one Arrival) {
	if !one.Timed || one.After <= 0 { // nothing can listen at the start itself
		a.waiting = append(a.waiting, one.Event)
		return
	}
	at, _ := slices.BinarySearchFunc(a.timed, one, func(b, one Arrival) int {
		return cmp.Or(cmp.Compare(b.After, one.After), -1) // after the events of the same time
	})
	a.timed = slices.Insert(a.timed, at, one)
}

// nextAt returns when the next timed event comes; zero if none does.
func (a *arrivals) nextAt(began time.Time) time.Time {
	if len(a.timed) == 0 {
		return time.Time{}
	}
	return began.Add(a.timed[0].After)
}

// deliverTimed delivers the timed events that are due.
func (l *local) deliverTimed() {
	a := &l.arrivals
	for at := a.nextAt(l.clock.began); !at.IsZero() && !l.clock.now().Before(at); at = a.nextAt(l.clock.began) {
		event := a.timed[0].Event
		a.timed = a.timed[1:]
		l.deliver(event)
	}
}

// deliverWaiting hands on the next event that waits for something that listens, and reports whether there was one.
func (l *local) deliverWaiting() bool {
	a := &l.arrivals
	if len(a.waiting) == 0 || !l.listens() {
		return false
	}
	event := a.waiting[0]
	a.waiting = a.waiting[1:]
	l.deliver(event)
	return true
}

func (l *local) listens() bool {
	return slices.ContainsFunc(l.runs, func(i *familyRun) bool { return len(i.state.EventFilters()) > 0 })
}

// deliver delivers an event to all listening runs; a repeated event is dropped.
func (l *local) deliver(event map[string]any) {
	source, _ := event["source"].(string)
	id, _ := event["id"].(string)
	if l.arrivals.seen[eventID{source, id}] {
		l.arrivals.unmatched = append(l.arrivals.unmatched, Unmatched{Event: event, Repeated: true})
		return
	}
	l.arrivals.seen[eventID{source, id}] = true
	for _, i := range l.runs {
		if len(i.state.EventFilters()) > 0 {
			l.post(i, interpreter.Arrived{Event: event})
		}
	}
	l.explain(event)
}

// explain keeps why nothing consumes an event, if that is so.
func (l *local) explain(event map[string]any) {
	u := Unmatched{Event: event}
	for _, i := range l.runs {
		for _, task := range interpreter.ListeningTasks(i.program, i.state, event) {
			if len(task.Refusals) < len(task.Missing) {
				return
			}
			u.Refusals = append(u.Refusals, task.Refusals...)
		}
	}
	l.arrivals.unmatched = append(l.arrivals.unmatched, u)
}

// publish delivers an event that a run emitted to its listeners.
func (l *local) publish(e interpreter.Effect) {
	if event, err := expr.Decode(e.Request.Body); err == nil {
		if event, ok := event.(map[string]any); ok {
			l.deliver(event)
		}
	}
}

// listening returns the error if no run can continue.
func (l *local) listening() *ListeningError {
	e := &ListeningError{Unmatched: l.arrivals.unmatched}
	for _, i := range l.runs {
		e.Tasks = append(e.Tasks, interpreter.ListeningTasks(i.program, i.state, nil)...)
	}
	return e
}
