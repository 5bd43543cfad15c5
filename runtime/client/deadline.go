package client

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/internal/duration"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/inbox"
	"github.com/swrun/swrun/runtime/store"
)

// DeadlineChange specifies the change of the deadline of a scope in progress: exactly one of By, At and None.
type DeadlineChange struct {
	Task   dsl.Pointer   // in progress; empty for the whole execution
	Run    bool          // the deadline of the run instead of the execution
	By     time.Duration // added to the deadline, or to the current time without a deadline; negative for earlier
	At     time.Time     // at this time
	None   bool          // removes the deadline of the scope
	Reason string
	Dry    bool // changes nothing and only returns the resulting deadline
}

// ParseDeadline parses a deadline: +10m for ten minutes later, -10m for ten minutes earlier, a time such as 2026-12-24T18:00:00Z, or none.
func ParseDeadline(text string) (DeadlineChange, error) {
	wrong := &OptionError{Field: "deadline", Detail: fmt.Sprintf("must be +10m for ten minutes more, a time such as 2026-12-24T18:00:00Z, or none; got %q", shorten.To(text, 100))}
	if text == "none" {
		return DeadlineChange{None: true}, nil
	}
	if sign, span := text[:min(1, len(text))], strings.TrimLeft(text, "+-"); sign == "+" || sign == "-" {
		d, err := duration.Parse(span)
		if err != nil || d <= 0 || len(span) != len(text)-1 {
			return DeadlineChange{}, wrong
		}
		if sign == "-" {
			d = -d
		}
		return DeadlineChange{By: d}, nil
	}
	at, err := ParseTime(text)
	if err != nil {
		return DeadlineChange{}, wrong
	}
	return DeadlineChange{At: at}, nil
}

// ParseTime reads a point in time as options give it: with a date, a time and a zone (RFC 3339). The zero time of Go stands for none elsewhere,
// and is refused.
func ParseTime(text string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.IsZero() {
		return time.Time{}, fmt.Errorf("%s is not a time: it needs a date, a time and a zone, as in 2026-12-24T18:00:00Z", shorten.Quoted(text))
	}
	return at, nil
}

// MovedDeadline is a deadline that is being changed. A zero time stands for none.
type MovedDeadline struct{ Was, At time.Time }

// kind returns which deadline of the scope is meant.
func (c DeadlineChange) kind() string {
	switch {
	case c.Task != "":
		return interpreter.DeadlineTask
	case c.Run:
		return interpreter.DeadlineRun
	}
	return interpreter.DeadlineExecution
}

// check returns an error for an empty change, or for several changes in one.
func (c DeadlineChange) check() error {
	ways := 0
	for _, given := range []bool{c.By != 0, !c.At.IsZero(), c.None} {
		if given {
			ways++
		}
	}
	switch {
	case ways != 1:
		return &OptionError{Field: "deadline", Detail: "must be one of a span, a time, and none"}
	case c.Run && c.Task != "":
		return &OptionError{Field: "run", Detail: "is about the whole run, and not about a task"}
	}
	return nil
}

// SetDeadline changes the deadline of a scope in progress. It is refused as a Conflict if the scope does not exist, or if the new time is
// in the past or after the end of the enclosing scope, and as TimedOut if the deadline of the scope passed. After the change is accepted,
// the former deadline does not fire, even if a worker carries the change out later.
func (c *Client) SetDeadline(ctx context.Context, i store.Instance, change DeadlineChange) (MovedDeadline, error) {
	if err := change.check(); err != nil {
		return MovedDeadline{}, err
	}
	if err := i.CheckSize(); err != nil {
		return MovedDeadline{}, err
	}
	d, err := c.Describe(ctx, i)
	if err != nil {
		return MovedDeadline{}, err
	}
	if err := d.takesDeadlines(); err != nil {
		return MovedDeadline{}, err
	}
	set, around, err := interpreter.FindDeadline(d.Program, d.State, change.kind(), change.Task)
	if err != nil {
		return MovedDeadline{}, refused(i, "%s%s", err, d.elsewhere())
	}
	set.At = change.from(set.Was, d.At)
	if err := d.allows(set, around); err != nil {
		return MovedDeadline{}, err
	}
	if err := c.boundedDeadline(ctx, d, set); err != nil {
		return MovedDeadline{}, err
	}
	if change.Dry {
		return MovedDeadline{set.Was, set.At}, nil
	}
	message := inbox.Message{Type: interpreter.EventDeadline, Reason: change.Reason, Deadline: &set}
	err = c.send(ctx, store.Command{To: i, Verb: store.VerbDeadline, Before: set.Was}, message)
	if store.RefusedAs(err) == store.Conflict {
		err = refused(i, "is quarantined: retry releases it first")
	}
	return MovedDeadline{set.Was, set.At}, err
}

// from returns the new deadline; zero for none.
func (c DeadlineChange) from(was, now time.Time) time.Time {
	switch {
	case c.None:
		return time.Time{}
	case !c.At.IsZero():
		return c.At.Truncate(time.Millisecond).UTC()
	case was.IsZero():
		was = now
	}
	return was.Add(c.By).Truncate(time.Millisecond)
}

// takesDeadlines reports why a run has no deadline that could be changed.
func (d *Description) takesDeadlines() error {
	switch {
	case d.Lifecycle.Status.Final():
		return &store.Refusal{Code: store.Closed, Detail: "run " + d.Instance.String()}
	case d.Lifecycle.Status == interpreter.StatusPending:
		return refused(d.Instance, "has not begun: cancel it, and start it with another deadline")
	case d.Status == store.Quarantined:
		return refused(d.Instance, "is quarantined: retry releases it first")
	}
	return nil
}

// allows returns the reason why a deadline cannot be changed as requested. around is the end of the enclosing scope.
func (d *Description) allows(set interpreter.SetDeadline, around time.Time) error {
	switch {
	case !set.Was.IsZero() && !set.Was.After(d.At):
		return &store.Refusal{Code: store.TimedOut, Detail: "run " + d.Instance.String(), Reason: "has a deadline that has passed, at " + clockTime(set.Was) + ": it cannot be changed any more"}
	case set.At.Equal(set.Was) && !set.At.IsZero():
		return refused(d.Instance, "has this deadline already")
	case set.At.IsZero() && set.Was.IsZero():
		return refused(d.Instance, "has no such deadline")
	case set.At.IsZero():
		return nil
	case !set.At.After(d.At):
		return refused(d.Instance, "cannot end in the past, at %s: set a later deadline, or end the run immediately with cancel", clockTime(set.At))
	case set.At.Year() > maxYear:
		return refused(d.Instance, "cannot have a deadline after the year %d: none removes it", maxYear)
	case !around.IsZero() && set.At.After(around):
		return refused(d.Instance, "cannot have a deadline at %s: the enclosing scope ends at %s; change its deadline first", clockTime(set.At), clockTime(around))
	}
	return nil
}

// maxYear is the last year that RFC 3339 can write.
const maxYear = 9999

// elsewhere lists the tasks in progress, for a caller that named another task.
func (d *Description) elsewhere() string {
	if len(d.OpenTasks) == 0 {
		return ""
	}
	var all []string
	for _, o := range d.OpenTasks {
		all = append(all, string(o.Pointer))
	}
	return "; it is at " + strings.Join(all, ", ")
}

// foresee replaces the deadlines by the effective ones: accepted changes count even if no worker carried them out.
func (d *Description) foresee(unread []inbox.Message) {
	for _, m := range unread {
		if m.Type == interpreter.EventDeadline && m.Deadline != nil {
			m.Deadline.Foresee(d.Program, d.State)
			d.RunDeadlines, d.Lifecycle.Deadline = d.State.Deadlines, d.State.NextDeadline()
		}
	}
}

// FiresFirst returns the index in Deadlines of the next deadline to fire: of passed deadlines, the outermost. It is -1 without deadlines.
func (d *Description) FiresFirst() int {
	first := -1
	if d.Lifecycle.Status.Final() || d.Earlier != nil {
		return first
	}
	for n, in := range d.Deadlines {
		passed := !in.At.After(d.At)
		switch {
		case in.AwaitsRelease:
		case first < 0:
			first = n
		case passed && in.EndsRun && !d.Deadlines[first].EndsRun, passed && in.EndsRun == d.Deadlines[first].EndsRun && len(in.Pointer) < len(d.Deadlines[first].Pointer):
			first = n
		}
	}
	return first
}
