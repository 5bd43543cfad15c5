package client

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/internal/duration"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/activity"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/filter"
	"github.com/swrun/swrun/runtime/inbox"
	"github.com/swrun/swrun/runtime/presence"
	"github.com/swrun/swrun/runtime/queue"
	"github.com/swrun/swrun/runtime/store"
)

// Description is all that is known of a run at a moment.
type Description struct {
	Instance   store.Instance
	Lifecycle  store.Lifecycle
	Invocation *execution.Invocation
	Status     string // the phase, or quarantined
	At         time.Time
	Program    *interpreter.Program
	State      *interpreter.State

	RunDeadlines []interpreter.Deadline // of the whole run, including inactive deadlines
	OpenTasks    []interpreter.OpenTask
	Activities   map[interpreter.EffectID]*activity.Activity // that open tasks wait for, by their effects
	Unmatched    map[int][]Unmatched                         // events that open tasks could have had, by the places of the tasks
	Deadlines    []DescribedDeadline
	Forks        []store.Instance                 // that were forked from it, the newest last
	Soft         []interpreter.ActiveSoftDeadline // of the scopes in progress, passed or to come, that no deadline ends before
	Gone         bool                             // the worker that held it is gone, and no other one has taken it over
	Commands     []store.Verb                     // that were given to it and that no worker has carried out yet: each once, the last one last
	NoWorker     bool                             // the run did not end, and no worker is present to take it
	Unknown      *store.UnheardError              // why it is not known whether a worker is there; nil if it is known
	Reason       string                           // that was given when it was cancelled or suspended
	Actor        string                           // actor of the cancellation or suspension
	Why          string                           // cause and end of the wait, and other events that can continue the run
	Waiting      []string                         // causes of the wait, in the order of store.WaitingFor
	Acknowledged *filter.Acknowledgement          // acknowledgement of its trouble; nil without one
	Then         string                           // effect of the first deadline; empty without deadlines
	Runs         RunNumbers                       // that the execution has so far
	Earlier      *EarlierRun                      // of a run that the next one has followed; nil for the latest run of an execution

	newer   error                  // that a newer swrun has written an activity
	lacks   bool                   // activities: their records are damaged or missing
	workers []presence.Worker      // that work on it; nil if that is not known
	queues  map[string]queue.Rules // of the queues in which it waits; nil if it waits in none
	polled  map[string]queue.Polled
}

// DescribedDeadline is an active deadline with its effect.
type DescribedDeadline struct {
	interpreter.ActiveDeadline
	File          string        // of the document
	Line          int           // line of the scope in the document, for the workflow the line of its timeout; 0 if a start option set it
	Left          time.Duration // until it passes; negative if it is overdue
	CaughtBy      dsl.Pointer   // the try that would catch the timeout; empty if the run would fault
	Conditional   bool          // CaughtBy has a condition that decides
	AwaitsRelease bool          // the run is quarantined: it is decided when the run is released
	OnceBegun     bool          // it counts from the future start: At is right if the run starts on time
	Retries       bool          // it ends an attempt at an activity, and another attempt follows: no error is raised
}

// Listed returns the run as lists have it.
func (d *Description) Listed() *filter.Run {
	return &filter.Run{Instance: d.Instance, Lifecycle: d.Lifecycle, Invocation: d.Invocation, Waiting: d.Waiting, Acknowledged: d.Acknowledged}
}

// Describe returns the current state of a run.
func (c *Client) Describe(ctx context.Context, i store.Instance) (*Description, error) {
	l, err := c.loadHeld(ctx, i)
	if err != nil {
		return nil, err
	}
	info, err := execution.InvocationOf(i, l.Invocation)
	if err != nil {
		return nil, err
	}
	work, err := c.store.Poll(ctx, i.Partition(c.store.Layout().Partitions), 1, false)
	if err != nil {
		return nil, err
	}
	d := &Description{Instance: i, Lifecycle: l.Lifecycle, Invocation: info, Status: (&filter.Run{Lifecycle: l.Lifecycle}).Status(), At: work.At}
	if d.Program, err = c.program(ctx, info); err != nil {
		return nil, err
	}
	if err = d.open(l); err == nil {
		err = c.attend(ctx, d)
	}
	if err != nil {
		return nil, err
	}
	unread, err := c.unread(ctx, d)
	if err == nil {
		err = c.lookAround(ctx, d, l.State)
	}
	if err != nil {
		return nil, err
	}
	d.foresee(unread)
	d.describeWaits(unread)
	return d, nil
}

// describeWaits describes the cause of the wait and the effect of the first deadline.
func (d *Description) describeWaits(unread []inbox.Message) {
	d.describeDeadlines()
	d.Why, d.Then = d.why()+d.lacksWorker()+d.mail(unread), d.then()
}

// open reads the state of the run.
func (d *Description) open(l store.Loaded) (err error) {
	if err := l.CheckHead(); err != nil {
		return execution.Unreadable(d.Instance, err)
	}
	if l.State.Head == nil {
		d.State, d.RunDeadlines = d.begun()
	} else if d.State, err = d.Invocation.Restore(nil, d.Instance, l.State); err != nil {
		return err
	} else {
		d.RunDeadlines = d.State.Deadlines
	}
	d.State.NumberFrom(int(d.Lifecycle.Records))
	d.Reason, d.Actor = d.State.Order.Reason, d.State.Order.Actor
	d.newer = l.Newer
	d.OpenTasks, d.Activities, d.lacks = interpreter.OpenTasks(d.Program, d.State), readActivities(l.Activities), activity.Lacking(d.Instance, &l) != ""
	d.Runs.First, err = firstRun(d.Instance, d.Invocation)
	d.Runs.Latest = max(d.Runs.First, d.State.RunNumber())
	return err
}

// lookAround finds the forks of a run, the events that it could have consumed, and the acknowledgement of its trouble.
func (c *Client) lookAround(ctx context.Context, d *Description, stored interpreter.StoredState) (err error) {
	if d.Forks, err = c.Forks(ctx, d.Instance); err == nil {
		d.Unmatched, err = c.unmatched(ctx, d, stored)
	}
	if err == nil {
		listed := d.Listed()
		completes := completion{client: c, alsoAcknowledged: true}
		err = completes.acknowledge(ctx, listed)
		d.Acknowledged = listed.Acknowledged
	}
	return err
}

// describeDeadlines describes the deadlines of the scopes in progress, and of the activities that they wait for.
func (d *Description) describeDeadlines() {
	for _, in := range interpreter.ActiveDeadlines(d.Program, d.State) {
		d.Deadlines = append(d.Deadlines, d.deadline(in))
	}
	d.Deadlines = append(append(d.Deadlines, d.onceBegun()...), d.activityDeadlines()...)
	slices.SortStableFunc(d.Deadlines, func(a, b DescribedDeadline) int { return a.At.Compare(b.At) })
	d.Soft = slices.DeleteFunc(interpreter.SoftDeadlines(d.Program, d.State), func(soft interpreter.ActiveSoftDeadline) bool {
		return slices.ContainsFunc(d.Deadlines, func(in DescribedDeadline) bool { return in.OnceBegun && !in.At.After(soft.At) })
	})
}

// onceBegun returns the future deadlines of a run that has not begun.
func (d *Description) onceBegun() (all []DescribedDeadline) {
	if !d.CountsOnceBegun() {
		return nil
	}
	late := d.startsLate()
	for _, in := range d.RunDeadlines {
		if !in.Fixed {
			in.At, in.StartedAt = in.At.Add(late), in.StartedAt.Add(late)
			described := d.deadline(interpreter.ActiveDeadline{Deadline: in, EndsRun: true})
			described.OnceBegun = true
			all = append(all, described)
		}
	}
	return all
}

// CountsOnceBegun reports whether the timeouts of the run count from its start, which is in the future.
func (d *Description) CountsOnceBegun() bool {
	return d.Lifecycle.Status == interpreter.StatusPending && !d.Invocation.TimeoutsFromAccept
}

// startsLate returns the delay of a run that has not begun after its scheduled start.
func (d *Description) startsLate() time.Duration { return max(0, d.At.Sub(d.Lifecycle.Started)) }

// begun returns the state of a run that has no stored state yet, and all deadlines of the whole run. Timeouts of a
// run that no worker has taken are active only if they count from when it was accepted.
func (d *Description) begun() (*interpreter.State, []interpreter.Deadline) {
	// A timeout with a failing expression is omitted: the run will report the error.
	s, _ := interpreter.StateAtStart(d.Program, d.Invocation.NewState(d.Instance), d.Invocation.Start(d.Program, d.Lifecycle))
	all := s.Deadlines
	if d.CountsOnceBegun() {
		s.Deadlines = slices.DeleteFunc(slices.Clone(all), func(l interpreter.Deadline) bool { return !l.Fixed })
		s.Soft.Move(d.startsLate())
	}
	return s, all
}

// Source returns the position of a value in the document, as file:line.
func (d *Description) Source(at dsl.Pointer) string {
	source := d.Program.Source(at)
	return fmt.Sprintf("%s:%d", source.File, source.Key(at).Start.Line)
}

func (d *Description) deadline(in interpreter.ActiveDeadline) DescribedDeadline {
	w := d.Program.Workflow
	described := DescribedDeadline{ActiveDeadline: in, File: d.Program.Source(in.Origin).File, Left: in.At.Sub(d.At), AwaitsRelease: d.Status == store.Quarantined && !in.EndsRun}
	switch {
	case in.Pointer != "":
		described.Line = d.Program.Source(in.Origin).Key(in.Origin).Start.Line
		described.CaughtBy, described.Conditional = catching(d.Program, in)
	case in.Kind == interpreter.DeadlineWorkflow:
		described.Line = w.Source.Key("/timeout").Start.Line
	case in.Kind == interpreter.DeadlineRun && d.Invocation.RunTimeout == 0:
		described.Line = w.Source.Key("/document/metadata/swrun/runTimeout").Start.Line
	}
	return described
}

// catching returns the try that would catch the timeout of a scope, and whether a condition decides.
func catching(p *interpreter.Program, in interpreter.ActiveDeadline) (dsl.Pointer, bool) {
	var found *dsl.TryTask
	dsl.Walk(p.Workflow, func(t dsl.Task) bool {
		if try, ok := t.(*dsl.TryTask); ok && catches(p, try, in) {
			found = try // the innermost comes last
		}
		return true
	})
	if found == nil {
		return "", false
	}
	return found.Pointer, found.Catch.When.Text != "" || found.Catch.ExceptWhen.Text != ""
}

func catches(p *interpreter.Program, try *dsl.TryTask, in interpreter.ActiveDeadline) bool {
	inside := strings.HasPrefix(string(in.Pointer), string(try.Pointer)+"/try/")
	own := in.Pointer == try.Pointer && in.Kind == interpreter.DeadlineAttempt
	return (inside || own) && try.Catch.Errors.WithAliases(p.ErrorAliases()).Mismatch(in.Error()) == ""
}

// why describes the cause of the wait in one or two sentences.
func (d *Description) why() string {
	r := &d.Lifecycle
	switch {
	case r.Status.Final():
		return fmt.Sprintf("it has ended (%s) at %s%s.", r.Reason, clockTime(r.Closed), d.because())
	case d.Status == store.Quarantined:
		return fmt.Sprintf("%d workers in a row were lost while they ran %s: it is not executed until it is released. Its deadlines still apply.", r.Deaths, d.currentTasks())
	case d.State.Suspended:
		return "it is suspended" + d.because() + ": no task starts until it is resumed. Its deadlines still apply."
	case r.Status == interpreter.StatusPending && r.Started.After(d.At):
		return fmt.Sprintf("it starts at %s, %s.", clockTime(r.Started), d.in(r.Started))
	case len(d.OpenTasks) == 0:
		return d.waitsForWorker()
	case len(d.OpenTasks) == 1:
		return d.single(d.OpenTasks[0])
	}
	var all []string
	for _, o := range d.OpenTasks {
		all = append(all, d.waitsFor(o))
	}
	return "it is in several places: " + strings.Join(all, "; ") + "."
}

func (d *Description) currentTasks() string {
	var all []string
	for _, o := range d.OpenTasks {
		all = append(all, string(o.Pointer))
	}
	if len(all) == 0 {
		return "its start"
	}
	return strings.Join(all, ", ")
}

func (d *Description) single(o interpreter.OpenTask) string {
	text := d.waitsFor(o) + "."
	switch {
	case o.Until.IsZero() || d.NoWorker:
		return text
	case !o.Until.After(d.At):
		return text + " A worker continues the run as soon as it takes it."
	}
	return text + " Nothing else can move it but a command."
}

func (d *Description) waitsFor(o interpreter.OpenTask) string {
	at := fmt.Sprintf("%s (%s)", o.Pointer, d.Source(o.Origin))
	switch {
	case d.isLeft(o):
		return d.waitsForNeeds(at, o)
	case o.Ready:
		return "ready to continue in " + at + ", for a worker that takes it"
	case o.Retry:
		return fmt.Sprintf("waiting to try %s again at %s, %s", at, clockTime(o.Until), d.in(o.Until))
	case o.Listening != nil:
		return d.listensFor(at, o.Listening)
	case !o.Until.IsZero():
		return fmt.Sprintf("waiting for the timer of %s, due %s, %s", at, clockTime(o.Until), d.in(o.Until))
	case o.Route == interpreter.RouteChild:
		return fmt.Sprintf("waiting for the run %s that %s has started", o.Run, at)
	case d.Activities[o.Effect] != nil:
		return d.waitsForActivity(o, d.Activities[o.Effect], at)
	case o.Route == interpreter.RouteActivity && (d.newer != nil || d.lacks):
		return d.lackedActivity(at)
	case o.Deferred && d.waitsInQueue(at, queueOf(o.Needs)) != "":
		return d.waitsInQueue(at, queueOf(o.Needs))
	case o.Deferred:
		return fmt.Sprintf("%s waits for a worker with a free slot", at)
	case o.Effect != 0 && d.attended():
		return d.performing(at, o)
	case o.Effect != 0 && d.Gone:
		return fmt.Sprintf("%s was in progress when its worker was lost, and waits for another one", at)
	case o.Effect != 0:
		return fmt.Sprintf("%s waits for a worker that performs it", at)
	}
	return "at " + at
}

// performing describes for how long a task has been performed. Only the first attempt began with the task.
func (d *Description) performing(at string, o interpreter.OpenTask) string {
	since := duration.FormatRough(d.At.Sub(o.StartedAt))
	if o.Attempt <= 1 {
		return fmt.Sprintf("performing %s %s, since %s (attempt %d)", o.Kind.Words(), at, since, o.Attempt)
	}
	return fmt.Sprintf("performing %s %s (attempt %d; the task began %s ago)", o.Kind.Words(), at, o.Attempt, since)
}

// then describes the effect of the first deadline.
func (d *Description) then() string {
	at := d.FiresFirst()
	if at < 0 {
		return ""
	}
	first := d.Deadlines[at]
	scope := fmt.Sprintf("the timeout of %s (%s) fires", first.Pointer, d.Source(first.Origin))
	switch {
	case first.Pointer == "" && first.Line > 0:
		scope = fmt.Sprintf("the workflow's timeout (%s:%d) fires", first.File, first.Line)
	case first.Pointer == "":
		scope = "the workflow's timeout fires"
	}
	outcome := "it faults with `timeout`: no catch takes it"
	switch {
	case first.Retries:
		scope, outcome = fmt.Sprintf("the %s of the activity at %s (%s) ends the attempt", first.Kind, first.Pointer, d.Source(first.Origin)), "another attempt follows"
	case first.CaughtBy != "":
		outcome = fmt.Sprintf("the catch of %s (%s) takes it", first.CaughtBy, d.Source(first.CaughtBy))
		if first.Conditional {
			outcome += " if its condition holds"
		}
	}
	if !first.At.After(d.At) {
		return fmt.Sprintf("It is %s (%s): as soon as a worker takes the run, %s, and %s.", d.in(first.At), clockTime(first.At), scope, outcome)
	}
	if first.OnceBegun {
		return fmt.Sprintf("If it starts as soon as it may and nothing happens by %s, %s, %s, and %s.", clockTime(first.At), d.in(first.At), scope, outcome)
	}
	switch {
	case d.NoWorker:
		scope += " as soon as a worker takes the run"
	case d.Unknown != nil:
		scope += " as soon as the store takes writes"
	}
	return fmt.Sprintf("If nothing happens by %s, %s, %s, and %s.", clockTime(first.At), d.in(first.At), scope, outcome)
}

func (d *Description) in(at time.Time) string { return Due(at.Sub(d.At)) }

// Due describes the remaining time until an event: in 5s, or overdue by 5s.
func Due(left time.Duration) string {
	if left < 0 {
		return "overdue by " + duration.FormatRough(-left)
	}
	return "in " + duration.FormatRough(left)
}

func clockTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }
