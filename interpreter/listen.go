package interpreter

import (
	"slices"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
)

// Listener is a Body that waits for events. It listens from the time when it calls Scope.Listen until its task ends, also while its
// children run.
type Listener interface {
	Body
	// Arrive is called with each event that comes while the task listens: a structured CloudEvent as data. It returns Await
	// to go on as before, and whether it has consumed the event. One that is not consumed must change nothing.
	Arrive(s *Scope, event any) (n Next, consumed bool)
	// ListenAgain is called when the task goes on in another version of the workflow, which says from then on what it listens for.
	ListenAgain(s *Scope) *errors.Error
	// Listening returns how many events the task has consumed, and what it waits for.
	Listening(s *Scope) (consumed int, awaited []Awaited)
	// Refuses returns for each filter that waits for an event why it does not let this one pass; nothing for one that does.
	Refuses(s *Scope, event any) []Refusal
	// Correlated returns the values of the correlations of the events that were consumed.
	Correlated(s *Scope) map[string]any
}

// Awaited is a filter that waits for an event.
type Awaited struct {
	Filter   dsl.Pointer
	Type     string         // that the event must have; empty for any, or if a pattern or an expression says it
	Expected map[string]any // the values that its correlations must have, by their keys, as far as they are known
}

// AwaitedEvent is an event that a task waits for, as people are told of it: without values that repeat a secret, or are long.
type AwaitedEvent struct {
	Type   string
	Values map[string]string
}

// Refusal says why a filter does not let an event pass.
type Refusal struct {
	Filter    dsl.Pointer
	Attribute string // of the event, data or a part of it, or correlate.KEY
	Why       string // a part of a sentence
}

// Arrived says that an event has come, which tasks that listen may consume. An event that nobody consumes changes nothing.
type Arrived struct {
	Event any // a structured CloudEvent as data
	// At is when it came, if that was before the step; zero otherwise. It counts as having come in time for a deadline that has
	// passed since (semantics 14.11).
	At time.Time
}

func (Arrived) event() {}

// Listen has the task listen: to events that pass one of the filters. It replaces the filters that the task had before.
func (s *Scope) Listen(filters []EventFilter) {
	if !slices.Equal(s.frame.Listens, filters) {
		s.frame.Listens = filters
		s.frame.changed()
	}
}

// arrived hands an event to all tasks that listen, in the order in which they were started.
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
		if m.s.task(f.ID) == f { // an earlier one may have ended it
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

// EventFilters returns the filters of all tasks that listen, without those that are there already; none if the run has ended.
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
	Origin    dsl.Pointer // where it stands in the document
	StartedAt time.Time
	Consumed  int            // events so far
	Missing   []dsl.Pointer  // the filters that wait for an event
	Awaited   []AwaitedEvent // what each of them waits for
	Refusals  []Refusal      // of the event that was asked about
}

// ListeningTasks returns the tasks that listen, in the order in which they were started, and why they would not consume an event; nil
// asks about none.
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

// maxCorrelated is how many bytes a value of a correlation may have that the history tells.
const maxCorrelated = 1 << 10

// correlated returns the values of the correlations of what a task has consumed, as text; without those that repeat a secret, or are long.
func (m *machine) correlated(f *taskFrame) (all map[string]string) {
	listener, ok := f.node.body.(Listener)
	if !ok {
		return nil
	}
	return m.told(listener.Correlated(m.bodyScope(f)))
}

// told returns values of correlations as text; without those that repeat a secret, or are long.
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

// value is the task as the timeout error of a scope around it has it.
func (l Listening) value() any {
	missing := make([]any, len(l.Missing))
	for i, filter := range l.Missing {
		missing[i] = string(filter)
	}
	return map[string]any{"task": string(l.Pointer), "consumed": l.Consumed, "missing": missing}
}

// arrivedEarlier handles an event that came before the step, as if the deadlines that have passed since then still lay ahead. Those
// that had passed when it came end their scopes first.
func (m *machine) arrivedEarlier(ev Arrived) {
	if m.s.Status.Final() || m.s.Status == StatusPending {
		return
	}
	m.came = ev.At
	goesOn := m.expire()
	m.came = time.Time{}
	if goesOn {
		m.arrived(ev)
	}
}
