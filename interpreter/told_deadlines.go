package interpreter

import (
	"iter"
	"slices"
	"time"
)

// ToldDeadlines follows the records of a history, and collects the deadlines in them. The deadlines of retry policies and of activities are in no
// record before they pass. Its zero value is ready for the first record.
type ToldDeadlines struct {
	run   []Deadline
	tasks []toldTask
}

// toldTask is a deadline of a task in progress.
type toldTask struct {
	ActiveDeadline
	path Path
}

// Add follows a record, and returns the deadlines that are new in it, with their scopes.
func (t *ToldDeadlines) Add(e HistoryEvent) (added []ActiveDeadline) {
	switch e.Type {
	case WorkflowStarted, WorkflowContinued:
		if e.Type == WorkflowStarted || e.Data != nil { // otherwise the next run continues at the same place
			t.tasks = nil
		}
		t.run = e.Deadlines
		return ofRun(t.run)
	case WorkflowDeadlineSet:
		t.run = setDeadlineOf(e).in(t.run, e.At)
		return ofRun(t.run)
	case WorkflowCompleted, WorkflowFaulted, WorkflowCancelled:
		t.run, t.tasks = nil, nil
	case TaskStarted:
		if !e.Until.IsZero() {
			return t.begins(e, Deadline{Kind: DeadlineTask, At: e.Until, StartedAt: e.At})
		}
	case TaskDeadlineSet:
		return t.moves(e)
	case TaskCompleted, TaskFaulted, TaskCancelled:
		t.tasks = slices.DeleteFunc(t.tasks, func(d toldTask) bool { return d.path == e.Path })
	}
	return nil
}

func ofRun(all []Deadline) (active []ActiveDeadline) {
	for _, d := range all {
		active = append(active, ActiveDeadline{Deadline: d, EndsRun: true})
	}
	return active
}

// begins notes a deadline of the task that a record is about.
func (t *ToldDeadlines) begins(e HistoryEvent, d Deadline) []ActiveDeadline {
	active := ActiveDeadline{Deadline: d, Pointer: e.Pointer, Origin: e.Place()}
	t.tasks = append(t.tasks, toldTask{active, e.Path})
	return []ActiveDeadline{active}
}

// moves notes that the deadline of a task was changed.
func (t *ToldDeadlines) moves(e HistoryEvent) (added []ActiveDeadline) {
	set, started := setDeadlineOf(e), e.At
	t.tasks = slices.DeleteFunc(t.tasks, func(d toldTask) bool {
		if d.path == e.Path {
			started = d.StartedAt
		}
		return d.path == e.Path
	})
	for _, d := range set.in(nil, started) {
		added = append(added, t.begins(e, d)...)
	}
	return added
}

// Run returns the deadlines of the whole run.
func (t *ToldDeadlines) Run() []Deadline { return t.run }

// InForce returns the reported deadlines whose scopes are in progress, in the order in which they pass.
func (t *ToldDeadlines) InForce() []ActiveDeadline {
	all := ofRun(t.run)
	for _, d := range t.tasks {
		all = append(all, d.ActiveDeadline)
	}
	sortDeadlines(all)
	return all
}

// sortDeadlines brings deadlines into the order in which they pass; of two at the same time, the outer one stays first.
func sortDeadlines(all []ActiveDeadline) {
	slices.SortStableFunc(all, func(a, b ActiveDeadline) int { return a.At.Compare(b.At) })
}

// deadlines yields every deadline in force with its scope (nil for the whole run), the outer scopes first. It is the source for lists of deadlines,
// for the earliest deadline, and for passed deadlines.
func (s *State) deadlines() iter.Seq2[frame, Deadline] {
	return func(yield func(frame, Deadline) bool) {
		for _, d := range s.Deadlines {
			if !yield(nil, d) {
				return
			}
		}
		for _, f := range s.frames {
			for _, d := range f.common().Deadlines {
				if !yield(f, d) {
					return
				}
			}
		}
	}
}

// NextDeadline returns the earliest active deadline; zero if there is no deadline.
func (s *State) NextDeadline() (first time.Time) {
	for _, d := range s.deadlines() {
		first = Earlier(first, d.At)
	}
	return first
}
