package interpreter

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/jsonvalue"
)

// HistoryStep is one step as a run's history keeps it: what happened, when, and the records of what it led to. The entries
// of a run tell its whole state (see Fold).
type HistoryStep struct {
	Event  string // start, finished, due, cancel, suspend, resume or abort
	At     time.Time
	Events []HistoryEvent // at least one: a step without records has changed nothing
	// State is the whole state after the step, if its records do not tell what it has changed (Result.Withheld); nil
	// otherwise.
	State *Stored
}

// The events of entries.
const (
	EventStart    = "start"
	EventFinished = "finished"
	EventDue      = "due"
	EventCancel   = "cancel"
	EventSuspend  = "suspend"
	EventResume   = "resume"
	EventAbort    = "abort"
)

// NewHistoryStep returns the entry of a step.
func NewHistoryStep(ev Event, now time.Time, r Result) HistoryStep {
	e := HistoryStep{At: now, Events: r.History}
	switch ev.(type) {
	case Start:
		e.Event = EventStart
	case Finished:
		e.Event = EventFinished
	case Due:
		e.Event = EventDue
	case Cancel:
		e.Event = EventCancel
	case Suspend:
		e.Event = EventSuspend
	case Resume:
		e.Event = EventResume
	case Abort:
		e.Event = EventAbort
	}
	return e
}

// cause returns the event of an entry; start is the event that began the run, which is not repeated in its history.
func (e HistoryStep) cause(start Start) Event {
	switch e.Event {
	case EventStart:
		return start
	case EventFinished:
		for _, r := range e.Events {
			if r.Type == EffectFinished || r.Type == ResultLate {
				return Finished{Effect: r.Effect, Result: r.Data, Error: r.Error}
			}
		}
	case EventCancel:
		return Cancel{Reason: e.reason()}
	case EventSuspend:
		return Suspend{Reason: e.reason()}
	case EventResume:
		return Resume{Reason: e.reason()}
	case EventAbort:
		return Abort{Error: e.Events[len(e.Events)-1].Error}
	}
	return Due{}
}

// reason is what the record of a command says; it stands before or after what the command led to.
func (e HistoryStep) reason() string {
	for _, r := range e.Events {
		switch r.Type {
		case WorkflowCancelled, WorkflowSuspended, WorkflowResumed:
			text, _ := r.Data.(string)
			return text
		}
	}
	return ""
}

// Fold repeats a run from its history: it takes s from its beginning to where the entries end,
// and returns it as it is then.
func Fold(p *Program, s *State, start Start, entries []HistoryStep) (*State, error) {
	s.Input = p.redactions().Take(start.Input) // which a run has also if it never started
	for _, e := range entries {
		if e.State == nil {
			Step(p, s, e.cause(start), e.At)
			continue
		}
		var err error
		if s, err = Restore(p, s.Namespace, s.ID, start.Input, *e.State); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// storedEntry is what Encode writes.
type storedEntry struct {
	Event   string         `json:"e"`
	At      moment         `json:"t"`
	First   int            `json:"q"` // Seq of the first record; the others follow without gaps
	Records []storedRecord `json:"r"`
	State   *entryState    `json:"s"`
}

// entryState is a Stored in an entry.
type entryState struct {
	Head    json.RawMessage              `json:"h"`
	Context json.RawMessage              `json:"c"`
	Frames  map[FrameKey]json.RawMessage `json:"f"`
}

func newEntryState(s *Stored) *entryState {
	frames := make(map[FrameKey]json.RawMessage, len(s.Frames))
	for id, data := range s.Frames {
		frames[id] = data
	}
	return &entryState{s.Head, s.Context, frames}
}

func (e *entryState) stored() *Stored {
	if e == nil {
		return nil
	}
	s := &Stored{Head: e.Head, Context: e.Context, Frames: make(map[FrameKey][]byte, len(e.Frames))}
	for id, data := range e.Frames {
		s.Frames[id] = data
	}
	return s
}

// storedRecord leaves out what equals something else: a path that is the pointer, data that is the data of the record
// before, and the task if it is that of the record before.
type storedRecord struct {
	Type    HistoryEventType `json:"t"`
	Kind    dsl.Kind         `json:"k"`
	Pointer dsl.Pointer      `json:"p"`
	Path    *Path            `json:"h"`
	Origin  dsl.Pointer      `json:"o"`
	Effect  EffectID         `json:"n"`
	Attempt int              `json:"a"`
	Data    json.RawMessage  `json:"d"`
	Same    bool             `json:"="`
	Apart   string           `json:"x"` // where the data is, if it is too large to stand here
	Error   *errors.Error    `json:"e"`
	By      dsl.Pointer      `json:"b"`
	Until   moment           `json:"u"`

	Timeout   string           `json:"T"`
	Deadlines []storedDeadline `json:"l"`
}

// Encode appends the entry to b as JSON. Data whose JSON is longer than limit goes to apart, which returns the
// reference to write instead, and may keep it.
func (e HistoryStep) Encode(b []byte, limit int, apart func(data []byte) (ref string)) ([]byte, error) {
	w := newWriter(b)
	w.text("e", e.Event)
	w.moment("t", e.At)
	w.number("q", e.Events[0].Seq)
	w.key("r")
	for i, r := range e.Events {
		w.b = append(w.b, "[,"[min(i, 1)])
		var before HistoryEvent
		if i > 0 {
			before = e.Events[i-1]
		}
		rw := newWriter(w.b)
		if err := r.encode(rw, before, limit, apart); err != nil {
			return nil, err
		}
		w.b, _ = rw.end()
	}
	w.b = append(w.b, ']')
	if e.State != nil {
		w.marshal("s", newEntryState(e.State))
	}
	return w.end()
}

func (r HistoryEvent) encode(w *writer, before HistoryEvent, limit int, apart func([]byte) string) error {
	w.text("t", string(r.Type))
	if !r.sameTask(before) {
		w.text("k", string(r.Kind))
		w.text("p", string(r.Pointer))
		if string(r.Path) != string(r.Pointer) {
			w.always("h", string(r.Path))
		}
		w.text("o", string(r.Origin))
	}
	w.number("n", int(r.Effect))
	w.number("a", r.Attempt)
	switch {
	case r.Data == nil:
	case jsonvalue.Same(r.Data, before.Data):
		w.flag("=", true)
	default:
		r.encodeData(w, limit, apart)
	}
	if r.Error != nil {
		w.marshal("e", r.Error)
	}
	w.text("b", string(r.By))
	w.moment("u", r.Until)
	w.text("T", r.Timeout)
	w.deadlines("l", r.Deadlines)
	return w.err
}

// ofTask reports whether records of a type are about a task.
func (t HistoryEventType) ofTask() bool {
	return t != ResultLate && !strings.HasPrefix(string(t), "workflow.")
}

func (r HistoryEvent) sameTask(other HistoryEvent) bool {
	return r.Type.ofTask() && other.Type.ofTask() && r.Kind == other.Kind && r.Pointer == other.Pointer &&
		r.Path == other.Path && r.Origin == other.Origin
}

func (r HistoryEvent) encodeData(w *writer, limit int, apart func([]byte) string) {
	if r.Data == nil {
		return
	}
	before := w.b
	w.key("d")
	b, err := expr.AppendWithin(w.b, r.Data, limit)
	if err == nil {
		w.b = b
		return
	}
	w.b = before
	data, err := expr.Append(make([]byte, 0, room(r.Data)), r.Data)
	if err != nil {
		w.fail(err)
		return
	}
	w.text("x", apart(data))
}

// DecodeHistoryStep reads what Encode wrote; fetch returns data that stands apart.
func DecodeHistoryStep(data []byte, fetch func(ref string) ([]byte, error)) (HistoryStep, error) {
	var j storedEntry
	if err := json.Unmarshal(data, &j); err != nil {
		return HistoryStep{}, fmt.Errorf("decode a history entry: %w", err)
	}
	e := HistoryStep{Event: j.Event, At: j.At.time(), Events: make([]HistoryEvent, len(j.Records)), State: j.State.stored()}
	for i, stored := range j.Records {
		r := HistoryEvent{
			Seq: j.First + i, At: e.At, Type: stored.Type, Kind: stored.Kind, Pointer: stored.Pointer,
			Path: Path(stored.Pointer), Origin: stored.Origin, Effect: stored.Effect, Attempt: stored.Attempt,
			Error: stored.Error, By: stored.By, Until: stored.Until.time(), Timeout: stored.Timeout,
			Deadlines: restoreDeadlines(stored.Deadlines),
		}
		if stored.Path != nil {
			r.Path = *stored.Path
		}
		if stored.Kind == "" && r.Type.ofTask() && i > 0 {
			before := e.Events[i-1]
			r.Kind, r.Pointer, r.Path, r.Origin = before.Kind, before.Pointer, before.Path, before.Origin
		}
		var err error
		if r.Data, err = stored.data(e.Events[:i], fetch); err != nil {
			return HistoryStep{}, fmt.Errorf("decode record %d: %w", r.Seq, err)
		}
		e.Events[i] = r
	}
	return e, nil
}

func (j storedRecord) data(before []HistoryEvent, fetch func(string) ([]byte, error)) (any, error) {
	if j.Same {
		return before[len(before)-1].Data, nil
	}
	data := []byte(j.Data)
	if j.Apart != "" {
		var err error
		if data, err = fetch(j.Apart); err != nil {
			return nil, err
		}
	}
	if data == nil {
		return nil, nil
	}
	return expr.Decode(data)
}
