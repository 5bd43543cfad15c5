package schedule

import (
	"fmt"
	"slices"
	"time"

	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
)

// Schedule is the schedule of a workflow, as the registry keeps it. The zero value is an empty schedule.
type Schedule struct {
	Workflow definition.Reference `json:"w"` // the version that `latest` means
	Digest   string               `json:"d"` // of its definition
	Timers   []Timer              `json:"t,omitempty"`
	Events   bool                 `json:"e,omitempty"` // runs start when events come
	On       string               `json:"o,omitempty"` // which events do, and how they belong together: the same text is the same
	Since    time.Time            `json:"s,omitzero"`  // when On began: events that came before count no more
	Paused   *Pause               `json:"p,omitempty"`
	// Pending are the runs that were decided to start, and may not have been started yet.
	Pending []Firing `json:"f,omitempty"`
	Missed  int      `json:"m,omitempty"` // times that have passed without a run
	Last    *Started `json:"l,omitempty"` // the last run that was started
	// Failures are the last runs that could not be started, the latest first.
	Failures []Failure `json:"x,omitempty"`
}

// Pause records the pause of a schedule: its actor and reason.
type Pause struct {
	At     time.Time `json:"at"`
	Actor  string    `json:"actor,omitempty"`
	Reason string    `json:"reason,omitempty"`
}

// text describes, for people, the pause, its actor and its reason.
func (p *Pause) text() string {
	text := "paused since " + p.At.UTC().Format(time.RFC3339)
	if p.Actor != "" {
		text += " by " + p.Actor
	}
	if p.Reason != "" {
		text += " (" + p.Reason + ")"
	}
	return text
}

// Timer starts runs at times.
type Timer struct {
	Kind Kind      `json:"k"`
	Text string    `json:"t"`          // of every, cron or after, with the time zone: the same text has the same times
	Base time.Time `json:"b"`          // from which intervals count; of `after`, when the last run was started
	Next time.Time `json:"n,omitzero"` // zero if there is no next time, or it is unknown
	// Awaits is the ID of the run of `after` whose end is awaited; empty for none.
	Awaits string `json:"a,omitempty"`
}

// Kind is the kind of a timer, with the name used in documents.
type Kind string

// The kinds.
const (
	KindEvery Kind = "every"
	KindCron  Kind = "cron"
	KindAfter Kind = "after"
	KindOn    Kind = "on"
	// KindTrigger is the kind of runs that are started manually.
	KindTrigger Kind = "trigger"
)

// Firing is a run that is to be started.
type Firing struct {
	Kind Kind                 `json:"k"`
	For  time.Time            `json:"f"` // the time that it is started for
	ID   string               `json:"i"`
	Of   definition.Reference `json:"w"` // with its version
	At   time.Time            `json:"a"` // when that was decided
	// Cause is the first of the runs that have led to the event that starts it; nil if none has.
	Cause *store.Instance `json:"-"`
}

// Started is a run that was started.
type Started struct {
	ID  string    `json:"i"`
	For time.Time `json:"f"`
	At  time.Time `json:"a"`
}

// Failure is a run that could not be started.
type Failure struct {
	ID    string    `json:"i"`
	For   time.Time `json:"f"`
	At    time.Time `json:"a"`
	Error string    `json:"e"`
}

// maxFailures is how many failures are kept.
const maxFailures = 10

// Kinds returns how the schedule starts runs.
func (s *Schedule) Kinds() (all []Kind) {
	for _, t := range s.Timers {
		all = append(all, t.Kind)
	}
	if s.Events {
		all = append(all, KindOn)
	}
	return all
}

// Next returns when the next run starts; zero if that is not known.
func (s *Schedule) Next() (next time.Time) {
	if s.Paused != nil {
		return next
	}
	for _, t := range s.Timers {
		if !t.Next.IsZero() && (next.IsZero() || t.Next.Before(next)) {
			next = t.Next
		}
	}
	return next
}

// isDue reports whether a time has passed.
func (s *Schedule) isDue(now time.Time) bool {
	next := s.Next()
	return !next.IsZero() && !next.After(now)
}

// Late returns for how long a run should have been started; 0 if none should.
func (s *Schedule) Late(now time.Time) (late time.Duration) {
	if s.isDue(now) {
		late = now.Sub(s.Next())
	}
	for _, f := range s.left(now) {
		late = max(late, now.Sub(f.For))
	}
	return late
}

// awaits reports whether the end of a run is awaited.
func (s *Schedule) awaits() bool {
	return slices.ContainsFunc(s.Timers, func(t Timer) bool { return t.Awaits != "" })
}

// left returns the runs that another process decided to start, and should have started by now.
func (s *Schedule) left(now time.Time) (all []Firing) {
	for _, f := range s.Pending {
		if now.Sub(f.At) >= startedWithin {
			all = append(all, f)
		}
	}
	return all
}

// startedWithin is how long the start of a run is left to the process that decided it.
const startedWithin = 5 * time.Second

// isEmpty reports whether nothing is scheduled.
func (s *Schedule) isEmpty() bool { return len(s.Timers) == 0 && !s.Events && len(s.Pending) == 0 }

// follow changes the schedule to a version of the workflow. Unchanged timers continue, and so do waiting events.
func (s *Schedule) follow(p *plan, now time.Time) {
	before := s.Timers
	s.Workflow, s.Digest, s.Events, s.Timers = p.workflow, p.digest, p.trigger != nil, nil
	if on := p.on(); s.On != on {
		s.On, s.Since = on, now
	}
	for _, planned := range p.timers {
		t := planned.begin(now)
		if i := slices.IndexFunc(before, func(b Timer) bool { return b.Kind == t.Kind && b.Text == t.Text }); i >= 0 {
			t = before[i]
		}
		s.Timers = append(s.Timers, t)
	}
}

// resume ends a pause. Starts during the pause do not count as missed.
func (s *Schedule) resume(p *plan, now time.Time) {
	if s.Paused == nil {
		return
	}
	s.Paused = nil
	for n := range s.Timers {
		t := &s.Timers[n]
		// Times of every and cron are found anew: the store's time may have been set back.
		if planned := p.timer(t); planned != nil && !t.Next.IsZero() && (t.Kind != KindAfter || !t.Next.After(now)) {
			t.Next = planned.times(t).next(now)
		}
	}
}

// decide moves the due runs to Pending, and returns whether there were any.
func (s *Schedule) decide(p *plan, now time.Time) (decided bool) {
	if s.Paused != nil {
		return false
	}
	for n := range s.Timers {
		t := &s.Timers[n]
		planned := p.timer(t)
		if planned == nil || t.Next.IsZero() || t.Next.After(now) {
			continue
		}
		decided = true
		due, missed := planned.due(t, p.options, now)
		s.Missed += missed
		for _, at := range due {
			f := Firing{Kind: t.Kind, For: at, ID: firingID(p.workflow.Name, t.Kind, at), Of: p.workflow, At: now}
			s.Pending = append(s.Pending, f)
			if t.Kind == KindAfter {
				t.Awaits = f.ID
			}
		}
	}
	return decided
}

// fired records the result of the start of a run.
func (s *Schedule) fired(p *plan, f Firing, failed error, now time.Time) {
	before := len(s.Pending)
	s.Pending = slices.DeleteFunc(s.Pending, func(p Firing) bool { return p.ID == f.ID })
	if len(s.Pending) == before {
		return // another process recorded it
	}
	if failed == nil {
		s.Last = &Started{f.ID, f.For, now}
		return
	}
	s.fail(Failure{f.ID, f.For, now, failed.Error()})
	for n := range s.Timers {
		if t := &s.Timers[n]; t.Awaits == f.ID { // there is no end to wait for
			s.ended(p, t, now)
		}
	}
}

// endOf continues the timers whose runs ended, and returns whether there were any.
func (s *Schedule) endOf(p *plan, ended map[string]time.Time) (any bool) {
	for n := range s.Timers {
		t := &s.Timers[n]
		if at, is := ended[t.Awaits]; is && t.Awaits != "" {
			s.ended(p, t, at)
			any = true
		}
	}
	return any
}

// ended continues a timer of `after` when its run ended.
func (s *Schedule) ended(p *plan, t *Timer, at time.Time) {
	t.Awaits = ""
	if planned := p.timer(t); planned != nil {
		t.Next = planned.ended(t, at)
	}
}

func (s *Schedule) fail(f Failure) {
	s.Failures = slices.Insert(s.Failures, 0, f)
	s.Failures = s.Failures[:min(len(s.Failures), maxFailures)]
}

// firingID returns the ID of the run for a time. It is the same for every process, so that only one run starts.
func firingID(workflow string, kind Kind, at time.Time) string {
	return fmt.Sprintf("%s-%s-%s", workflow, kind, at.UTC().Format("20060102T150405.999Z"))
}

// RefusedError is a run that cannot be started.
type RefusedError struct{ Err error }

// Error returns the reason.
func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap returns why.
func (e *RefusedError) Unwrap() error { return e.Err }
