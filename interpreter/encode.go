package interpreter

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/jsonvalue"
	"github.com/swrun/swrun/redact"
)

// Stored is a State as drivers keep it: in parts, so that a step writes only what it has changed. Input, namespace
// and id of the run are not among them; they never change.
type Stored struct {
	Head    []byte // JSON: status, deadlines, counters, and how the run ended
	Context []byte // JSON: $context; nil as long as it is empty
	Frames  map[FrameKey][]byte
}

// Apply makes the changes in what is stored.
func (s *Stored) Apply(c Changes) {
	if c.Head != nil {
		s.Head = c.Head
	}
	if c.Context != nil {
		s.Context = c.Context
	}
	if s.Frames == nil {
		s.Frames = map[FrameKey][]byte{}
	}
	for _, f := range c.Frames {
		s.Frames[f.Slot] = f.Data
	}
	for _, slot := range c.Ended {
		delete(s.Frames, slot)
	}
}

// Changes is what has to be stored after one or more steps. What is nil has not changed.
type Changes struct {
	Head    []byte
	Context []byte
	Frames  []StoredFrame // new or changed
	Ended   []FrameKey    // stored earlier, and to be deleted
}

// StoredFrame is one frame as drivers keep it.
type StoredFrame struct {
	Slot FrameKey
	Data []byte
}

// Snapshot returns the whole state as it would be stored. It does not count as storing it.
func (s *State) Snapshot() (stored Stored, err error) {
	if stored.Head, err = s.encodeHead(); err != nil {
		return stored, err
	}
	if stored.Context, err = expr.Encode(s.redact.Seal(s.Context)); err != nil {
		return stored, err
	}
	stored.Frames = make(map[FrameKey][]byte, len(s.frames))
	for i, f := range s.frames {
		if stored.Frames[FrameKey(i+1)], err = f.encode(s.redact); err != nil {
			return stored, err
		}
	}
	return stored, nil
}

// TakeChanges returns what has changed since the last call, or since Restore. A driver stores all of it or drops the
// state.
func (s *State) TakeChanges() (c Changes, err error) {
	if s.head {
		if c.Head, err = s.encodeHead(); err != nil {
			return Changes{}, err
		}
		s.sizes[0] = len(c.Head)
	}
	if s.contextChanged {
		if c.Context, err = expr.Encode(s.redact.Seal(s.Context)); err != nil {
			return Changes{}, err
		}
		s.sizes[1] = len(c.Context)
	}
	for _, f := range s.frames {
		if !f.touched && f.slot != 0 {
			continue
		}
		data, err := f.encode(s.redact)
		if err != nil {
			return Changes{}, err
		}
		if f.slot == 0 {
			f.slot = s.takeSlot()
		}
		c.Frames = append(c.Frames, StoredFrame{f.slot, data})
		f.touched, f.size = false, len(data)
	}
	c.Ended = s.ended
	s.free = append(s.free, s.ended...)
	s.head, s.contextChanged, s.ended = false, false, nil
	return c, nil
}

// takeSlot returns a slot for a frame that is stored for the first time: rather one whose frame has just ended.
func (s *State) takeSlot() (slot FrameKey) {
	for _, open := range []*[]FrameKey{&s.ended, &s.free} {
		if n := len(*open); n > 0 {
			slot, *open = (*open)[n-1], (*open)[:n-1]
			return slot
		}
	}
	s.lastSlot++
	return s.lastSlot
}

// Restore makes a state of p's of what was stored. Without p it is for reading only: secrets stay references.
func Restore(p *Program, namespace, id string, input any, stored Stored) (*State, error) {
	s := NewState(namespace, id)
	s.head = false
	s.redact = p.redactions()
	s.Input = s.redact.Take(input)
	s.sizes = [2]int{len(stored.Head), len(stored.Context)}
	if err := s.decodeHead(stored.Head); err != nil {
		return nil, fmt.Errorf("decode the state of %s: %w", id, err)
	}
	if stored.Context != nil {
		context, err := expr.Decode(stored.Context)
		if err != nil {
			return nil, fmt.Errorf("decode the context of %s: %w", id, err)
		}
		s.Context = s.redact.Open(context)
	}
	for slot, data := range stored.Frames {
		f, err := decodeFrame(data, s.redact)
		if err != nil {
			return nil, fmt.Errorf("decode a frame of %s: %w", id, err)
		}
		f.slot, f.size, s.lastSlot = slot, len(data), max(s.lastSlot, slot)
		s.frames = append(s.frames, f)
	}
	for slot := range s.lastSlot {
		if _, used := stored.Frames[slot+1]; !used {
			s.free = append(s.free, slot+1)
		}
	}
	slices.SortFunc(s.frames, func(a, b *Frame) int { return int(a.ID - b.ID) })
	return s, nil
}

// MarshalJSON writes the whole state, for comparing and for showing it: without how it is stored.
func (s *State) MarshalJSON() ([]byte, error) {
	plain := *s
	plain.history = 0
	head, err := plain.encodeHead()
	if err != nil {
		return nil, err
	}
	w := newWriter(nil)
	w.redact = s.redact
	w.text("id", s.ID)
	w.text("namespace", s.Namespace)
	w.data("input", s.Input)
	w.data("context", s.Context)
	w.raw("head", head)
	frames := make([]json.RawMessage, len(s.frames))
	for i, f := range s.frames {
		if frames[i], err = f.encode(s.redact); err != nil {
			return nil, err
		}
	}
	w.marshal("frames", frames)
	return w.end()
}

// storedHead is what encodeHead writes.
type storedHead struct {
	Status      Status           `json:"s"` // running if it is left out, as for most
	Suspended   bool             `json:"z"`
	StartedAt   moment           `json:"t"`
	Transformed *Value           `json:"x"`
	Deadlines   []storedDeadline `json:"d"`
	Output      *Value           `json:"o"`
	Fault       *errors.Error    `json:"e"`
	TimedOut    bool             `json:"T"`
	Depth       int              `json:"w"`
	LastFrame   FrameID          `json:"f"`
	LastEffect  EffectID         `json:"n"`
	LastRecord  int              `json:"r"`
	History     int              `json:"y"`
}

func (s *State) encodeHead() ([]byte, error) {
	w := newWriter(make([]byte, 0, 96))
	w.redact = s.redact
	if s.Status != StatusRunning {
		w.text("s", string(s.Status))
	}
	w.flag("z", s.Suspended)
	w.moment("t", s.StartedAt)
	if s.Transformed != nil {
		w.data("x", s.Transformed.V)
	}
	w.deadlines("d", s.Deadlines)
	if s.Status == StatusCompleted {
		w.always("o", s.Output)
	}
	if s.Fault != nil {
		w.marshal("e", s.Fault)
	}
	w.flag("T", s.TimedOut)
	w.number("w", s.Depth)
	w.number("f", int(s.lastFrame))
	w.number("n", int(s.lastEffect))
	w.number("r", s.lastRecord)
	w.number("y", s.history)
	return w.end()
}

func (s *State) decodeHead(data []byte) error {
	h := storedHead{Status: StatusRunning}
	if err := json.Unmarshal(data, &h); err != nil {
		return err
	}
	s.Status, s.Suspended, s.StartedAt = h.Status, h.Suspended, h.StartedAt.time()
	if h.Transformed != nil {
		s.Transformed = &Value{s.redact.Open(h.Transformed.V)}
	}
	s.Deadlines, s.Fault, s.TimedOut, s.Depth = restoreDeadlines(h.Deadlines), h.Fault, h.TimedOut, h.Depth
	s.lastFrame, s.lastEffect, s.lastRecord, s.history = h.LastFrame, h.LastEffect, h.LastRecord, h.History
	if h.Output != nil {
		s.Output = h.Output.V
	}
	return nil
}

// storedFrame is what Frame.encode writes. Path is left out if it is the pointer, Input if it is the raw input, and
// RawOutput if it is the output.
type storedFrame struct {
	ID        FrameID          `json:"i"`
	Parent    FrameID          `json:"u"`
	Origin    dsl.Pointer      `json:"p"`
	Prefix    dsl.Pointer      `json:"P"`
	Path      *Path            `json:"h"`
	Phase     Phase            `json:"f"`
	Raw       *Value           `json:"r"`
	Input     json.RawMessage  `json:"I"`
	RawOutput json.RawMessage  `json:"O"`
	Output    *Value           `json:"o"`
	StartedAt moment           `json:"t"`
	Branch    int              `json:"b"`
	Isolated  bool             `json:"C"`
	Context   *Value           `json:"c"`
	Progress  json.RawMessage  `json:"g"`
	WakeAt    moment           `json:"w"`
	Effect    *storedEffect    `json:"e"`
	Extension int              `json:"x"`
	Then      *storedJump      `json:"j"`
	List      string           `json:"l"`
	Loop      int              `json:"n"`
	Attempt   int              `json:"a"`
	At        int              `json:"@"`
	Lap       int              `json:"L"`
	Vars      map[string]Value `json:"v"`
	Deadlines []storedDeadline `json:"d"`
	Queued    bool             `json:"q"`
}

type storedEffect struct {
	ID           EffectID        `json:"i"`
	StartedAt    moment          `json:"t"`
	Attempt      int             `json:"a"`
	Once         bool            `json:"1"`
	Held         bool            `json:"h"`
	Confidential bool            `json:"s"`
	Request      json.RawMessage `json:"q"`
}

type storedJump struct {
	Directive dsl.Directive `json:"d"`
	Index     int           `json:"i,omitempty"`
}

func (f *Frame) encode(set *redact.Set) ([]byte, error) {
	w := newWriter(make([]byte, 0, 256))
	w.redact = set
	w.number("i", int(f.ID))
	w.number("u", int(f.Parent))
	w.text("p", string(f.Origin))
	w.text("P", string(f.Prefix))
	if string(f.Path) != string(f.Origin) {
		w.always("h", string(f.Path))
	}
	w.number("f", int(f.Phase))
	w.given("r", f.Raw)
	if f.Phase >= PhaseBody && !jsonvalue.Same(f.Input, f.Raw) {
		w.data("I", f.Input)
	}
	if f.Phase == PhaseAfter && !jsonvalue.Same(f.RawOutput, f.Output) {
		w.data("O", f.RawOutput)
	}
	w.given("o", f.Output)
	w.moment("t", f.StartedAt)
	w.number("b", f.Branch)
	w.flag("C", f.Isolated)
	w.given("c", f.Context)
	f.encodeProgress(w)
	w.moment("w", f.WakeAt)
	f.encodeEffect(w)
	w.number("x", f.Extension)
	if f.Then != nil {
		w.marshal("j", storedJump{f.Then.Directive, f.Then.Index})
	}
	w.text("l", f.List)
	w.number("n", f.Pass.Loop)
	w.number("a", f.Pass.Attempt)
	w.number("@", f.At)
	w.number("L", f.Lap)
	if len(f.Vars) > 0 {
		w.data("v", map[string]any(f.Vars))
	}
	w.deadlines("d", f.Deadlines)
	w.flag("q", f.Queued)
	return w.end()
}

func (f *Frame) encodeProgress(w *writer) {
	switch p := f.Progress.(type) {
	case nil:
	case json.RawMessage:
		w.sealed("g", p)
	default:
		data, err := json.Marshal(p)
		if err != nil {
			w.fail(err)
			return
		}
		w.sealed("g", data)
	}
}

func (f *Frame) encodeEffect(w *writer) {
	if f.Effect == nil {
		return
	}
	w.key("e")
	e := newWriter(w.b)
	e.redact = w.redact
	e.number("i", int(f.Effect.ID))
	e.moment("t", f.Effect.StartedAt)
	e.number("a", f.Effect.Attempt)
	e.flag("1", f.Effect.Once)
	e.flag("h", f.Effect.Held)
	e.flag("s", f.Effect.Confidential)
	e.sealed("q", f.Effect.Request)
	w.b, _ = e.end()
}

func decodeFrame(data []byte, set *redact.Set) (*Frame, error) {
	var j storedFrame
	if err := json.Unmarshal(data, &j); err != nil {
		return nil, err
	}
	loaded := func(v *Value) any {
		if v == nil {
			return nil
		}
		return set.Open(v.V)
	}
	f := &Frame{
		ID: j.ID, Parent: j.Parent, Origin: j.Origin, Prefix: j.Prefix, Path: Path(j.Origin), Phase: j.Phase,
		Raw: loaded(j.Raw), Output: loaded(j.Output), StartedAt: j.StartedAt.time(), Branch: j.Branch,
		Isolated: j.Isolated, Context: loaded(j.Context), WakeAt: j.WakeAt.time(), Extension: j.Extension,
		List: j.List, Pass: Pass{Loop: j.Loop, Attempt: j.Attempt}, At: j.At, Lap: j.Lap,
		Deadlines: restoreDeadlines(j.Deadlines), Queued: j.Queued,
	}
	if j.Path != nil {
		f.Path = *j.Path
	}
	if e := j.Effect; e != nil {
		f.Effect = &InFlight{
			ID: e.ID, StartedAt: e.StartedAt.time(), Attempt: e.Attempt, Once: e.Once, Held: e.Held,
			Confidential: e.Confidential, Request: e.Request,
		}
	}
	if j.Then != nil {
		f.Then = &Jump{Directive: j.Then.Directive, Index: j.Then.Index}
	}
	if len(j.Vars) > 0 {
		f.Vars = make(Vars, len(j.Vars))
		for name, v := range j.Vars {
			f.Vars[name] = set.Open(v.V)
		}
	}
	return f, f.decodeData(j, set)
}

// decodeData reads what is left out where it equals something else.
func (f *Frame) decodeData(j storedFrame, set *redact.Set) (err error) {
	if j.Progress != nil {
		progress, err := opened(set, j.Progress)
		if err != nil {
			return err
		}
		f.Progress = json.RawMessage(progress)
	}
	if f.Effect != nil {
		if f.Effect.Request, err = opened(set, f.Effect.Request); err != nil {
			return err
		}
	}
	switch {
	case j.Input != nil:
		f.Input, err = expr.Decode(j.Input)
		f.Input = set.Open(f.Input)
	case j.Phase >= PhaseBody:
		f.Input = f.Raw
	}
	if err != nil {
		return err
	}
	switch {
	case j.RawOutput != nil:
		f.RawOutput, err = expr.Decode(j.RawOutput)
		f.RawOutput = set.Open(f.RawOutput)
	case j.Phase == PhaseAfter:
		f.RawOutput = f.Output
	}
	return err
}
