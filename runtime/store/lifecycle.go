package store

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/swrun/swrun/interpreter"
)

// Lifecycle is what a store has to know of an instance: who may write to it, and when it has to be looked at. Times are
// milliseconds since 1970 by the store's clock; 0 is never.
type Lifecycle struct {
	Status   interpreter.Status // the phase at the last commit
	Reason   string             // why it is closed: completed, faulted, timed_out, cancelled, terminated; or Quarantined
	Epoch    int64
	Nonce    string
	Lease    int64  // until when the token is held; 0 for nobody
	Version  int64  // grows with each commit
	Wake     int64  // when the instance wants to be looked at
	Deadline int64  // the earliest deadline in force
	Ready    int64  // its place among the ready, since when, less Urgency if it has begun; 0 for not ready
	Mail     int64  // messages that were ever delivered
	Read     int64  // messages that were ever consumed
	Deaths   int64  // owners lost since the last progress
	ListKey  string // its place in the list of all, which begins with when it was created
	Started  int64  // when its first owner took it; before that, when it may be taken; 0 if it has ended before
	Closed   int64
	Records  int64 // of history
	Entries  int64 // of history
}

// Quarantined is the Reason of an instance whose work does not go on because it has killed its owners. Its time does: it
// can be claimed, and an owner that finds this Reason does nothing but end it if its time is over, or tell when to look
// again (Execution.confine).
const Quarantined = "quarantined"

// Held reports whether somebody holds the token.
func (r *Lifecycle) Held() bool { return r.Lease != 0 }

// TimesOut reports whether a commit comes too late at a time: equality is a timeout (reliability.md 1.3.3).
func (r *Lifecycle) TimesOut(c *Commit, now int64) bool {
	guard := r.Guard(c)
	return guard != 0 && now >= guard
}

// Guard returns the earliest deadline that a commit must come before; 0 for none.
func (r *Lifecycle) Guard(c *Commit) int64 {
	guard := Millis(c.Guard)
	if r.Deadline > c.At.UnixMilli() && (guard == 0 || r.Deadline < guard) {
		guard = r.Deadline
	}
	return guard
}

// Due returns when somebody has to look at an instance that is not ready; 0 for never. An owner looks itself, unless
// it is dead or hangs.
func (r *Lifecycle) Due() int64 {
	if !r.Held() {
		return r.Wake
	}
	if hung := r.Wake + Grace.Milliseconds(); r.Wake != 0 && hung < r.Lease {
		return hung
	}
	return r.Lease
}

// Commit makes of the record what a commit does at a time. Whether it may is for the store to check before.
func (r *Lifecycle) Commit(c *Commit, now int64) {
	if c.Status.Final() && r.neverStarts(c.At) {
		r.Started = 0
	}
	if len(c.Entries) > 0 && r.Version > 0 { // that it has begun is no progress
		r.Deaths = 0
	}
	released := c.Reason == Quarantined && r.Reason != Quarantined // by a command, meanwhile
	r.Version = c.Next
	r.Records += int64(c.Records)
	r.Entries += int64(len(c.Entries))
	r.Read += int64(c.Read)
	if r.Status = c.Status; !released {
		r.Reason = c.Reason
	}
	r.Wake, r.Deadline = Millis(c.Wake), Millis(c.Deadline)
	switch {
	case r.Status.Final():
		r.Lease, r.Closed = 0, now
	case c.Release:
		r.Lease = 0
		if c.Ready || released || r.Mail > r.Read && r.Reason != Quarantined {
			r.Ready = now - Urgency
		}
	}
}

// Expires reports whether an instance that nobody has started is over at a time.
func (r *Lifecycle) Expires(at time.Time) bool {
	return r.Status == interpreter.StatusPending && r.Deadline != 0 && r.Deadline <= at.UnixMilli()
}

// neverStarts reports whether an instance that ends at a time has not been started before, and is not.
func (r *Lifecycle) neverStarts(at time.Time) bool {
	return r.Expires(at) || r.Status == interpreter.StatusPending && r.Started > at.UnixMilli()
}

// GiveBack returns the commit that lets go of an instance as it is stored.
func (r *Lifecycle) GiveBack(i Instance, t Token, at time.Time) Commit {
	return Commit{
		Instance: i, Token: t, Version: r.Version, Next: r.Version + 1, At: at, Status: r.Status, Reason: r.Reason,
		Wake: Moment(r.Wake), Deadline: Moment(r.Deadline), Release: true, Ready: true,
	}
}

// CreatedAt returns when the instance was created.
func (r *Lifecycle) CreatedAt() time.Time {
	ms, _, _ := strings.Cut(r.ListKey, "-")
	n, _ := strconv.ParseInt(ms, 10, 64) // a slot always begins with a number
	return Moment(n)
}

// Moment returns the time of a Lifecycle's field; the zero time for 0.
func Moment(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// Millis returns the field of a Lifecycle for a time; a time within a millisecond counts as its end, so that nothing is
// early.
func Millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	ms := t.UnixMilli()
	if t.After(time.UnixMilli(ms)) {
		ms++
	}
	return ms
}

const recordFields = 17

// String returns the record as stores keep it: its fields in order, a space between, - for what is empty.
func (r *Lifecycle) String() string {
	b := make([]byte, 0, 160)
	text := func(s string) {
		if s == "" {
			s = "-"
		}
		b = append(append(b, s...), ' ')
	}
	number := func(n int64) { b = append(strconv.AppendInt(b, n, 10), ' ') }
	text(string(r.Status))
	text(r.Reason)
	number(r.Epoch)
	text(r.Nonce)
	number(r.Lease)
	number(r.Version)
	number(r.Wake)
	number(r.Deadline)
	number(r.Ready)
	number(r.Mail)
	number(r.Read)
	number(r.Deaths)
	text(r.ListKey)
	number(r.Started)
	number(r.Closed)
	number(r.Records)
	number(r.Entries)
	return string(b[:len(b)-1])
}

// ParseLifecycle reads what String returns.
func ParseLifecycle(s string) (Lifecycle, error) {
	fields := strings.Split(s, " ")
	if len(fields) != recordFields {
		return Lifecycle{}, fmt.Errorf("%q is no record of an instance: it has %d fields instead of %d", s, len(fields), recordFields)
	}
	var bad error
	number := func(i int) int64 {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil && bad == nil {
			bad = fmt.Errorf("%q is no record of an instance: field %d is no number", s, i+1)
		}
		return n
	}
	text := func(i int) string {
		if fields[i] == "-" {
			return ""
		}
		return fields[i]
	}
	r := Lifecycle{
		Status: interpreter.Status(text(0)), Reason: text(1), Epoch: number(2), Nonce: text(3), Lease: number(4),
		Version: number(5), Wake: number(6), Deadline: number(7), Ready: number(8), Mail: number(9), Read: number(10),
		Deaths: number(11), ListKey: text(12), Started: number(13), Closed: number(14),
		Records: number(15), Entries: number(16),
	}
	return r, bad
}
