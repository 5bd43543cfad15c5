package store

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/swrun/swrun/internal/form"
	"github.com/swrun/swrun/interpreter"
)

// How stores keep the Lifecycle of a run. The number of its form comes first, so that the fields after it may become others (form.Record).

// recordFields is how many fields a stored record has, and troubleFields how many more one has of a run that tried something again,
// has failed, needs something, waits for activities, listens, was forked, has parked activities, waits or is in trouble; awaitsFields, listenFields,
// forkFields, parkFields, waitsFields and placeFields are how many follow if one of the last six, five, and so on is so.
const recordFields, troubleFields, awaitsFields, listenFields, forkFields, parkFields, waitsFields, placeFields = 18, 6, 1, 1, 1, 1, 1, 4

// allFields is how many fields a record has at most.
const allFields = recordFields + troubleFields + awaitsFields + listenFields + forkFields + parkFields + waitsFields + placeFields

// String returns the record as stores keep it: the number of its form and its fields in order, separated by spaces. An empty field is
// written as -.
func (r *Lifecycle) String() string {
	b := record(make([]byte, 0, 160))
	b.number(int64(form.Record))
	b.text(string(r.Status))
	b.text(r.Reason)
	b.number(r.Epoch)
	b.text(r.Nonce)
	b.text(r.Owner)
	b.number(r.Version)
	b.moment(r.Wake)
	b.moment(r.Deadline)
	b.moment(r.Ready)
	b.flag(r.Begun)
	b.number(r.Read)
	b.number(r.Deaths)
	b.flag(r.AwaitsSlot)
	b.moment(r.Created)
	b.moment(r.Started)
	b.moment(r.Closed)
	b.number(r.Records)
	b.number(r.Entries)
	b.rest(r)
	return string(b[:len(b)-1])
}

// record is the fields of a Lifecycle as text, each with a space after it.
type record []byte

// rest writes the fields that are empty in most runs.
func (b *record) rest(r *Lifecycle) {
	waits := r.Waits != "" || r.Trouble != (Trouble{})
	parks := r.Parked != 0 || waits
	continues := r.Continuation != "" || parks
	listens := r.Listens != "" || continues
	awaits := r.Awaits != 0 || listens
	if r.Attempts != 0 || r.Retrying || r.Failure != (Failure{}) || r.Needs != "" || awaits {
		b.number(r.Attempts)
		b.flag(r.Retrying)
		b.anyText(r.Failure.Type)
		b.text(r.Failure.TimeoutKind)
		b.text(string(r.Needs))
		b.moment(r.NeededSince)
	}
	if awaits {
		b.number(r.Awaits)
	}
	if listens {
		b.anyText(string(r.Listens))
	}
	if continues {
		b.anyText(r.Continuation)
	}
	if parks {
		b.number(r.Parked)
	}
	if waits {
		b.text(string(r.Waits))
	}
	if r.Trouble != (Trouble{}) {
		b.anyText(r.Trouble.Type)
		b.anyText(r.Trouble.Task)
		b.anyText(r.Trouble.Host)
		b.moment(r.Trouble.Since)
	}
}

func (b *record) text(s string) {
	if s == "" {
		s = "-"
	}
	*b = append(append(*b, s...), ' ')
}

// anyText writes a text that may have any characters in it.
func (b *record) anyText(s string) {
	if s = url.PathEscape(s); s == "-" {
		s = "%2D"
	}
	b.text(s)
}

func (b *record) number(n int64) { *b = append(strconv.AppendInt(*b, n, 10), ' ') }

func (b *record) moment(t time.Time) { b.number(Millis(t)) }

func (b *record) flag(is bool) {
	if is {
		b.number(1)
	} else {
		b.number(0)
	}
}

// ParseLifecycle parses the output of String.
func ParseLifecycle(s string) (Lifecycle, error) {
	number, fields, _ := strings.Cut(s, " ")
	is, err := form.Parse(number)
	if err != nil {
		return Lifecycle{}, fmt.Errorf("%.200q is not the record of a run: %w", s, err)
	}
	if err := form.Check("the record", is, form.Record); err != nil {
		return Lifecycle{}, err
	}
	f := recordReader{record: s, fields: strings.Split(fields, " ")}
	if n := len(f.fields); n != recordFields && (n < recordFields+troubleFields || n > allFields || n > allFields-placeFields && n < allFields) {
		return Lifecycle{}, fmt.Errorf("%.200q is not the record of a run: it has %d fields instead of %d", s, len(f.fields), recordFields)
	}
	r := Lifecycle{
		Status: interpreter.Status(f.text(0)), Reason: f.text(1), Epoch: f.number(2), Nonce: f.text(3), Owner: f.text(4),
		Version: f.number(5), Wake: f.moment(6), Deadline: f.moment(7), Ready: f.moment(8), Begun: f.number(9) != 0, Read: f.number(10),
		Deaths: f.number(11), AwaitsSlot: f.number(12) != 0, Created: f.moment(13),
		Started: f.moment(14), Closed: f.moment(15), Records: f.number(16), Entries: f.number(17),
	}
	if len(f.fields) > recordFields {
		r.Attempts, r.Retrying, r.Failure = f.number(18), f.number(19) != 0, Failure{Type: f.anyText(20), TimeoutKind: f.text(21)}
		r.Needs, r.NeededSince = Needs(f.text(22)), f.moment(23)
	}
	f.rest(&r)
	return r, f.bad
}

// rest reads the fields that are empty in most runs.
func (f *recordReader) rest(r *Lifecycle) {
	if len(f.fields) > recordFields+troubleFields {
		r.Awaits = f.number(24)
	}
	if len(f.fields) > recordFields+troubleFields+awaitsFields {
		r.Listens = Listens(f.anyText(25))
	}
	if len(f.fields) > recordFields+troubleFields+awaitsFields+listenFields {
		r.Continuation = f.anyText(26)
	}
	if len(f.fields) > recordFields+troubleFields+awaitsFields+listenFields+forkFields {
		r.Parked = f.number(27)
	}
	if len(f.fields) > recordFields+troubleFields+awaitsFields+listenFields+forkFields+parkFields {
		r.Waits = interpreter.Waits(f.text(28))
	}
	if len(f.fields) == allFields {
		r.Trouble = Trouble{Type: f.anyText(29), Task: f.anyText(30), Host: f.anyText(31), Since: f.moment(32)}
	}
}

// recordReader reads the fields of a stored record, and keeps the first error.
type recordReader struct {
	record string
	fields []string
	bad    error
}

func (f *recordReader) number(i int) int64 {
	n, err := strconv.ParseInt(f.fields[i], 10, 64)
	f.check(i, "a number", err)
	return n
}

func (f *recordReader) moment(i int) time.Time { return Moment(f.number(i)) }

func (f *recordReader) text(i int) string {
	if f.fields[i] == "-" {
		return ""
	}
	return f.fields[i]
}

func (f *recordReader) anyText(i int) string {
	s, err := url.PathUnescape(f.text(i))
	f.check(i, "a text", err)
	return s
}

func (f *recordReader) check(i int, what string, err error) {
	if err != nil && f.bad == nil {
		f.bad = fmt.Errorf("%.200q is not the record of a run: field %d is not %s", f.record, i+1, what)
	}
}
