package interpreter

import (
	"encoding/json"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/internal/form"
	"github.com/swrun/swrun/redact"
)

// frame is a part of a run that is in progress: a taskFrame or a listFrame.
type frame interface {
	common() *commonFrame
	// stored visits the fields that are stored.
	stored(*object)
}

// FrameID identifies a frame within a run. A child's is always greater than its parent's.
type FrameID int

// FrameKey is the key under which a frame is stored. The key of a frame that is over is used again, so that most steps overwrite stored frames and
// delete no frame.
type FrameKey int

// commonFrame contains the fields that tasks and lists in progress share.
type commonFrame struct {
	ID        FrameID
	Parent    FrameID     // 0 for the workflow's own list
	Origin    dsl.Pointer // the task's place in the document; for a list, the place of the task that it belongs to
	Prefix    dsl.Pointer // the part before the task's pointer inside a function: the pointer of the call
	Path      Path
	Vars      Vars       // of a list: bound for its tasks; of a task: bound for its own output.as and export.as
	Deadlines []Deadline // active, outermost first
	Queued    bool       // it can continue without an event

	node    *node    // the task; for a list, the task that it belongs to
	key     FrameKey // 0 until it is stored
	size    int      // bytes that it takes in the store
	touched bool     // it has changed since it was stored
}

func (f *commonFrame) common() *commonFrame { return f }

func (f *commonFrame) changed() { f.touched = true }

func (f *commonFrame) pointer() dsl.Pointer { return f.Prefix + f.node.pointer }

func (f *commonFrame) stored(o *object) {
	number(o, "i", &f.ID)
	number(o, "u", &f.Parent)
	text(o, "p", &f.Origin)
	text(o, "P", &f.Prefix)
	textUnless(o, "h", &f.Path, Path(f.Origin))
	o.variables("v", &f.Vars)
	parts(o, "d", &f.Deadlines, (*Deadline).stored)
	o.flag("q", &f.Queued)
}

// listFrame is a list of tasks in progress.
type listFrame struct {
	commonFrame
	ListName      string // which of the task's lists it is: see List.name
	Data          any    // input of the task to start next
	Repetition    Repetition
	At            int // position of the task in progress
	BackwardJumps int // how often the flow has jumped backward
}

func (f *listFrame) stored(o *object) {
	text(o, "l", &f.ListName) // first, because it identifies a list when the frame is read
	f.commonFrame.stored(o)
	o.data("r", &f.Data)
	number(o, "n", &f.Repetition.Iteration)
	number(o, "a", &f.Repetition.Attempt)
	number(o, "@", &f.At)
	number(o, "L", &f.BackwardJumps)
}

// wakesAt returns the time at which the body is called without an event; zero for never.
func (f *taskFrame) wakesAt() time.Time {
	if f.Effect != nil {
		return f.Effect.Until
	}
	return f.WakeAt
}

// taskFrame is a task in progress.
type taskFrame struct {
	commonFrame
	Phase     Phase
	Raw       any // raw input
	Input     any // transformed input, once the body has started
	Output    any // transformed output, while extensions run after the body
	RawOutput any // the body's output as it was, while extensions run after it
	StartedAt time.Time
	Soft      SoftDeadline
	Branch    int  // position among the branches of a fork
	Isolated  bool // whether Context holds this branch's own context
	Context   any
	Progress  any // the kind's own; see Progress
	WakeAt    time.Time
	Called    any // the target of the last attempt's call while a try waits for the next attempt, in the form of errors.MemberRequest
	Effect    *InFlight
	Extension int           // the extension that is running
	Then      *Jump         // the body's override of the flow directive, while extensions run after it
	Listens   []EventFilter // the task listens to events that pass one of them; nil if it does not listen
	Suspended bool          // with the run, while others are in progress in it
	// Requests are the numbers of requests of the occurrences below the task, by their paths without retries, if the task may run them again.
	Requests map[string]int
}

func (f *taskFrame) stored(o *object) {
	f.commonFrame.stored(o)
	number(o, "f", &f.Phase)
	o.data("r", &f.Raw)
	if f.Phase >= PhaseBody {
		o.dataUnless("I", &f.Input, f.Raw)
	}
	o.data("o", &f.Output)
	if f.Phase == PhaseAfter {
		o.dataUnless("O", &f.RawOutput, f.Output)
	}
	o.instant("t", &f.StartedAt)
	f.Soft.stored(o)
	number(o, "b", &f.Branch)
	o.flag("C", &f.Isolated)
	o.data("c", &f.Context)
	f.storedProgress(o)
	o.instant("w", &f.WakeAt)
	o.data("k", &f.Called)
	part(o, "e", &f.Effect, (*InFlight).stored)
	number(o, "x", &f.Extension)
	part(o, "j", &f.Then, (*Jump).stored)
	parts(o, "L", &f.Listens, (*EventFilter).stored)
	o.flag("z", &f.Suspended)
	o.counts("n", &f.Requests)
}

// storedProgress visits the kind's own state, which stays JSON text until the kind requests it.
func (f *taskFrame) storedProgress(o *object) {
	text, _ := f.Progress.(json.RawMessage)
	if !o.reading && f.Progress != nil && text == nil {
		var err error
		if text, err = json.Marshal(f.Progress); err != nil {
			o.fail(err)
			return
		}
	}
	if o.sealedJSON("g", (*[]byte)(&text)); o.reading && text != nil {
		f.Progress = text
	}
}

// Phase is the progress of a task.
type Phase uint8

// The phases of a task.
const (
	PhaseEntering Phase = iota // nothing of it has run
	PhaseBefore                // an extension's before is running
	PhaseBody
	PhaseAfter // an extension's after is running
)

// EffectID identifies an effect within a run; ids are never used twice.
type EffectID int

// InFlight is an effect that a task waits for.
type InFlight struct {
	ID        EffectID
	StartedAt time.Time
	Attempt   int
	// AtMostOnce reports that the effect must not be performed again if it is unknown whether it was performed.
	AtMostOnce bool
	// Waits reports that the effect only waits for data of others: see Next.Waiting.
	Waits bool
	// Deferred reports that the effect did not begin because its driver had no free slot. It begins with State.BeginEffect.
	Deferred bool
	// Lacks is a need that its driver lacked when it performed the effect; empty if no need was lacking. The effect is then Deferred, too.
	Lacks string
	// Confidential reports that the request contains a secret. The result may repeat the secret, and is left out of the history.
	Confidential bool
	// Request is the body of the request. It is nil if it contains a secret; then it is computed again, with the same time.
	Request []byte
	// Run is the run that the effect starts, as namespace/id; empty if it starts no run.
	Run string
	// Until is the time at which its task no longer needs the effect; zero for never.
	Until time.Time
}

func (e *InFlight) stored(o *object) {
	number(o, "i", &e.ID)
	o.instant("t", &e.StartedAt)
	number(o, "a", &e.Attempt)
	o.flag("1", &e.AtMostOnce)
	o.flag("w", &e.Waits)
	o.flag("h", &e.Deferred)
	text(o, "n", &e.Lacks)
	o.flag("s", &e.Confidential)
	o.sealedJSON("q", &e.Request)
	text(o, "c", &e.Run)
	o.instant("u", &e.Until)
}

func encodeFrame(f frame, o *object) ([]byte, error) {
	return o.writtenIn(form.State, make([]byte, 0, 256), f.stored)
}

func decodeFrame(data []byte, secrets *redact.Set) (f frame, err error) {
	err = readStored("a frame", form.State, stored{data, secrets}, func(o *object) {
		if _, isList := o.peek("l"); isList {
			f = new(listFrame)
		} else {
			f = new(taskFrame)
		}
		f.stored(o)
	})
	return f, err
}

func byID(a, b frame) int { return int(a.common().ID - b.common().ID) }
