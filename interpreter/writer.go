package interpreter

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/redact"
)

// writer writes one JSON object member by member. Members that are zero are left out: what is stored stays small, and
// is written once per commit.
type writer struct {
	b   []byte
	err error // the first one
	// redact makes references of secrets in data of the workflow.
	redact *redact.Set
}

func newWriter(b []byte) *writer { return &writer{b: append(b, '{')} }

func (w *writer) key(name string) {
	if w.b[len(w.b)-1] != '{' {
		w.b = append(w.b, ',')
	}
	w.b = append(append(append(w.b, '"'), name...), '"', ':')
}

func (w *writer) text(name, v string) {
	if v != "" {
		w.key(name)
		w.b = expr.AppendText(w.b, v)
	}
}

func (w *writer) number(name string, v int) {
	if v != 0 {
		w.key(name)
		w.b = strconv.AppendInt(w.b, int64(v), 10)
	}
}

func (w *writer) flag(name string, v bool) {
	if v {
		w.key(name)
		w.b = append(w.b, "true"...)
	}
}

// moment writes a time as milliseconds since 1970, with six decimals unless it is a whole number.
func (w *writer) moment(name string, t time.Time) {
	if t.IsZero() {
		return
	}
	w.key(name)
	w.b = strconv.AppendInt(w.b, t.UnixMilli(), 10)
	if rest := t.Nanosecond() % int(time.Millisecond); rest != 0 {
		w.b = fmt.Appendf(w.b, ".%06d", rest)
	}
}

// given is data; nil is left out.
func (w *writer) given(name string, v any) {
	if v != nil {
		w.data(name, v)
	}
}

// data writes data of the workflow as it may be stored, also null.
func (w *writer) data(name string, v any) { w.always(name, w.redact.Seal(v)) }

// sealed writes JSON text that holds data of the workflow as it may be stored.
func (w *writer) sealed(name string, text []byte) {
	text, err := sealed(w.redact, text)
	if err != nil {
		w.fail(err)
		return
	}
	w.raw(name, text)
}

// value is always; nil is left out.
func (w *writer) value(name string, v any) {
	if v != nil {
		w.always(name, v)
	}
}

// always writes what holds no secret, also null.
func (w *writer) always(name string, v any) {
	w.key(name)
	b, err := expr.AppendWithin(w.b, v, muchData)
	if err == expr.ErrLong { // its place is made at once, and does not grow again and again
		b, err = expr.Append(slices.Grow(w.b, room(v)+muchData), v)
	}
	if err != nil {
		w.fail(err)
		return
	}
	w.b = b
}

// muchData is from how many bytes on it matters how often data is copied.
const muchData = 4 << 10

// room returns how many bytes to have for data as JSON: a little more than it looks like, for what has to be escaped.
func room(v any) int {
	size := expr.Size(v, math.MaxInt)
	return size + size/32
}

func (w *writer) raw(name string, data []byte) {
	if data != nil {
		w.key(name)
		w.b = append(w.b, data...)
	}
}

// marshal writes what is no data of the workflow and rarely there.
func (w *writer) marshal(name string, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		w.fail(err)
		return
	}
	w.raw(name, data)
}

func (w *writer) deadlines(name string, all []Deadline) {
	if len(all) == 0 {
		return
	}
	w.key(name)
	for i, d := range all {
		w.b = append(w.b, "[,"[min(i, 1)])
		entry := newWriter(w.b)
		entry.text("k", d.Kind)
		entry.moment("a", d.At)
		entry.moment("s", d.StartedAt)
		entry.flag("f", d.Fixed)
		w.b, _ = entry.end()
	}
	w.b = append(w.b, ']')
}

func (w *writer) fail(err error) {
	if w.err == nil {
		w.err = err
		w.b = append(w.b, "null"...) // the object is of no use, but stays one
	}
}

func (w *writer) end() ([]byte, error) { return append(w.b, '}'), w.err }

// moment is a time as a writer writes it.
type moment time.Time

// UnmarshalJSON reads what a writer wrote.
func (m *moment) UnmarshalJSON(data []byte) error {
	whole, rest, _ := strings.Cut(string(data), ".")
	ms, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return err
	}
	ns, err := strconv.Atoi((rest + "000000")[:6])
	*m = moment(time.UnixMilli(ms).Add(time.Duration(ns)).UTC())
	return err
}

func (m moment) time() time.Time { return time.Time(m) }

// storedDeadline is a Deadline as a writer writes it.
type storedDeadline struct {
	Kind      string `json:"k"`
	At        moment `json:"a"`
	StartedAt moment `json:"s"`
	Fixed     bool   `json:"f"`
}

func restoreDeadlines(stored []storedDeadline) []Deadline {
	if len(stored) == 0 {
		return nil
	}
	all := make([]Deadline, len(stored))
	for i, d := range stored {
		all[i] = Deadline{Kind: d.Kind, At: d.At.time(), StartedAt: d.StartedAt.time(), Fixed: d.Fixed}
	}
	return all
}
