package interpreter

import (
	"slices"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/limits"
)

// Beside is a child run that no task waits for and that ends with its parent. The parent lists it until the child is over.
type Beside struct {
	Effect   EffectID
	Run      string    // namespace/id
	Close    string    // dsl.ParentCloseCancel or dsl.ParentCloseTerminate
	Deadline time.Time // of the whole execution of the parent, as the child knows it; zero for no deadline
}

func (b *Beside) stored(o *object) {
	number(o, "e", &b.Effect)
	text(o, "r", &b.Run)
	text(o, "c", &b.Close)
	o.instant("d", &b.Deadline)
}

// EndsWithParent reports whether the child ends with its parent even if no task waits for it.
func (r ChildRequest) EndsWithParent() bool {
	return r.ParentClose == dsl.ParentCloseCancel || r.ParentClose == dsl.ParentCloseTerminate
}

// GoesOnAlone reports whether the child of a task continues when the task no longer waits for it.
func (r ChildRequest) GoesOnAlone() bool { return r.ParentClose == dsl.ParentCloseAbandon }

// Beside returns the child runs that no task waits for, and that end with the run.
func (s *State) Beside() []Beside { return slices.Clone(s.beside) }

// executionDeadline returns the earliest deadline of the whole execution; zero if there is no deadline. Another run of the execution may follow the
// run.
func (s *State) executionDeadline() (first time.Time) {
	for _, d := range s.Deadlines {
		if d.Kind != DeadlineRun {
			first = Earlier(first, d.At)
		}
	}
	return first
}

// besideOf returns the child that a task starts without waiting for it, if the child ends with the run.
func (m *machine) besideOf(n Next) (r ChildRequest, ok bool) {
	r, ok = n.value.(ChildRequest)
	return r, ok && n.detach && r.EndsWithParent()
}

// checkBeside returns an error if too many children that no task waits for would end with the run.
func (m *machine) checkBeside(n Next) *errors.Error {
	if _, ok := m.besideOf(n); !ok {
		return nil
	}
	return m.p.config.Limits.Check(limits.Children, 1+len(m.s.beside))
}

// list adds a child that ends with the run to the list, and gives it the deadline of the execution. Other children that no task waits for get no
// deadline.
func (m *machine) list(e *Effect, n Next, run string) {
	if r, ok := m.besideOf(n); ok {
		e.Request.Deadline = m.s.executionDeadline()
		m.s.beside = append(m.s.beside, Beside{Effect: e.ID, Run: run, Close: r.ParentClose, Deadline: e.Request.Deadline})
	}
}

// besideEnded removes a child that is over from the list, and reports whether it was in the list.
func (m *machine) besideEnded(id EffectID) bool {
	at := slices.IndexFunc(m.s.beside, func(b Beside) bool { return b.Effect == id })
	if at < 0 {
		return false
	}
	m.record(HistoryEvent{Type: WorkflowChildEnded, Effect: id, Run: m.s.beside[at].Run})
	m.s.beside = slices.Delete(slices.Clone(m.s.beside), at, at+1)
	m.s.headChanged = true
	return true
}

// closeBeside ends the children that end with the run.
func (m *machine) closeBeside() {
	for _, b := range m.s.beside {
		m.unwanted(b.Effect)
	}
	m.s.beside = nil
}

// moveBeside gives the children the present deadline of the execution.
func (m *machine) moveBeside() {
	m.s.beside = slices.Clone(m.s.beside)
	for n := range m.s.beside {
		m.s.beside[n].Deadline = m.s.executionDeadline()
	}
}
