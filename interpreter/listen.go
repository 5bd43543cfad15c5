package interpreter

import (
	"slices"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
)

// Listener is a Body that waits for events. It listens from its call of Scope.Listen until its task ends, also while its children run.
type Listener interface {
	Body
	// Arrive is called with each event that arrives while the task listens: a structured CloudEvent as data. It returns Await to continue as before, and
	// whether it consumed the event. An event that is not consumed must change nothing.
	Arrive(s *Scope, event any) (n Next, consumed bool)
	// ListenAgain is called when the task continues in another version of the workflow, which from then on specifies the filters of the task.
	ListenAgain(s *Scope) *errors.Error
	// Listening returns the number of consumed events, and the filters that wait for an event.
	Listening(s *Scope) (consumed int, awaited []Awaited)
	// Refuses returns for each filter that waits for an event why it does not let this event pass. It returns no Refusal for a filter that lets the
	// event pass.
	Refuses(s *Scope, event any) []Refusal
	// Correlated returns the values of the correlations of the events that were consumed.
	Correlated(s *Scope) map[string]any
}

// Awaited is a filter that waits for an event.
type Awaited struct {
	Filter   dsl.Pointer
	Type     string         // that the event must have; empty for any, or if a pattern or an expression specifies it
	Expected map[string]any // the required values of its correlations, by their keys, if they are known
}

// AwaitedEvent is an event that a task waits for, in the form for people: without values that repeat a secret or are long.
type AwaitedEvent struct {
	Type   string
	Values map[string]string
}

// Refusal explains why a filter does not let an event pass.
type Refusal struct {
	Filter    dsl.Pointer
	Attribute string // of the event, data or a part of it, or correlate.KEY
	Why       string // a part of a sentence
}

// Arrived reports that an event arrived, which tasks that listen may consume. An event that no task consumes changes nothing.
type Arrived struct {
	Event any // a structured CloudEvent as data
	// At is the time of the arrival, if the event arrived before the step; zero otherwise. The event counts as in time for a deadline that has passed
	// since then (semantics 14.11).
	At time.Time
}

func (Arrived) event() {}

// Listen starts listening to events that pass one of the filters. They replace the earlier filters of the task.
func (s *Scope) Listen(filters []EventFilter) {
	if !slices.Equal(s.frame.Listens, filters) {
		s.frame.Listens = filters
		s.frame.changed()
	}
}

// arrived passes an event to all tasks that listen, in the order in which they were started.
func (m *machine) arrived(ev Arrived) {
	if m.s.Status.Final() {
		return
	}
	event := m.s.redact.EscapeReferences(ev.Event)
	var listening []*taskFrame
	for f := range m.s.tasks() {
		if f.Listens != nil {
			listening = append(listening, f)
		}
	}
	for _, f := range listening {
		if m.s.task(f.ID) == f { // an earlier task may have ended it
			m.arrive(f, event, ev.At)
		}
	}
}

func (m *machine) arrive(f *taskFrame, event any, at time.Time) {
	n, consumed := f.node.body.(Listener).Arrive(m.bodyScope(f), event)
	if !consumed {
		return
	}
	r := HistoryEvent{Type: EventConsumed, Data: event, Until: at}
	if m.s.redact.ContainsSecret(event) {
		r.Data, m.result.Withheld = nil, true
	}
	m.record(f.event(r))
	if m.s.Unwaited > 0 {
		m.s.Unwaited, m.s.headChanged = 0, true
	}
	f.changed()
	m.next(f, n)
}

// EventFilters returns the filters of all tasks that listen, without duplicates; nil if the run is over.
func (s *State) EventFilters() (all []EventFilter) {
	if s.Status.Final() {
		return nil
	}
	for f := range s.tasks() {
		for _, filter := range f.Listens {
			if !slices.Contains(all, filter) {
				all = append(all, filter)
			}
		}
	}
	return all
}

// Listening is a task that listens.
type Listening struct {
	Path      Path
	Pointer   dsl.Pointer // as errors show it
	Origin    dsl.Pointer // place in the document
	StartedAt time.Time
	Consumed  int            // events so far
	Missing   []dsl.Pointer  // the filters that wait for an event
	Awaited   []AwaitedEvent // the events that these filters wait for
	Refusals  []Refusal      // of the given event
}

// ListeningTasks returns the tasks that listen, in the order in which they were started, and why they would not consume an event. If event is nil,
// there are no refusals.
func ListeningTasks(p *Program, s *State, event any) (all []Listening) {
	m := &machine{p: p, s: s}
	m.scope.m = m
	m.resolveNodes()
	for f := range s.tasks() {
		if f.Listens == nil {
			continue
		}
		one := m.listening(f)
		if event != nil {
			one.Refusals = m.refusals(f, event)
		}
		all = append(all, one)
	}
	return all
}

// refusals returns why a task would not consume an event, without secrets.
func (m *machine) refusals(f *taskFrame, event any) []Refusal {
	all := f.node.body.(Listener).Refuses(m.bodyScope(f), m.s.redact.EscapeReferences(event))
	for n := range all {
		all[n].Why = m.s.redact.Text(all[n].Why)
	}
	return all
}

func (m *machine) listening(f *taskFrame) Listening {
	one := Listening{Path: f.Path, Pointer: f.pointer(), Origin: f.Origin, StartedAt: f.StartedAt}
	consumed, awaited := f.node.body.(Listener).Listening(m.bodyScope(f))
	one.Consumed = consumed
	for _, a := range awaited {
		one.Missing, one.Awaited = append(one.Missing, a.Filter), append(one.Awaited, AwaitedEvent{m.s.redact.Text(a.Type), m.told(a.Expected)})
	}
	return one
}

// maxCorrelated is the maximum size in bytes of a value of a correlation in the history.
const maxCorrelated = 1 << 10

// correlated returns the values of the correlations of the consumed events, as text, without values that repeat a secret or are long.
func (m *machine) correlated(f *taskFrame) (all map[string]string) {
	listener, ok := f.node.body.(Listener)
	if !ok {
		return nil
	}
	return m.told(listener.Correlated(m.bodyScope(f)))
}

// told returns values of correlations as text, without values that repeat a secret or are long.
func (m *machine) told(values map[string]any) (all map[string]string) {
	for key, value := range values {
		text, isText := value.(string)
		if !isText {
			encoded, _ := expr.Encode(value) // it was data already
			text = string(encoded)
		}
		if len(text) > maxCorrelated || m.s.redact.ContainsSecret(value) {
			continue
		}
		if all == nil {
			all = map[string]string{}
		}
		all[key] = text
	}
	return all
}

// value returns the task as the timeout error of a scope around it contains it.
func (l Listening) value() any {
	missing := make([]any, len(l.Missing))
	for i, filter := range l.Missing {
		missing[i] = string(filter)
	}
	return map[string]any{"task": string(l.Pointer), "consumed": l.Consumed, "missing": missing}
}

// arrivedEarlier handles an event that arrived before the step, as if the deadlines that have passed since then were still ahead. The deadlines that
// had passed at its arrival end their scopes first.
func (m *machine) arrivedEarlier(ev Arrived) {
	if m.s.Status.Final() || m.s.Status == StatusPending {
		return
	}
	m.came = ev.At
	goesOn := m.expire()
	m.noteLate()
	m.came = time.Time{}
	if goesOn {
		m.arrived(ev)
	}
}
