package store

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/interpreter"
)

// Lifecycle is what a store has to know of a run: who may write to it, and when it has to be looked at. Times are
// whole milliseconds in UTC by the store's clock, so that == compares them; the zero time is never. What operations make of
// it is in the files transition*.go.
type Lifecycle struct {
	Status   interpreter.Status // the phase at the last commit
	Reason   string             // why it is closed: completed, faulted, timed_out, cancelled, terminated; or Quarantined
	Epoch    int64
	Nonce    string
	Owner    string    // the worker that holds the token; empty for nobody
	Version  int64     // grows with each commit
	Wake     time.Time // when the run wants to be looked at
	Deadline time.Time // the earliest deadline in force
	Ready    time.Time // since when it may be claimed; zero if it may not
	Begun    bool      // while it may be claimed: it comes before all that is new
	Read     int64     // messages that were ever consumed
	Deaths   int64     // owners lost since the last progress
	// AwaitsSlot says that the owner does nothing for the run but wait for a slot: the loss of such an owner is not counted.
	AwaitsSlot bool
	Created    time.Time
	Started    time.Time // when its first owner took it; before that, when it may be taken; zero if it has ended before
	Closed     time.Time
	Records    int64 // of history
	Entries    int64 // of history
	// What lists say of a run whose state they do not load: how often the task was tried that was tried most often, whether one is tried again
	// now, and how the run has failed.
	Attempts int64 // 0 and 1 both mean that none was tried again
	Retrying bool
	Failure  Failure
	// Needs is what a worker needs to go on with the run; empty for nothing special, or as long as that is not known (Lifecycle.Needed).
	Needs       Needs
	NeededSince time.Time
	// Awaits is for how many activities the run waited when its owner stored it last: while it is parked, so many are stored beside it.
	Awaits int64

	// What follows is kept beside the record, and read with it: who writes it does not write the record.

	Mail  int64     // messages that were ever delivered
	Lease time.Time // until when the owner's lease lasts; zero if it has none any more
}

// Failure is how a run has failed, as far as lists say it; zero for one that has not.
type Failure struct {
	Type        string // of the error; at most maxFailureType bytes of it
	TimeoutKind string // of the deadline of its own that has ended it; empty if none has
}

// maxFailureType bounds the type of an error in a record: a workflow may raise what it likes.
const maxFailureType = 256

// NewFailure returns the failure of a run that has ended with an error.
func NewFailure(kind, timeoutKind string) Failure {
	return Failure{Type: shorten.To(kind, maxFailureType), TimeoutKind: timeoutKind}
}

// The reasons of runs that have not simply ended with their status.
const (
	ReasonTimedOut   = "timed_out"
	ReasonTerminated = "terminated"
)

// ClosedReasons returns all reasons why runs are closed.
func ClosedReasons() []string {
	return []string{
		string(interpreter.StatusCompleted), string(interpreter.StatusFaulted), ReasonTimedOut, string(interpreter.StatusCancelled), ReasonTerminated,
	}
}

// Quarantined is the Reason of a run whose work does not go on because it has killed its owners. Its time does: it
// can be claimed, and an owner that finds this Reason only ends it if its time is over, or says when to look
// again (Execution.confine).
const Quarantined = "quarantined"

// Held reports whether somebody holds the token.
func (r *Lifecycle) Held() bool { return r.Owner != "" }

// Unread reports whether there are messages that no owner has consumed.
func (r *Lifecycle) Unread() bool { return r.Mail > r.Read }

// Expires reports whether a run that nobody has started is over at a time.
func (r *Lifecycle) Expires(at time.Time) bool {
	return r.Status == interpreter.StatusPending && reached(r.Deadline, at)
}

// reached reports whether it is a time already; the zero time is never reached.
func reached(at, now time.Time) bool { return !at.IsZero() && !now.Before(at) }

// Moment returns the time that a store keeps as milliseconds since 1970; the zero time for 0.
func Moment(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// Millis returns the milliseconds that a store keeps for a time, 0 for the zero time; a time within a millisecond counts as
// its end, so that nothing is early.
func Millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	ms := t.UnixMilli()
	if t.Nanosecond()%int(time.Millisecond) != 0 {
		ms++
	}
	return ms
}

// millisecondOf returns the beginning of the millisecond that a time is in.
func millisecondOf(t time.Time) time.Time { return Moment(t.UnixMilli()) }

// recordFields is how many fields a stored record has, and troubleFields how many more one has of a run that tried something again,
// has failed, or needs something, or waits for activities; awaitsFields are those of one that does.
const recordFields, troubleFields, awaitsFields = 18, 6, 1

// String returns the record as stores keep it: its fields in order, a space between, - for what is empty.
func (r *Lifecycle) String() string {
	b := record(make([]byte, 0, 160))
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
	if r.Attempts != 0 || r.Retrying || r.Failure != (Failure{}) || r.Needs != "" || r.Awaits != 0 {
		b.number(r.Attempts)
		b.flag(r.Retrying)
		b.anyText(r.Failure.Type)
		b.text(r.Failure.TimeoutKind)
		b.text(string(r.Needs))
		b.moment(r.NeededSince)
	}
	if r.Awaits != 0 {
		b.number(r.Awaits)
	}
	return string(b[:len(b)-1])
}

// record is the fields of a Lifecycle as text, each with a space after it.
type record []byte

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

// fieldError says that a field of a record is not what it has to be; nil if there was no error.
func fieldError(err error, record string, i int, what string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%q is not the record of a run: field %d is not %s", record, i+1, what)
}

// ParseLifecycle reads what String returns.
func ParseLifecycle(s string) (Lifecycle, error) {
	fields := strings.Split(s, " ")
	if n := len(fields); n != recordFields && n != recordFields+troubleFields && n != recordFields+troubleFields+awaitsFields {
		return Lifecycle{}, fmt.Errorf("%q is not the record of a run: it has %d fields instead of %d", s, n, recordFields)
	}
	var bad error
	number := func(i int) int64 {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		bad = cmp.Or(bad, fieldError(err, s, i, "a number"))
		return n
	}
	moment := func(i int) time.Time { return Moment(number(i)) }
	text := func(i int) string {
		if fields[i] == "-" {
			return ""
		}
		return fields[i]
	}
	anyText := func(i int) string {
		s, err := url.PathUnescape(text(i))
		bad = cmp.Or(bad, fieldError(err, s, i, "a text"))
		return s
	}
	r := Lifecycle{
		Status: interpreter.Status(text(0)), Reason: text(1), Epoch: number(2), Nonce: text(3), Owner: text(4),
		Version: number(5), Wake: moment(6), Deadline: moment(7), Ready: moment(8), Begun: number(9) != 0, Read: number(10),
		Deaths: number(11), AwaitsSlot: number(12) != 0, Created: moment(13), Started: moment(14), Closed: moment(15), Records: number(16), Entries: number(17),
	}
	if n := len(fields); n > recordFields {
		r.Attempts, r.Retrying, r.Failure = number(18), number(19) != 0, Failure{Type: anyText(20), TimeoutKind: text(21)}
		r.Needs, r.NeededSince = Needs(text(22)), moment(23)
		if n > recordFields+troubleFields {
			r.Awaits = number(24)
		}
	}
	return r, bad
}
