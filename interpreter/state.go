package interpreter

import (
	"slices"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/redact"
)

// Status is where a run stands: the DSL's status phases.
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

// Final reports whether nothing can follow.
func (s Status) Final() bool {
	return s == StatusCancelled || s == StatusFaulted || s == StatusCompleted
}

// State is a run as data. It belongs to one driver at a time; Step changes it in place. X, and values in it are shared
// and never written to.
type State struct {
	ID        string
	Namespace string
	Status    Status // pending, running or final; Phase tells more
	Suspended bool   // no task starts until it is resumed; deadlines go on
	StartedAt time.Time
	Input     any // raw input
	Context   any
	// Transformed is what the workflow's input.from made of the input; nil if there is none.
	Transformed *Value
	Deadlines   []Deadline // the workflow's own, in no order
	Output      any        // once completed
	Fault       *errors.Error
	// TimedOut says that the run has faulted because a deadline of its own has passed, the workflow's or that of a task
	// of it which nothing has caught. An error that merely looks so, or comes from somebody else, is none.
	TimedOut bool
	// Depth is how many workflows have started one another before this one.
	Depth int

	frames     []*Frame // in the order of their ids: a child comes after its parent
	lastFrame  FrameID
	lastEffect EffectID
	lastRecord int

	ended          []FrameKey // of saved frames that have ended since the last TakeChanges
	free           []FrameKey // that nothing is stored in
	lastSlot       FrameKey
	head           bool     // whether anything but frames and context has changed since then
	contextChanged bool     // since then
	queued         []*Frame // frames that can go on without an event
	history        int      // bytes of history
	sizes          [2]int   // bytes of the head and the context as they were stored last
	redact         *redact.Set
}

// FrameID identifies a frame within a run. A child's is always greater than its parent's.
type FrameID int

// FrameKey is where a frame is stored. A slot is used again when its frame has ended, so that most steps replace what is
// stored and delete nothing.
type FrameKey int

// EffectID identifies an effect within a run; ids are never used twice.
type EffectID int

// NewState returns the state of a run that has not started.
func NewState(namespace, id string) *State {
	return &State{ID: id, Namespace: namespace, Status: StatusPending, Context: map[string]any{}, head: true}
}

// Frame is a task in progress, or a list of tasks in progress. Which one it is tells List.
type Frame struct {
	ID     FrameID
	Parent FrameID     // 0 for the workflow's own list
	Origin dsl.Pointer // the task's place in the document; for a list, the place of the task that it belongs to
	Prefix dsl.Pointer // what precedes the task's pointer inside a function: where it was called
	Path   Path

	// A task's own.
	Phase     Phase
	Raw       any // raw input; in a list, the input of the task to start next
	Input     any // transformed input, once the body has started
	RawOutput any // what the body made, while extensions run after it
	Output    any // transformed output, while extensions run after the body
	StartedAt time.Time
	Branch    int  // position among the branches of a fork
	Isolated  bool // whether Context holds this branch's own context
	Context   any
	Progress  any // the kind's own; see Progress
	WakeAt    time.Time
	Effect    *InFlight
	Extension int   // the extension that is running
	Then      *Jump // the body's override of the flow directive, while extensions run after it

	// A list's own.
	List string // slot below the task; "" marks a task
	Pass Pass
	At   int // position of the task in progress
	Lap  int // how often the flow has jumped backward

	Vars      Vars       // of a list: bound for its tasks; of a task: bound for its own output.as and export.as
	Deadlines []Deadline // in force, outermost first
	Queued    bool       // it can go on without an event

	node    *node
	slot    FrameKey // where a driver has stored it; 0 for nowhere
	size    int      // bytes of it there
	touched bool     // it has changed since then
}

// Phase is how far a task has come.
type Phase uint8

// The phases of a task.
const (
	PhaseEntering Phase = iota // nothing of it has run
	PhaseBefore                // an extension's before is running
	PhaseBody
	PhaseAfter // an extension's after is running
)

// InFlight is an effect that a task waits for.
type InFlight struct {
	ID        EffectID
	StartedAt time.Time
	Attempt   int
	// Once says that the effect must not be performed again when nobody knows whether it has been.
	Once bool
	// Held says that the effect has not begun, and does not before State.Begin: its driver had no place for it.
	Held bool
	// Confidential says that a secret went with the request, so that the answer may repeat it and is not recorded.
	Confidential bool
	// Request is the frozen request. It is nil if it holds a secret: then it is made again, at the same clock.
	Request []byte
}

func (f *Frame) changed() { f.touched = true }

func (f *Frame) isList() bool { return f.List != "" }

func (f *Frame) pointer() dsl.Pointer { return f.Prefix + f.node.pointer }

func (s *State) frame(id FrameID) *Frame {
	i, ok := slices.BinarySearchFunc(s.frames, id, func(f *Frame, id FrameID) int { return int(f.ID - id) })
	if !ok {
		return nil
	}
	return s.frames[i]
}

// push adds a new frame.
func (s *State) push(f *Frame) *Frame {
	s.lastFrame++
	f.ID, f.touched = s.lastFrame, true
	s.frames = append(s.frames, f)
	s.head = true
	return f
}

// remove takes away a frame whose children have gone before.
func (s *State) remove(f *Frame) {
	last := len(s.frames) - 1
	if s.frames[last] == f { // almost always: the innermost frame ends first
		s.frames[last] = nil
		s.frames = s.frames[:last]
	} else if i := slices.Index(s.frames, f); i >= 0 {
		s.frames = slices.Delete(s.frames, i, i+1)
	}
	if f.slot != 0 {
		s.ended = append(s.ended, f.slot)
	}
	f.Queued = false
}

// queue lets f go on in this step or, if the step is over, in the next.
func (s *State) queue(f *Frame) {
	f.Queued = true
	f.changed()
	s.queued = append(s.queued, f)
}

// Phase returns the DSL's status phase: Status, or waiting and suspended, which say more of a run in progress.
func (s *State) Phase() Status {
	switch {
	case s.Status.Final():
		return s.Status
	case s.Suspended:
		return StatusSuspended
	case s.Status == StatusRunning && s.waits():
		return StatusWaiting
	}
	return s.Status
}

// waits reports whether nothing can go on before time has passed or something arrives.
func (s *State) waits() bool {
	for _, f := range s.frames {
		if f.Queued || f.Effect != nil && f.node != nil && f.node.kind.Perform != nil {
			return false
		}
	}
	return true
}

// NextDeadline returns when the first scope that is open ends; zero if none does.
func (s *State) NextDeadline() time.Time {
	first := earliest(s.Deadlines)
	for _, f := range s.frames {
		if d := earliest(f.Deadlines); !d.IsZero() && (first.IsZero() || d.Before(first)) {
			first = d
		}
	}
	return first
}

// NextWake returns when Step has to be called again at the latest, or the zero time if only an event can go on.
func (s *State) NextWake() time.Time {
	if s.Status.Final() {
		return time.Time{}
	}
	next := s.NextDeadline()
	for _, f := range s.frames {
		if !s.Suspended && !f.WakeAt.IsZero() && (next.IsZero() || f.WakeAt.Before(next)) {
			next = f.WakeAt
		}
	}
	return next
}

// History returns how many bytes of history the run has.
func (s *State) History() int { return s.history }

// Remember counts bytes of history that are stored with the next changes.
func (s *State) Remember(bytes int) {
	s.history += bytes
	s.head = true
}

// Size returns how many bytes the state took when its changes were last taken.
func (s *State) Size() int {
	size := s.sizes[0] + s.sizes[1]
	for _, f := range s.frames {
		size += f.size
	}
	return size
}

// Awaits reports whether a task still waits for an effect.
func (s *State) Awaits(id EffectID) bool { return s.waiting(id) != nil }

// waiting returns the frame of the task that waits for an effect, or nil.
func (s *State) waiting(id EffectID) *Frame {
	for _, f := range s.frames {
		if f.Effect != nil && f.Effect.ID == id {
			return f
		}
	}
	return nil
}

// Hold notes that an effect that a step wants is not begun yet. So it can be stored although it must not be performed
// twice: whoever restores the state knows that it has not been.
func (s *State) Hold(id EffectID) { s.hold(id, true) }

// Begin ends Hold: once this is stored, the effect counts as begun.
func (s *State) Begin(id EffectID) { s.hold(id, false) }

func (s *State) hold(id EffectID, held bool) {
	if f := s.waiting(id); f != nil && f.Effect.Held != held {
		f.Effect.Held = held
		f.changed()
	}
}
