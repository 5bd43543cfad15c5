package interpreter

import (
	"iter"
	"slices"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/redact"
)

// Status is the status phase of a run, in the DSL's words.
type Status string

// The statuses.
const (
	StatusPending   Status = "pending"
	StatusRunning   Status = "running"
	StatusWaiting   Status = "waiting"
	StatusSuspended Status = "suspended"
	StatusCancelled Status = "cancelled"
	StatusFaulted   Status = "faulted"
	StatusCompleted Status = "completed"
)

// Final reports whether the run is over.
func (s Status) Final() bool {
	return s == StatusCancelled || s == StatusFaulted || s == StatusCompleted
}

// State is a run as data. It belongs to one driver at a time; Step changes it in place. The workflow's data in it is shared
// and never written to.
type State struct {
	Metadata  Metadata // never stored: the code that restores the state knows the options of the start
	Keys      Keys     // the same
	ID        string
	Namespace string
	Status    Status // pending, running or final; Phase is more exact
	Suspended bool   // no task starts until the run is resumed; deadlines stay in force
	Order     Order  // of a run that is cancelled or suspended
	StartedAt time.Time
	Input     any // raw input
	Context   any
	// Transformed is the input after the workflow's input.from; nil if there is no input.from.
	Transformed *Value
	Deadlines   []Deadline // the workflow's own, in no order
	Soft        SoftDeadline
	Output      any // once completed
	Fault       *errors.Error
	// TimedOut reports that the run faulted because one of its own deadlines has passed: a deadline of the workflow, or of a task whose timeout no try
	// caught. A timeout error that a task raised, or that came from outside, does not count.
	TimedOut bool
	// Depth is the number of runs above this one: the parent that started it, the parent's parent, and so on.
	Depth int
	// Continued is the number of earlier runs of the execution. Unwaited is the number of the last of them, in a row, that waited for nothing.
	Continued, Unwaited int
	RunTimeout          time.Duration // of each run; 0 for none

	beside       []Beside
	frames       []frame // in the order of their ids: a child comes after its parent
	lastFrame    FrameID
	lastEffect   EffectID
	lastHistory  int // Seq of the last history event
	historyBase  int // Seq of the last event of the run before this one
	historyBytes int // bytes of history

	queued         []frame    // frames that can continue without an event
	headChanged    bool       // whether anything but frames and context has changed since the last TakeChanges
	contextChanged bool       // since then
	ended          []FrameKey // keys of stored frames that have ended since then
	free           []FrameKey // keys that are not in use
	lastKey        FrameKey
	sizes          [2]int // bytes of the head and the context as they were stored last
	redact         *redact.Set
	leaveDetached  func(needs []string) []string // see LeaveDetached
	waits          func(is bool)                 // see ReportWaits
}

// ReportWaits has waits called before and after each wait of a step for one of Config.Places.
func (s *State) ReportWaits(waits func(is bool)) { s.waits = waits }

// NewState returns the state of a run that has not started.
func NewState(namespace, id string) *State {
	return &State{ID: id, Namespace: namespace, Status: StatusPending, Context: map[string]any{}, headChanged: true}
}

func (s *State) frame(id FrameID) frame {
	i, ok := slices.BinarySearchFunc(s.frames, id, func(f frame, id FrameID) int { return int(f.common().ID - id) })
	if !ok {
		return nil
	}
	return s.frames[i]
}

// task returns the frame of a task, or nil.
func (s *State) task(id FrameID) *taskFrame {
	f, _ := s.frame(id).(*taskFrame)
	return f
}

// tasks iterates over the frames of tasks.
func (s *State) tasks() iter.Seq[*taskFrame] {
	return func(yield func(*taskFrame) bool) {
		for _, f := range s.frames {
			if f, ok := f.(*taskFrame); ok && !yield(f) {
				return
			}
		}
	}
}

// ancestors iterates over the frames around f, innermost first.
func (s *State) ancestors(f frame) iter.Seq[frame] {
	return s.selfAndAncestors(s.frame(f.common().Parent))
}

// selfAndAncestors iterates over f and the frames around it, innermost first; over none if f is nil.
func (s *State) selfAndAncestors(f frame) iter.Seq[frame] {
	return func(yield func(frame) bool) {
		for ; f != nil && yield(f); f = s.frame(f.common().Parent) {
		}
	}
}

// push adds a new frame.
func (s *State) push(f frame) {
	s.lastFrame++
	f.common().ID, f.common().touched = s.lastFrame, true
	s.frames = append(s.frames, f)
	s.headChanged = true
}

// remove removes a frame that has no children any more.
func (s *State) remove(f frame) {
	last := len(s.frames) - 1
	if s.frames[last] == f { // almost always: the innermost frame ends first
		s.frames[last] = nil
		s.frames = s.frames[:last]
	} else if i := slices.Index(s.frames, f); i >= 0 {
		s.frames = slices.Delete(s.frames, i, i+1)
	}
	c := f.common()
	if c.key != 0 {
		s.ended = append(s.ended, c.key)
	}
	c.Queued = false
}

// queue lets f continue in this step or, if the step is over, in the next one.
func (s *State) queue(f frame) {
	f.common().Queued = true
	f.common().changed()
	s.queued = append(s.queued, f)
}

// Phase returns the DSL's status phase: Status, or waiting or suspended, which are more exact for a run in progress.
func (s *State) Phase() Status {
	switch {
	case s.Status.Final():
		return s.Status
	case s.Suspended:
		return StatusSuspended
	case s.Status == StatusRunning && s.isWaiting():
		return StatusWaiting
	}
	return s.Status
}

// isWaiting reports whether the run cannot continue before time passes or something arrives.
func (s *State) isWaiting() bool {
	for _, f := range s.frames {
		if f.common().Queued {
			return false
		}
	}
	for f := range s.tasks() {
		if f.Effect != nil && f.node != nil && f.node.kind.Perform != nil {
			return false
		}
	}
	return true
}

// Retrying reports whether a task is tried again, or waits for its next attempt.
func (s *State) Retrying() bool {
	return slices.ContainsFunc(s.frames, func(f frame) bool {
		switch f := f.(type) {
		case *listFrame:
			return f.Repetition.Attempt > 0
		case *taskFrame:
			return f.node != nil && (!f.WakeAt.IsZero() && isComposite(f) || f.retriesActivity())
		}
		return false
	})
}

func (f *taskFrame) retriesActivity() bool {
	return f.node.kind.Route == RouteActivity && f.Effect != nil && f.Effect.Attempt > 1
}

// TimeoutKind returns the kind of the deadline that ended the run; empty if no own deadline ended it.
func (s *State) TimeoutKind() string {
	if s.Fault == nil || !s.TimedOut { // without TimedOut, the member does not come from the engine
		return ""
	}
	kind, _ := s.Fault.Extensions[MemberTimeoutKind].(string)
	return kind
}

// NextWake returns the latest time for the next call of Step; zero if the run only waits for events.
func (s *State) NextWake() time.Time {
	if s.Status.Final() {
		return time.Time{}
	}
	next := Earlier(s.NextDeadline(), s.Soft.next())
	for f := range s.tasks() {
		next = Earlier(next, f.Soft.next())
		if !s.Suspended {
			next = Earlier(next, f.wakesAt())
		}
	}
	return next
}

// HistoryBytes returns the size of the run's history in bytes.
func (s *State) HistoryBytes() int { return s.historyBytes }

// AddHistoryBytes counts bytes of history that are stored with the next changes.
func (s *State) AddHistoryBytes(bytes int) {
	s.historyBytes += bytes
	s.headChanged = true
}

// Size returns the size of the state in bytes when its changes were last taken.
func (s *State) Size() int {
	size := s.sizes[0] + s.sizes[1]
	for _, f := range s.frames {
		size += f.common().size
	}
	return size
}

// Awaits reports whether a task still waits for an effect.
func (s *State) Awaits(id EffectID) bool { return s.taskAwaiting(id) != nil }

// OnlyWaits reports whether an effect for which a task still waits only waits for data of others itself. Such an effect may be stopped and begun
// again.
func (s *State) OnlyWaits(id EffectID) bool {
	f := s.taskAwaiting(id)
	return f != nil && f.Effect.Waits && !f.Effect.AtMostOnce
}

// Attempt returns the number of the present attempt at an effect; 0 if nothing waits for the effect.
func (s *State) Attempt(id EffectID) int {
	if f := s.taskAwaiting(id); f != nil {
		return f.Effect.Attempt
	}
	return 0
}

// taskAwaiting returns the frame of the task that waits for an effect, or nil.
func (s *State) taskAwaiting(id EffectID) *taskFrame {
	for f := range s.tasks() {
		if f.Effect != nil && f.Effect.ID == id {
			return f
		}
	}
	return nil
}

// DeferEffect marks an effect that a step requested as not begun. An at-most-once effect can then be stored while it waits. After the state is
// restored, the mark shows that the effect was not performed.
func (s *State) DeferEffect(id EffectID) {
	if f := s.taskAwaiting(id); f != nil {
		s.setDeferred(f, true, f.Effect.Lacks)
	}
}

// LeaveEffect does the same for an effect that began and did nothing, because its driver lacked a need.
func (s *State) LeaveEffect(id EffectID, need string) { s.setDeferred(s.taskAwaiting(id), true, need) }

// BeginEffect removes the mark of DeferEffect. Once this change is stored, the effect counts as begun.
func (s *State) BeginEffect(id EffectID) { s.setDeferred(s.taskAwaiting(id), false, "") }

func (s *State) setDeferred(f *taskFrame, deferred bool, lacks string) {
	if f != nil && (f.Effect.Deferred != deferred || f.Effect.Lacks != lacks) {
		f.Effect.Deferred, f.Effect.Lacks = deferred, lacks
		f.changed()
	}
}

// stored visits the stored fields of a run, without its frames and context.
func (s *State) stored(o *object) {
	textUnless(o, "s", &s.Status, StatusRunning)
	o.flag("z", &s.Suspended)
	o.instant("t", &s.StartedAt)
	o.optional("x", &s.Transformed)
	parts(o, "d", &s.Deadlines, (*Deadline).stored)
	s.Soft.stored(o)
	if s.Status == StatusCompleted {
		o.public("o", &s.Output)
	}
	custom(o, "e", &s.Fault)
	o.flag("T", &s.TimedOut)
	if s.Suspended || s.Status == StatusCancelled {
		text(o, "c", &s.Order.Reason)
		text(o, "C", &s.Order.Actor)
	}
	number(o, "w", &s.Depth)
	number(o, "k", &s.Continued)
	number(o, "u", &s.Unwaited)
	number(o, "l", &s.RunTimeout)
	parts(o, "B", &s.beside, (*Beside).stored)
	if s.Continued > 0 { // only the input of the first run is stored elsewhere
		o.data("i", &s.Input)
	}
	number(o, "f", &s.lastFrame)
	number(o, "n", &s.lastEffect)
	number(o, "r", &s.lastHistory)
	number(o, "b", &s.historyBase)
	number(o, "y", &s.historyBytes)
}
