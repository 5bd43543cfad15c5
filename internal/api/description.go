package api

import (
	"math"
	"strings"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/filter"
	"github.com/swrun/swrun/runtime/store"
)

// Description is a run with everything that is known about it.
type Description struct {
	Run
	DescribedAt string `json:"describedAt,omitempty" doc:"The time of the description, by the store's clock. The remaining times are counted from it. Absent if the run is over."`
	File        string `json:"file" doc:"The file that its document was read from."`
	Plain       bool   `json:"plain,omitempty" doc:"The run was started with an input only, so that swrun run needs only its document and its id to continue it."`
	LaunchedBy  string `json:"launchedBy,omitempty" doc:"The run that has started it and does not wait for it."`
	Suspended   bool   `json:"suspended,omitempty" doc:"No task of it starts until it is resumed."`
	Reason      string `json:"reason,omitempty"`
	Actor       string `json:"actor,omitempty"` // actor of its cancellation or suspension
	WorkerGone  bool   `json:"workerGone,omitempty"`
	NoWorker    bool   `json:"noWorker,omitempty"` // it is in progress, and no worker is available for it
	// WorkerUnknown is the reason why it is not known whether a worker is available.
	WorkerUnknown string `json:"workerUnknown,omitempty" doc:"Why it is not known whether a worker is there: the store refuses writes, so that none can announce itself."`
	// ReservedFor is the run whose `swrun run --id` is the only performer of this run's tasks; empty if every worker may perform them.
	ReservedFor string       `json:"reservedFor,omitempty"`
	Commands    []string     `json:"commands,omitempty"` // commands that no worker has carried out yet
	Needs       []store.Need `json:"needs,omitempty" doc:"The needs of its waiting tasks that a worker must meet."`
	Why         string       `json:"why,omitempty" data:"hide"`
	Then        string       `json:"then,omitempty"`
	Forks       []string     `json:"forks,omitempty"` // the forks of the run, the newest last
	RunNumber   int          `json:"runNumber"`       // number in the execution: more than 1 if it has continued as new
	FirstRun    int          `json:"firstRun" doc:"The number of the first run of the execution: more than 1 for a fork of a later run."`
	LatestRun   int          `json:"latestRun" doc:"The number of the latest run of the execution."`
	Input       any          `json:"input"`
	Output      *any         `json:"output,omitempty"` // only of a completed run
	Failure     *Fault       `json:"failure,omitempty"`
	Failures    []Failure    `json:"failures,omitempty"`     // including caught ones, the oldest first
	Children    []Child      `json:"children,omitempty"`     // runs that it has started, the oldest first
	Since       int          `json:"reviewedFrom,omitempty"` // first record of a long history from which failures and children are listed
	Open        []Task       `json:"open,omitempty"`
	Deadlines   []Deadline   `json:"deadlines" nullable:"false"` // active deadlines, the next one first
	// SoftDeadlines are the soft deadlines of the scopes in progress, passed or to come. A soft deadline is left out if a deadline ends its scope
	// before.
	SoftDeadlines []SoftDeadline `json:"softDeadlines,omitempty"`
	HiddenData    bool           `json:"hiddenData,omitempty" data:"hidden" doc:"The token of the caller hides the data of runs. Members with data are omitted."`
	// Allowed contains for each verb whether the run accepts it now.
	Allowed map[string]Permission `json:"allowed"`
}

// Permission reports whether a run accepts a verb in its current state.
type Permission struct {
	Allowed bool   `json:"allowed" doc:"Whether the verb is not refused."`
	Reason  string `json:"reason,omitempty" doc:"Why it is refused."`
	// NoEffect is separate from Reason, because an allowed verb has no reason for a refusal.
	NoEffect string `json:"noEffect,omitempty" doc:"Why it would change nothing, if it is not refused."`
}

func newPermission(p client.Permission) Permission {
	if p.Allowed {
		return Permission{Allowed: true, NoEffect: p.Reason}
	}
	return Permission{Reason: p.Reason}
}

// input returns the input of the current run.
func input(d *client.Description) any {
	if d.State.Continued > 0 {
		return d.State.Input
	}
	return d.Invocation.Input.V
}

// Task is a task in progress.
type Task struct {
	Kind      string `json:"kind"`
	Pointer   string `json:"pointer"`
	Path      string `json:"path,omitempty"` // if it differs from Pointer
	File      string `json:"file"`
	Line      int    `json:"line"`
	StartedAt string `json:"startedAt,omitempty"`
	Until     string `json:"until,omitempty"`
	Retry     bool   `json:"retry,omitempty" doc:"Until is when it is tried again."`
	Attempt   int    `json:"attempt,omitempty"`
	// Activity is the activity of an outside worker that the task waits for.
	Activity *OpenActivity `json:"activity,omitempty" doc:"The activity of an outside worker that the task waits for."`
	// Listening is the state of a task that listens.
	Listening *Listening `json:"listening,omitempty" doc:"The events that a listening task waits for."`
}

// Listening is the state of a task that listens.
type Listening struct {
	Consumed int       `json:"consumed" doc:"How many events came so far."`
	Missing  []string  `json:"missing" nullable:"false" doc:"The filters that wait for an event, as pointers into the document."`
	Awaited  []Awaited `json:"awaited" nullable:"false" doc:"The awaited events of each filter."`
	// Unmatched are the last published events of its types that it did not consume, the oldest first.
	Unmatched []UnmatchedEvent `json:"unmatched,omitempty" doc:"The last events of its types that were published within a day and that it has not consumed, the oldest first: some of them if there were many."`
}

// Awaited describes the event that a filter waits for.
type Awaited struct {
	Type   string            `json:"type,omitempty" doc:"The type of the event; absent if any type is accepted, or if a pattern selects the type."`
	Values map[string]string `json:"values,omitempty" data:"hide" doc:"The values that its correlations must have, by their keys, as far as they are known. Secrets and long values are left out."`
}

// UnmatchedEvent is an event that a listening task did not consume, with the reasons.
type UnmatchedEvent struct {
	At     string `json:"at" doc:"When it was published."`
	Type   string `json:"type"`
	Source string `json:"source,omitempty" data:"hide"`
	ID     string `json:"id,omitempty" data:"hide"`
	Early  bool   `json:"early,omitempty" doc:"It came before the task listened, and would have matched."`
	Large  bool   `json:"large,omitempty" doc:"It is too large to be kept, so that it is not known why it did not match."`
	// Refusals are the reasons why filters refuse it, limited to the first few.
	Refusals []Refusal `json:"refusals,omitempty" doc:"Why filters that wait for an event do not let it pass, as they are now: the first few."`
	More     int       `json:"moreRefusals,omitempty" doc:"How many other filters do not let it pass."`
}

// Refusal is the reason why a filter refuses an event.
type Refusal struct {
	Filter    string `json:"filter" doc:"The filter, as a pointer into the document."`
	Line      int    `json:"line"`
	Attribute string `json:"attribute" doc:"The attribute of the event, data or a part of it such as data.order, or correlate.KEY."`
	Why       string `json:"why,omitempty" data:"hide"`
}

// Deadline is an active deadline, with the effect of its passing.
type Deadline struct {
	Kind        string  `json:"kind"`
	Pointer     string  `json:"pointer,omitempty"` // of the scope; absent for the workflow
	File        string  `json:"file,omitempty"`
	Line        int     `json:"line,omitempty"`
	StartedAt   string  `json:"startedAt"`
	At          string  `json:"at"`
	LeftSeconds float64 `json:"leftSeconds"`
	CaughtBy    string  `json:"caughtBy,omitempty"`
	Uncaught    bool    `json:"uncaught,omitempty"`
	Conditional bool    `json:"conditional,omitempty"` // whether CaughtBy catches it depends on a condition
	Held        bool    `json:"held,omitempty"`        // the run is quarantined
	OnceBegun   bool    `json:"onceBegun,omitempty"`   // it counts from the start of the run, which is still to come: at is correct if the run starts as early as possible
	Retries     bool    `json:"retries,omitempty"`     // it ends an attempt at an activity, and another attempt follows
	FiresFirst  *bool   `json:"firesFirst,omitempty"`  // in the description of a run
}

// Left returns the time that is left; it is negative for a deadline in the past.
func (d Deadline) Left() time.Duration { return fromSeconds(d.LeftSeconds) }

// fromSeconds returns a number of seconds as a duration: the longest one (292 years) if the number is larger.
func fromSeconds(seconds float64) time.Duration {
	n := math.Round(seconds * float64(time.Second))
	switch {
	case n >= math.MaxInt64: // as a float, this is the largest duration plus 1
		return math.MaxInt64
	case n <= math.MinInt64:
		return -math.MaxInt64
	}
	return time.Duration(n)
}

// UpcomingDeadline is a deadline among those of many runs.
type UpcomingDeadline struct {
	Run      string `json:"run"`
	Workflow string `json:"workflow"`
	Deadline
}

// UpcomingOf returns the deadlines of a described run, whose execution is i.
func UpcomingOf(i store.Instance, d Description) []UpcomingDeadline {
	all := []UpcomingDeadline{}
	for _, in := range d.Deadlines {
		all = append(all, UpcomingDeadline{Run: i.String(), Workflow: d.Workflow, Deadline: in})
	}
	return all
}

// Failure is an error in a run, with its consequence.
type Failure struct {
	Seq         int    `json:"seq"` // of its record in the history
	At          string `json:"at"`
	Pointer     string `json:"pointer,omitempty"` // of the task; absent for the workflow
	Path        string `json:"path,omitempty"`    // if it differs from Pointer
	Error       any    `json:"error" data:"error"`
	Category    string `json:"category"`    // the short name of a standard error, limit, or application
	Propagation string `json:"propagation"` // task, child or timeout
	TimeoutKind string `json:"timeoutKind,omitempty"`
	Outcome     string `json:"outcome,omitempty"` // retried, caught, uncaught or replaced; absent before the outcome is known
	CaughtBy    string `json:"caughtBy,omitempty"`
	Child       string `json:"child,omitempty"` // the run that the failure comes from
}

// Child is a run that another run has started.
type Child struct {
	Run       string `json:"run"`
	Pointer   string `json:"pointer"`
	Path      string `json:"path,omitempty"` // if it differs from Pointer
	StartedAt string `json:"startedAt"`
	Status    string `json:"status,omitempty"` // absent if the child does not exist, and if many later children exist
}

// Fault is the error of a faulted run.
type Fault struct {
	Error       any    `json:"error" data:"error"`
	Category    string `json:"category"` // as in Failure
	TimeoutKind string `json:"timeoutKind,omitempty"`
	// The origin of the error, if that is another run: a child, or a child's child.
	Run      string `json:"run,omitempty"`
	Workflow string `json:"workflow,omitempty"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
}

// NewDescription returns the JSON of a description.
func NewDescription(d *client.Description, r *client.Review) Description {
	described := Description{
		Run: NewRun(d.Listed()), Reason: d.Reason, Actor: d.Actor, WorkerGone: d.Gone,
		NoWorker: d.NoWorker, Needs: d.Lifecycle.Needed(), Why: d.Why, Then: d.Then, Input: input(d),
		Failure: fault(d, r.Source), Failures: failures(r), Children: children(r),
	}
	described.fill(d)
	if r.From > d.FirstRecord() {
		described.Since = r.From
	}
	for _, f := range d.Forks {
		described.Forks = append(described.Forks, f.String())
	}
	described.RunNumber, described.FirstRun, described.LatestRun = d.RunNumber(), d.Runs.First, d.Runs.Latest
	described.SoftDeadlines = newSoftDeadlines(d)
	described.Allowed, described.Deadlines = map[string]Permission{}, []Deadline{}
	for _, p := range d.Permissions() {
		described.Allowed[p.Verb] = newPermission(p)
	}
	for _, verb := range d.Commands {
		described.Commands = append(described.Commands, string(verb))
	}
	described.lengths(d.RunDeadlines)
	described.ends(d.State.Deadlines)
	if d.State.Status == interpreter.StatusCompleted {
		described.Output = &d.State.Output
	}
	for at, t := range d.OpenTasks {
		described.Open = append(described.Open, newTask(d, t, d.Unmatched[at]))
	}
	fires := d.FiresFirst()
	for n, in := range d.Deadlines {
		deadline := NewDeadline(in)
		firesFirst := n == fires
		deadline.FiresFirst = &firesFirst
		described.Deadlines = append(described.Deadlines, deadline)
	}
	return described
}

// NewUnreadDescription returns the JSON of a run whose definition or state cannot be read, with the reason.
func NewUnreadDescription(of *filter.Run, why string) Description {
	return Description{
		Run: NewRun(of), Input: of.Invocation.Input.V, RunNumber: 1, FirstRun: 1, LatestRun: 1, Deadlines: []Deadline{}, Allowed: map[string]Permission{},
		Why: why,
	}
}

// fill fills in the origin of the run, and its current conditions.
func (d *Description) fill(of *client.Description) {
	if of.Unknown != nil {
		d.WorkerUnknown = of.Unknown.What
	}
	if r := of.Invocation.Reserved; r != nil {
		d.ReservedFor = r.String()
	}
	if of.Earlier != nil {
		d.Status, d.ClosedReason = of.Status, of.Status
	}
	d.File, d.Plain, d.Suspended = of.Program.Workflow.Source.File, of.Invocation.Plain(), of.State.Suspended
	if !of.Lifecycle.Status.Final() {
		d.DescribedAt = Time(of.At)
	}
	if of.Invocation.Parent == nil && of.Invocation.Origin != nil {
		d.LaunchedBy = of.Invocation.Origin.String()
	}
}

func newTask(d *client.Description, t interpreter.OpenTask, events []client.Unmatched) Task {
	source := d.Program.Source(t.Origin)
	task := Task{
		Kind: string(t.Kind), Pointer: string(t.Pointer), File: source.File, Line: source.Key(t.Origin).Start.Line,
		StartedAt: Time(t.StartedAt), Until: Time(t.Until), Retry: t.Retry, Attempt: t.Attempt,
	}
	if string(t.Path) != task.Pointer {
		task.Path = string(t.Path)
	}
	if a := d.Activities[t.Effect]; a != nil {
		task.Attempt, task.Activity = a.Attempt, newOpenActivity(a)
	}
	if l := t.Listening; l != nil {
		task.Listening = &Listening{Consumed: l.Consumed, Missing: []string{}, Awaited: []Awaited{}, Unmatched: unmatched(source, events)}
		for _, filter := range l.Missing {
			task.Listening.Missing = append(task.Listening.Missing, string(filter))
		}
		for _, a := range l.Awaited {
			task.Listening.Awaited = append(task.Listening.Awaited, Awaited(a))
		}
	}
	return task
}

func unmatched(source *dsl.Source, events []client.Unmatched) (all []UnmatchedEvent) {
	for _, in := range events {
		u := UnmatchedEvent{At: Time(in.At), Type: in.Type, Source: in.ID.Source, ID: in.ID.ID, Early: in.Early, Large: in.Large, More: in.More}
		for _, r := range in.Refusals {
			u.Refusals = append(u.Refusals, Refusal{Filter: string(r.Filter), Line: source.Value(r.Filter).Start.Line, Attribute: r.Attribute, Why: r.Why})
		}
		all = append(all, u)
	}
	return all
}

// NewDeadline returns the JSON of an active deadline.
func NewDeadline(in client.DescribedDeadline) Deadline {
	d := Deadline{
		Kind: in.Kind, Pointer: string(in.Pointer), StartedAt: Time(in.StartedAt), At: Time(in.At), LeftSeconds: in.Left.Seconds(),
		CaughtBy: string(in.CaughtBy), Uncaught: in.CaughtBy == "" && !in.Retries, Conditional: in.Conditional, Held: in.AwaitsRelease, Retries: in.Retries, OnceBegun: in.OnceBegun,
	}
	if in.Line > 0 {
		d.File, d.Line = in.File, in.Line
	}
	return d
}

func failures(r *client.Review) (all []Failure) {
	for _, in := range r.Failures {
		f := Failure{
			Seq: in.Seq, At: Time(in.At), Pointer: string(in.Pointer), Error: Error(in.Error), Category: errors.Category(in.Error.Type),
			Propagation: in.Propagation, TimeoutKind: in.TimeoutKind, Outcome: in.Outcome, CaughtBy: string(in.CaughtBy), Child: in.Child,
		}
		if string(in.Path) != f.Pointer {
			f.Path = string(in.Path)
		}
		all = append(all, f)
	}
	return all
}

func children(r *client.Review) (all []Child) {
	for _, in := range r.Children {
		c := Child{Run: in.Run.String(), Pointer: string(in.Pointer), StartedAt: Time(in.StartedAt), Status: in.Status}
		if string(in.Path) != c.Pointer {
			c.Path = string(in.Path)
		}
		all = append(all, c)
	}
	return all
}

func fault(d, source *client.Description) *Fault {
	s := d.State
	if s.Fault == nil {
		return nil
	}
	f := &Fault{Error: Error(s.Fault), Category: errors.Category(s.Fault.Type), TimeoutKind: s.TimeoutKind()}
	if source != d {
		at := source.Program.Workflow.Source
		f.Run, f.Workflow = source.Instance.String(), source.Invocation.Workflow.String()
		f.File, f.Line = at.File, at.Key(InstancePointer(s.Fault.Instance)).Start.Line
	}
	return f
}

// InstancePointer returns the place in a document of an error's instance.
func InstancePointer(instance string) dsl.Pointer {
	return dsl.Pointer(strings.TrimSuffix(instance, "/"))
}
