package client

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/filter"
	"github.com/swrun/swrun/runtime/store"
)

// Review contains the failures and the started runs in the history of a run, the oldest first.
type Review struct {
	Children []Child
	Failures []Failure
	// From is the first event that was looked at, counted from 1: of a long history only the end is.
	From int
	// Source describes the run that the error of a faulted one comes from: a child, or a child's child, as far as they are still there;
	// otherwise the run itself.
	Source *Description
}

// Child is a run that another one has started.
type Child struct {
	Run       store.Instance
	Pointer   dsl.Pointer // of the task that has started it
	Path      interpreter.Path
	StartedAt time.Time
	Status    string // empty if it is not there, and if there are many later ones
}

// Failure is an error in a run, with its outcome.
type Failure struct {
	Seq         int // of the event that reports it
	At          time.Time
	Pointer     dsl.Pointer // of the task; empty for the workflow
	Path        interpreter.Path
	Error       *errors.Error
	Propagation string
	TimeoutKind string      // of the deadline that has passed; empty if none has
	Child       string      // the run that it comes from, as namespace/id; empty if it is this one
	Outcome     string      // one of Outcome...
	CaughtBy    dsl.Pointer // the try that has caught it
}

// Causes of a failure.
const (
	PropagationTask    = "task"    // the task has failed
	PropagationChild   = "child"   // the run that the task had started has failed
	PropagationTimeout = "timeout" // a deadline of the run has passed
)

// Outcomes of a failure.
const (
	OutcomeRetried  = "retried"  // a try has caught it and tries again, or an activity is attempted again
	OutcomeCaught   = "caught"   // a try has caught it
	OutcomeUncaught = "uncaught" // it ended the run
	OutcomeReplaced = "replaced" // by another one, on its way to a try
)

const (
	// reviewed is how many of the last entries of a history are looked at.
	reviewed = 5 * historyPage
	// looksAfter is of how many children, the last ones, the status is read.
	looksAfter = 20
)

// Review reads the end of a run's history.
func (c *Client) Review(ctx context.Context, d *Description) (*Review, error) {
	r := &Review{Source: d, From: 1}
	from, last := max(0, int(d.Lifecycle.Entries)-reviewed), math.MaxInt
	if e := d.Earlier; e != nil {
		from, last = max(from, e.entries[0]), e.Last
	}
	first := true
	_, err := c.History(ctx, d.Instance, from, func(e HistoryEntry) error {
		for _, ev := range e.Events {
			if ev.Seq > last {
				return errFound
			}
			if d.Earlier != nil && ev.Seq < d.Earlier.First {
				continue
			}
			if first {
				r.From, first = ev.Seq, false
			}
			r.observe(ev)
		}
		return nil
	})
	if err != nil && !errors.Is(err, errFound) {
		return nil, err
	}
	r.settle()
	for n := max(0, len(r.Children)-looksAfter); n < len(r.Children); n++ {
		l, err := c.store.Load(ctx, r.Children[n].Run)
		if err == nil {
			r.Children[n].Status = (&filter.Run{Lifecycle: l.Lifecycle}).Status()
		} else if store.RefusedAs(err) != store.NoSuch {
			return nil, err
		}
	}
	return r, c.findSource(ctx, r)
}

// findSource follows the failure that ended the run to its origin.
func (c *Client) findSource(ctx context.Context, r *Review) error {
	last := len(r.Failures) - 1
	if last < 0 || r.Failures[last].Outcome != OutcomeUncaught || r.Failures[last].Child == "" {
		return nil
	}
	below, err := c.Describe(ctx, store.InstanceOf(r.Failures[last].Child))
	if store.RefusedAs(err) == store.NoSuch {
		return nil
	}
	if err != nil || !sameError(below.State.Fault, r.Failures[last].Error) {
		return err
	}
	deeper, err := c.Review(ctx, below)
	if err == nil {
		r.Source = deeper.Source
	}
	return err
}

// observe adds an event.
func (r *Review) observe(e interpreter.HistoryEvent) {
	switch e.Type {
	case interpreter.EffectStarted:
		if e.Run != "" {
			r.Children = append(r.Children, Child{Run: store.InstanceOf(e.Run), Pointer: e.Pointer, Path: e.Path, StartedAt: e.At})
		}
	case interpreter.TaskFaulted:
		if r.open(e.Error) == nil {
			r.fail(e)
		}
	case interpreter.EffectRetried: // an attempt of an activity
		r.fail(e).Outcome = OutcomeRetried
	case interpreter.RetryScheduled: // the event that the error is caught follows
		if n := len(r.Failures); n > 0 && r.Failures[n-1].Outcome == "" {
			r.Failures[n-1].Outcome = OutcomeRetried
		}
	case interpreter.ErrorCaught:
		f := r.open(e.Error)
		if f == nil {
			f = r.fail(e)
		}
		if f.CaughtBy = e.CaughtBy; f.Outcome == "" {
			f.Outcome = OutcomeCaught
		}
	case interpreter.WorkflowFaulted:
		f := r.open(e.Error)
		if f == nil {
			f = r.fail(e)
		}
		f.Outcome = OutcomeUncaught
	}
}

// fail adds the failure that an event reports.
func (r *Review) fail(e interpreter.HistoryEvent) *Failure {
	f := Failure{Seq: e.Seq, At: e.At, Pointer: e.Pointer, Path: e.Path, Error: e.Error, TimeoutKind: e.Timeout}
	f.Propagation, f.Child = Propagation(e)
	if f.TimeoutKind == "" && f.Child != "" {
		f.TimeoutKind = TimeoutKindOf(e.Error)
	}
	r.Failures = append(r.Failures, f)
	return &r.Failures[len(r.Failures)-1]
}

// TimeoutKindOf returns the kind of the timeout in an error; empty without one.
func TimeoutKindOf(err *errors.Error) string {
	kind, _ := err.Extensions[interpreter.MemberTimeoutKind].(string)
	return kind
}

// Propagation returns the cause of the failure of an event and, if the failure comes from a child run, that run as namespace/id.
func Propagation(e interpreter.HistoryEvent) (propagation, child string) {
	switch {
	case e.Timeout != "":
		return PropagationTimeout, ""
	case e.Route == interpreter.RouteChild && e.Error != nil:
		if child, _ = e.Error.Extensions[interpreter.MemberRun].(string); child != "" {
			return PropagationChild, child
		}
	}
	return PropagationTask, ""
}

// open returns the last failure with an error whose outcome is unknown, or was determined by the preceding event.
func (r *Review) open(err *errors.Error) *Failure {
	n := len(r.Failures) - 1
	if n < 0 || !sameError(r.Failures[n].Error, err) {
		return nil
	}
	if f := &r.Failures[n]; f.Outcome == "" || f.Outcome == OutcomeRetried && f.CaughtBy == "" {
		return f
	}
	return nil
}

// settle marks the failures that others have taken the place of.
func (r *Review) settle() {
	for n := range r.Failures {
		if later := slices.ContainsFunc(r.Failures[n+1:], func(f Failure) bool { return f.Outcome != "" }); later && r.Failures[n].Outcome == "" {
			r.Failures[n].Outcome = OutcomeReplaced
		}
	}
}

func sameError(a, b *errors.Error) bool {
	return a != nil && b != nil && a.Type == b.Type && a.Instance == b.Instance && a.Detail == b.Detail
}
