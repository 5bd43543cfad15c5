package interpreter

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/form"
)

// StoredState is a State in the form that drivers store: in parts, so that a step writes only its changes. It does not contain the input, namespace
// and id of the run, which never change.
type StoredState struct {
	Head    []byte // JSON: status, deadlines, counters, and the end of the run
	Context []byte // JSON: $context; nil as long as it is empty
	Frames  map[FrameKey][]byte
}

// stored visits the fields of a whole state inside a history step.
func (s *StoredState) stored(o *object) {
	o.json("h", &s.Head)
	o.json("c", &s.Context)
	byNumber(o, "f", &s.Frames)
}

// Apply applies changes to the stored state.
func (s *StoredState) Apply(c Changes) {
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
		s.Frames[f.Key] = f.Data
	}
	for _, key := range c.Ended {
		delete(s.Frames, key)
	}
}

// Changes contains the parts to be stored after one or more steps. A nil part has not changed.
type Changes struct {
	Head    []byte
	Context []byte
	Frames  []StoredFrame // new or changed
	Ended   []FrameKey    // stored earlier, and to be deleted
}

// StoredFrame is one frame in the form that drivers store.
type StoredFrame struct {
	Key  FrameKey
	Data []byte
}

// Snapshot returns the whole state in its stored form. The call does not count as storing it.
func (s *State) Snapshot() (stored StoredState, err error) {
	o := &object{secrets: s.redact}
	if stored.Head, err = s.encodeHead(o); err != nil {
		return stored, err
	}
	if stored.Context, err = expr.Encode(s.redact.Seal(s.Context)); err != nil {
		return stored, err
	}
	stored.Frames = make(map[FrameKey][]byte, len(s.frames))
	for i, f := range s.frames {
		if stored.Frames[FrameKey(i+1)], err = encodeFrame(f, o); err != nil {
			return stored, err
		}
	}
	return stored, nil
}

// TakeChanges returns the changes since the last call, or since Restore. A driver stores all of them or drops the state.
func (s *State) TakeChanges() (c Changes, err error) {
	o := &object{secrets: s.redact}
	if s.headChanged {
		if c.Head, err = s.encodeHead(o); err != nil {
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
		common := f.common()
		if !common.touched && common.key != 0 {
			continue
		}
		data, err := encodeFrame(f, o)
		if err != nil {
			return Changes{}, err
		}
		if common.key == 0 {
			common.key = s.takeKey()
		}
		c.Frames = append(c.Frames, StoredFrame{common.key, data})
		common.touched, common.size = false, len(data)
	}
	c.Ended = s.ended
	s.free = append(s.free, s.ended...)
	s.headChanged, s.contextChanged, s.ended = false, false, nil
	return c, nil
}

// takeKey returns a key for a frame that is stored for the first time, preferably the key of a frame that just ended.
func (s *State) takeKey() (key FrameKey) {
	for _, unused := range []*[]FrameKey{&s.ended, &s.free} {
		if n := len(*unused); n > 0 {
			key, *unused = (*unused)[n-1], (*unused)[:n-1]
			return key
		}
	}
	s.lastKey++
	return s.lastKey
}

// encodeHead returns the stored form of a run without its frames and context.
func (s *State) encodeHead(o *object) ([]byte, error) {
	return o.writtenIn(form.State, make([]byte, 0, 96), s.stored)
}

// Restore turns a new state of a run of p into the stored state, and returns it. Without p the state is for reading only: secrets stay references.
func Restore(p *Program, s *State, input any, from StoredState) (*State, error) {
	s.headChanged = false
	s.redact = p.redactions()
	s.Input = s.redact.EscapeReferences(input)
	s.sizes = [2]int{len(from.Head), len(from.Context)}
	if err := s.readHead(from.Head); err != nil {
		return nil, fmt.Errorf("decode the state of %s: %w", s.ID, err)
	}
	if from.Context != nil {
		context, err := expr.Decode(from.Context)
		if err != nil {
			return nil, fmt.Errorf("decode the context of %s: %w", s.ID, err)
		}
		s.Context = s.redact.Open(context)
	}
	for key, data := range from.Frames {
		f, err := decodeFrame(data, s.redact)
		if err != nil {
			return nil, fmt.Errorf("decode a frame of %s: %w", s.ID, err)
		}
		f.common().key, f.common().size, s.lastKey = key, len(data), max(s.lastKey, key)
		s.frames = append(s.frames, f)
	}
	for key := range s.lastKey {
		if _, used := from.Frames[key+1]; !used {
			s.free = append(s.free, key+1)
		}
	}
	slices.SortFunc(s.frames, byID)
	return s, s.checkFrames()
}

// readHead reads the output of encodeHead.
func (s *State) readHead(data []byte) error {
	return readStored("the head", form.State, stored{data, s.redact}, s.stored)
}

// checkFrames reports frames that form no tree: two frames with the same id, a frame before its parent, or a frame that was not counted.
func (s *State) checkFrames() error {
	for n, f := range s.frames {
		c := f.common()
		if c.ID < 1 || c.ID > s.lastFrame || n > 0 && s.frames[n-1].common().ID == c.ID || c.Parent != 0 && (c.Parent >= c.ID || s.frame(c.Parent) == nil) {
			return fmt.Errorf("decode the frames of %s: %d and its parent %d do not fit together", s.ID, c.ID, c.Parent)
		}
	}
	return nil
}

// MarshalJSON writes the whole state for comparisons and for people, without the details of its storage.
func (s *State) MarshalJSON() ([]byte, error) {
	plain := *s
	plain.historyBytes = 0
	o := &object{secrets: s.redact}
	head, err := plain.encodeHead(o)
	if err != nil {
		return nil, err
	}
	frames := make([]json.RawMessage, len(s.frames))
	for i, f := range s.frames {
		if frames[i], err = encodeFrame(f, o); err != nil {
			return nil, err
		}
	}
	return json.Marshal(map[string]any{
		"id": s.ID, "namespace": s.Namespace, "input": Value{s.redact.Seal(s.Input)}, "context": Value{s.redact.Seal(s.Context)},
		"head": json.RawMessage(head), "frames": frames,
	})
}
