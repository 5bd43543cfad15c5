package interpreter

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
)

// headJSON is a State without its frames, as it is stored.
type headJSON struct {
	ID          string        `json:"id"`
	Namespace   string        `json:"ns"`
	Status      Status        `json:"status"`
	StartedAt   time.Time     `json:"startedAt,omitzero"`
	Input       Value         `json:"input"`
	Context     Value         `json:"context"`
	Transformed *Value        `json:"transformed,omitempty"`
	Deadline    *Deadline     `json:"deadline,omitempty"`
	Output      *Value        `json:"output,omitempty"`
	Fault       *errors.Error `json:"fault,omitempty"`
	LastFrame   FrameID       `json:"lastFrame,omitempty"`
	LastEffect  EffectID      `json:"lastEffect,omitempty"`
	LastRecord  int           `json:"lastRecord,omitempty"`
}

// frameJSON is a Frame as it is stored. Input is left out if it is the raw input,
// and RawOutput if it is the output.
type frameJSON struct {
	ID        FrameID          `json:"id"`
	Parent    FrameID          `json:"parent,omitempty"`
	Origin    dsl.Pointer      `json:"origin,omitempty"`
	Prefix    dsl.Pointer      `json:"prefix,omitempty"`
	Path      Path             `json:"path,omitempty"`
	Phase     Phase            `json:"phase,omitempty"`
	Raw       *Value           `json:"raw,omitempty"`
	Input     json.RawMessage  `json:"input,omitempty"`
	RawOutput json.RawMessage  `json:"rawOutput,omitempty"`
	Output    *Value           `json:"output,omitempty"`
	StartedAt time.Time        `json:"startedAt,omitzero"`
	Branch    int              `json:"branch,omitempty"`
	Context   *Value           `json:"context,omitempty"`
	Progress  json.RawMessage  `json:"progress,omitempty"`
	WakeAt    time.Time        `json:"wakeAt,omitzero"`
	Effect    *InFlight        `json:"effect,omitempty"`
	Extension int              `json:"extension,omitempty"`
	Then      *jumpJSON        `json:"then,omitempty"`
	List      string           `json:"list,omitempty"`
	Loop      int              `json:"loop,omitempty"`
	Attempt   int              `json:"attempt,omitempty"`
	At        int              `json:"at,omitempty"`
	Lap       int              `json:"lap,omitempty"`
	Vars      map[string]Value `json:"vars,omitempty"`
	Deadlines []Deadline       `json:"deadlines,omitempty"`
	Queued    bool             `json:"queued,omitempty"`
	Isolated  bool             `json:"isolated,omitempty"`
}

type jumpJSON struct {
	Directive Directive `json:"d"`
	Index     int       `json:"i,omitempty"`
}

// MarshalJSON writes the whole state.
func (s *State) MarshalJSON() ([]byte, error) {
	head, err := s.EncodeHead()
	if err != nil {
		return nil, err
	}
	frames := make([]json.RawMessage, len(s.frames))
	for i, f := range s.frames {
		if frames[i], err = f.encode(); err != nil {
			return nil, err
		}
	}
	return json.Marshal(map[string]any{"head": json.RawMessage(head), "frames": frames})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *State) UnmarshalJSON(data []byte) error {
	var whole struct {
		Head   json.RawMessage
		Frames []json.RawMessage
	}
	if err := json.Unmarshal(data, &whole); err != nil {
		return err
	}
	decoded, err := DecodeState(whole.Head, whole.Frames)
	if err != nil {
		return err
	}
	*s = *decoded
	return nil
}

// EncodeHead writes the state without its frames.
func (s *State) EncodeHead() ([]byte, error) {
	head := headJSON{
		ID: s.ID, Namespace: s.Namespace, Status: s.Status, StartedAt: s.StartedAt, Input: Value{s.Input},
		Context: Value{s.Context}, Deadline: s.Deadline, Fault: s.Fault, Transformed: s.Transformed,
		LastFrame: s.lastFrame, LastEffect: s.lastEffect, LastRecord: s.lastRecord,
	}
	if s.Status == StatusCompleted {
		head.Output = &Value{s.Output}
	}
	return json.Marshal(head)
}

// DecodeState reads a state from its head and its frames, in any order.
func DecodeState(head []byte, frames []json.RawMessage) (*State, error) {
	var h headJSON
	if err := json.Unmarshal(head, &h); err != nil {
		return nil, fmt.Errorf("decode state: %w", err)
	}
	s := &State{
		ID: h.ID, Namespace: h.Namespace, Status: h.Status, StartedAt: h.StartedAt, Input: h.Input.V,
		Context: h.Context.V, Deadline: h.Deadline, Fault: h.Fault, Transformed: h.Transformed,
		lastFrame: h.LastFrame, lastEffect: h.LastEffect, lastRecord: h.LastRecord,
	}
	if h.Output != nil {
		s.Output = h.Output.V
	}
	for _, data := range frames {
		f, err := decodeFrame(data)
		if err != nil {
			return nil, fmt.Errorf("decode a frame of %s: %w", h.ID, err)
		}
		s.frames = append(s.frames, f)
	}
	slices.SortFunc(s.frames, func(a, b *Frame) int { return int(a.ID - b.ID) })
	return s, nil
}

func (f *Frame) encode() ([]byte, error) {
	progress, err := f.encodeProgress()
	if err != nil {
		return nil, err
	}
	j := frameJSON{
		ID: f.ID, Parent: f.Parent, Origin: f.Origin, Prefix: f.Prefix, Path: f.Path, Phase: f.Phase,
		Raw: saved(f.Raw), Output: saved(f.Output), StartedAt: f.StartedAt, Branch: f.Branch, Context: saved(f.Context),
		Progress: progress, WakeAt: f.WakeAt, Effect: f.Effect, Extension: f.Extension, List: f.List,
		Loop: f.Pass.Loop, Attempt: f.Pass.Attempt, At: f.At, Lap: f.Lap, Deadlines: f.Deadlines, Queued: f.Queued,
		Isolated: f.Isolated,
	}
	if f.Phase >= PhaseBody && (f.node == nil || f.node.input.value != nil) {
		if j.Input, err = expr.Encode(f.Input); err != nil {
			return nil, err
		}
	}
	if f.Phase == PhaseAfter && (f.node == nil || f.node.output.value != nil) {
		if j.RawOutput, err = expr.Encode(f.RawOutput); err != nil {
			return nil, err
		}
	}
	if f.Then != nil {
		j.Then = &jumpJSON{f.Then.Directive, f.Then.Index}
	}
	j.Vars = f.encodeVars()
	return json.Marshal(j)
}

func (f *Frame) encodeVars() map[string]Value {
	if len(f.Vars) == 0 {
		return nil
	}
	vars := make(map[string]Value, len(f.Vars))
	for name, v := range f.Vars {
		vars[name] = Value{v}
	}
	return vars
}

// saved returns v for a field that may be left out: absent and null mean the same.
func saved(v any) *Value {
	if v == nil {
		return nil
	}
	return &Value{v}
}

func loaded(v *Value) any {
	if v == nil {
		return nil
	}
	return v.V
}

func (f *Frame) decodeInput(j frameJSON) (err error) {
	switch {
	case j.Input != nil:
		f.Input, err = expr.Decode(j.Input)
	case j.Phase >= PhaseBody:
		f.Input = f.Raw
	}
	return err
}

func (f *Frame) decodeRawOutput(j frameJSON) (err error) {
	switch {
	case j.RawOutput != nil:
		f.RawOutput, err = expr.Decode(j.RawOutput)
	case j.Phase == PhaseAfter:
		f.RawOutput = f.Output
	}
	return err
}

func (f *Frame) encodeProgress() (json.RawMessage, error) {
	switch p := f.Progress.(type) {
	case nil:
		return nil, nil
	case json.RawMessage:
		return p, nil
	default:
		return json.Marshal(p)
	}
}

func decodeFrame(data []byte) (*Frame, error) {
	var j frameJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return nil, err
	}
	f := &Frame{
		ID: j.ID, Parent: j.Parent, Origin: j.Origin, Prefix: j.Prefix, Path: j.Path, Phase: j.Phase,
		Raw: loaded(j.Raw), Output: loaded(j.Output), StartedAt: j.StartedAt, Branch: j.Branch,
		Context: loaded(j.Context), WakeAt: j.WakeAt, Effect: j.Effect, Extension: j.Extension, List: j.List,
		Pass: Pass{Loop: j.Loop, Attempt: j.Attempt}, At: j.At, Lap: j.Lap, Deadlines: j.Deadlines, Queued: j.Queued,
		Isolated: j.Isolated, saved: true,
	}
	if err := f.decodeInput(j); err != nil {
		return nil, err
	}
	if err := f.decodeRawOutput(j); err != nil {
		return nil, err
	}
	if j.Progress != nil {
		f.Progress = j.Progress
	}
	if j.Then != nil {
		f.Then = &Jump{Directive: j.Then.Directive, Index: j.Then.Index}
	}
	if len(j.Vars) > 0 {
		f.Vars = make(Vars, len(j.Vars))
		for name, v := range j.Vars {
			f.Vars[name] = v.V
		}
	}
	return f, nil
}
