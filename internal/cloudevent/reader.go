package cloudevent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/internal/jsonvalue"
)

// Arrival is an event that reaches a run.
type Arrival struct {
	// After is the time from the start to the arrival, if Timed; otherwise the event arrives once a task listens.
	After time.Duration
	Timed bool
	Event map[string]any
}

// Reader reads the events of a stream: JSON values, each an event, {"after": DURATION, "event": EVENT}, or an array of them. It fills in the required
// attributes that the author has left out, except for the type.
type Reader struct {
	decoder *json.Decoder
	stream  *bounded
	name    string // name of the stream, which is a part of the ids of events without one
	read    []any  // read, but not returned yet
	count   int
	// NewID returns the id of an event without one; nil means a name of the stream and its place there.
	NewID func() string
	// Further returns another mistake of an event; nil means no further checks.
	Further func(event map[string]any) error
}

// NewReader returns a reader of a stream; name describes its origin.
func NewReader(r io.Reader, name string) *Reader {
	stream := &bounded{Reader: &unmarked{Reader: r}}
	return &Reader{decoder: json.NewDecoder(stream), stream: stream, name: name}
}

// maxValue is the maximum size of one JSON value of a stream, in bytes: the size limit of a file of events.
const maxValue = 4 << 20

// bounded is a stream with a limit of maxValue bytes for one value.
type bounded struct {
	io.Reader
	read int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.read >= maxValue {
		return 0, fmt.Errorf("it is larger than %d MiB", maxValue>>20)
	}
	n, err := b.Reader.Read(p[:min(len(p), maxValue-b.read)])
	b.read += n
	return n, err
}

// unmarked is a stream without its leading byte order mark.
type unmarked struct {
	io.Reader
	begun bool
}

// Read implements io.Reader.
func (u *unmarked) Read(p []byte) (int, error) {
	if u.begun {
		return u.Reader.Read(p)
	}
	u.begun = true
	start := make([]byte, len(mark))
	n, err := io.ReadFull(u.Reader, start)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	rest := io.Reader(bytes.NewReader(bytes.TrimPrefix(start[:n], []byte(mark))))
	if err != nil {
		rest = io.MultiReader(rest, failing{err})
	}
	u.Reader = io.MultiReader(rest, u.Reader)
	return u.Reader.Read(p)
}

// mark is the byte order mark of UTF-8.
const mark = "\ufeff"

// failing is the end of a stream that fails, or is shorter than a mark.
type failing struct{ err error }

// Read implements io.Reader.
func (f failing) Read([]byte) (int, error) { return 0, f.err }

// NewValueReader returns a reader of one decoded value.
func NewValueReader(v any, name string) *Reader {
	r := NewReader(strings.NewReader(""), name)
	r.add(v)
	return r
}

// Next returns the next event; io.EOF after the last.
func (r *Reader) Next() (Arrival, error) {
	for len(r.read) == 0 {
		var raw json.RawMessage
		r.stream.read = 0
		if err := r.decoder.Decode(&raw); errors.Is(err, io.EOF) {
			return Arrival{}, io.EOF
		} else if err != nil {
			return Arrival{}, r.fail(jsonvalue.Reason(err))
		}
		v, err := jsonvalue.DecodeStrict(raw)
		if err != nil {
			return Arrival{}, r.fail(fmt.Errorf("counted from where it begins, %w", err))
		}
		r.add(v)
	}
	v := r.read[0]
	r.read = r.read[1:]
	arrival, err := r.arrival(v)
	if err != nil {
		return Arrival{}, r.fail(err)
	}
	r.count++
	return arrival, nil
}

func (r *Reader) add(v any) {
	if list, ok := v.([]any); ok {
		r.read = list
	} else {
		r.read = []any{v}
	}
}

func (r *Reader) fail(err error) error {
	return fmt.Errorf("event %d of %s: %w", r.count+1, r.name, err)
}

func (r *Reader) arrival(v any) (a Arrival, err error) {
	object, ok := v.(map[string]any)
	if !ok {
		return a, errors.New("it is not an object")
	}
	after, timed := object["after"]
	inner, wrapped := object["event"]
	if timed && !wrapped {
		return a, errors.New("`after` needs an `event` beside it")
	}
	if timed {
		d, err := dsl.DurationValue(after)
		if err != nil {
			return a, fmt.Errorf("`after`: %w", err)
		}
		start := time.Unix(0, 0).UTC()
		a.After, a.Timed = d.AddTo(start).Sub(start), true
	}
	if wrapped {
		if err := onlyMembers(object, "after", "event"); err != nil {
			return a, err
		}
		if object, ok = inner.(map[string]any); !ok {
			return a, errors.New("`event` is not an object")
		}
	}
	a.Event = r.completed(object)
	if err := Check(a.Event); err != nil || r.Further == nil {
		return a, err
	}
	return a, r.Further(a.Event)
}

func onlyMembers(object map[string]any, names ...string) error {
	for name := range object {
		if !slices.Contains(names, name) {
			return fmt.Errorf("`%s` is unknown beside `event`: write it into the event", name)
		}
	}
	return nil
}

// completed fills in the required attributes of an event, except for its type.
func (r *Reader) completed(event map[string]any) map[string]any {
	withoutNulls(event)
	id := fmt.Sprintf("%s#%d", r.name, r.count+1)
	if r.NewID != nil {
		id = r.NewID()
	}
	for name, value := range map[string]any{"specversion": "1.0", "id": id, "source": "/swrun/events"} {
		if _, given := event[name]; !given {
			event[name] = value
		}
	}
	return event
}
