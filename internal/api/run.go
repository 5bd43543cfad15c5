// Package api is the JSON that programs see: runs, their history and deadlines, errors, and diagnostics. The command prints this JSON with -o json,
// and an HTTP server answers with the same JSON. The package only brings known data into the forms that the documentation promises. It reads no
// store, and knows neither flags nor terminals.
package api

import (
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/filter"
	"github.com/swrun/swrun/runtime/store"
)

// The values of `schema`.
const (
	SchemaRun     = "swrun/v1/run"
	SchemaHistory = "swrun/v1/history"
	SchemaCount   = "swrun/v1/count"
)

// Started is a run that was just started.
type Started struct {
	Schema    string `json:"schema"`
	ID        string `json:"id"`
	Namespace string `json:"namespace"`
}

// Instance returns the instance of the run.
func (s Started) Instance() store.Instance { return store.Instance{Namespace: s.Namespace, ID: s.ID} }

// NewStarted returns the JSON of a run that was just started.
func NewStarted(i store.Instance) Started { return Started{SchemaRun, i.ID, i.Namespace} }

// Run is a run in a list.
type Run struct {
	Started
	Workflow     string            `json:"workflow"`
	Status       string            `json:"status"`
	Definition   string            `json:"definition"` // digest
	Records      int64             `json:"records"`    // of its history
	ClosedReason string            `json:"closedReason,omitempty"`
	ErrorType    string            `json:"errorType,omitempty"`   // of a faulted run
	TimeoutKind  string            `json:"timeoutKind,omitempty"` // of the deadline that ended it
	Attention    string            `json:"attention,omitempty"`   // reason why an operator should look at it: retrying, quarantined or failed
	Acknowledged *Acknowledgement  `json:"acknowledged,omitempty" doc:"The acknowledgement of its trouble; absent if it is not acknowledged."`
	Waiting      []string          `json:"waiting,omitempty" doc:"The kinds of things that it waits for: queue, worker, activity, event, child or timer; several in the branches of a fork."`
	Attempts     int64             `json:"attempts,omitempty"` // of the task with the most attempts, if a task was retried
	BusinessKey  string            `json:"businessKey,omitempty"`
	StartedBy    string            `json:"startedBy,omitempty"` // the starter of the run, if that was no other run
	Labels       map[string]string `json:"labels,omitempty"`
	Parent       string            `json:"parent,omitempty"`
	ForkedFrom   string            `json:"forkedFrom,omitempty"`
	ContinuedAs  string            `json:"continuedAs,omitempty" doc:"The last fork of the run, which continues in its place."`
	BeganAs      string            `json:"beganAs,omitempty"` // the original workflow with its version, if the run has migrated
	CreatedAt    string            `json:"createdAt,omitempty"`
	StartsAt     string            `json:"startsAt,omitempty"` // of a run that is still to begin
	StartedAt    string            `json:"startedAt,omitempty"`
	ClosedAt     string            `json:"closedAt,omitempty"`
	NextWakeAt   string            `json:"nextWakeAt,omitempty"`
	ReadySince   string            `json:"readySince,omitempty" doc:"Since when a worker could take it."`
	DeadlineAt   string            `json:"deadlineAt,omitempty"`
	Worker       string            `json:"worker,omitempty"`    // the owner of the run
	HeldUntil    string            `json:"heldUntil,omitempty"` // end of its lease
	WorkersLost  int               `json:"workersLost,omitempty"`
	Summary      *Summary          `json:"summary,omitempty" doc:"The present work of the run, on request."`
	Timeouts
}

// Summary is a short description of the progress of a run.
type Summary struct {
	At   string `json:"at" doc:"The tasks in progress; - for none."`
	Next string `json:"next" doc:"What happens next; - for nothing."`
}

// FoundRuns are the runs that match a name.
type FoundRuns struct {
	Exact []string `json:"exact" nullable:"false" doc:"The namespace/id of the runs with this id."`
	Begun []string `json:"begun" nullable:"false" doc:"If exact is empty, the namespace/id of at most 20 runs whose id begins with the text, the newest first."`
}

// NewFoundRuns returns the JSON of the runs that match a name.
func NewFoundRuns(exact, begun []store.Instance) FoundRuns {
	return FoundRuns{names(exact), names(begun)}
}

func names(all []store.Instance) []string {
	list := []string{} // an empty list is not null
	for _, i := range all {
		list = append(list, i.String())
	}
	return list
}

// Count is a number of runs.
type Count struct {
	Schema string  `json:"schema"`
	Count  int     `json:"count"`
	By     string  `json:"by,omitempty"`    // the field by which they are counted
	Groups []Group `json:"groups,omitzero"` // empty if no run matches, absent if all runs are counted together
	// Unreadable counts the runs that cannot be read. Count does not include them.
	Unreadable int `json:"unreadable,omitempty"`
}

// Group is the number of runs that share a value.
type Group struct {
	Value  string   `json:"value"` // of the first field; empty for the runs without a value
	Values []string `json:"values,omitempty" doc:"Of each field, if they are counted by several."`
	Count  int      `json:"count"`
	Where  string   `json:"where,omitempty" doc:"The filter that selects the runs of the group, in addition to the filter of the request."`
	First  string   `json:"firstSince,omitempty" doc:"The begin of the trouble of its first run."`
	Last   string   `json:"lastSince,omitempty" doc:"The same of the last."`
}

// NewCount returns the JSON of runs that were counted by fields; without fields, all together.
func NewCount(by string, fields *filter.Grouping, groups []client.Group) Count {
	c := Count{Schema: SchemaCount, By: by}
	if by != "" {
		c.Groups = []Group{}
	}
	for _, g := range groups {
		if c.Count += g.Runs; by != "" {
			one := Group{Value: g.Values[0], Count: g.Runs, Where: fields.Where(g.Values), First: Time(g.First), Last: Time(g.Last)}
			if len(g.Values) > 1 {
				one.Values = g.Values
			}
			c.Groups = append(c.Groups, one)
		}
	}
	return c
}

// NewRuns returns the JSON of a list of runs.
func NewRuns(all []filter.Run) []Run {
	runs := []Run{} // an empty list is not null
	for n := range all {
		runs = append(runs, NewRun(&all[n]))
	}
	return runs
}

// NewRun returns the JSON of a run.
func NewRun(listed *filter.Run) Run {
	r, info := &listed.Lifecycle, listed.Invocation
	run := Run{
		Started: NewStarted(listed.Instance), Workflow: info.Workflow.String(), Status: listed.Status(), Definition: info.Definition, Records: r.Records,
		BusinessKey: info.BusinessKey, StartedBy: info.Actor, Labels: info.Labels, CreatedAt: Time(r.Created), ClosedAt: Time(r.Closed),
		NextWakeAt: Time(r.Wake), ReadySince: Time(r.Ready), DeadlineAt: Time(listed.Deadline()), WorkersLost: int(r.Deaths),
		ErrorType: r.Failure.Type, TimeoutKind: r.Failure.TimeoutKind, Attempts: r.Attempts, Attention: listed.Attention(),
		Waiting: listed.Waiting, Acknowledged: newAcknowledgement(listed.Acknowledged),
	}
	if r.Status.Final() {
		run.ClosedReason = r.Reason
	}
	if info.Parent != nil {
		run.Parent = info.Parent.Instance.String()
	}
	if info.Began != nil {
		run.BeganAs = info.Began.Workflow.String()
	}
	if info.Fork != nil {
		run.ForkedFrom = info.Fork.Instance.String()
	}
	if r.Continuation != "" {
		run.ContinuedAs = store.Instance{Namespace: listed.Instance.Namespace, ID: r.Continuation}.String()
	}
	if r.Status != interpreter.StatusPending {
		run.StartedAt = Time(r.Started)
	} else {
		run.StartsAt = Time(r.Started)
	}
	if info.ExecutionTimeout > 0 {
		run.ExecutionTimeoutSeconds = seconds(info.ExecutionTimeout)
	}
	if info.RunTimeout > 0 {
		run.RunTimeoutSeconds = seconds(info.RunTimeout)
	}
	if r.Held() {
		run.Worker, run.HeldUntil = r.Owner, Time(r.Lease)
	}
	return run
}

// Timeouts are the timeouts of a whole run, and their deadlines: the first of several of a kind.
type Timeouts struct {
	ExecutionTimeoutSeconds *float64 `json:"executionTimeoutSeconds,omitempty"`
	RunTimeoutSeconds       *float64 `json:"runTimeoutSeconds,omitempty"`
	ExecutionDeadlineAt     string   `json:"executionDeadlineAt,omitempty"`
	RunDeadlineAt           string   `json:"runDeadlineAt,omitempty"`
}

// lengths fills in the lengths of timeouts; a deadline that was given as a point in time has no length.
func (t *Timeouts) lengths(all []interpreter.Deadline) {
	for _, d := range all {
		switch {
		case d.Fixed:
		case d.Kind == interpreter.DeadlineRun:
			t.RunTimeoutSeconds = seconds(d.At.Sub(d.StartedAt))
		default: // the document's timeout applies to the execution
			t.ExecutionTimeoutSeconds = seconds(d.At.Sub(d.StartedAt))
		}
	}
}

// ends fills in the deadlines of the timeouts.
func (t *Timeouts) ends(all []interpreter.Deadline) {
	var execution, run time.Time
	for _, d := range all {
		first := &execution
		if d.Kind == interpreter.DeadlineRun {
			first = &run
		}
		if first.IsZero() || d.At.Before(*first) {
			*first = d.At
		}
	}
	t.ExecutionDeadlineAt, t.RunDeadlineAt = Time(execution), Time(run)
}

func seconds(d time.Duration) *float64 {
	s := d.Seconds()
	return &s
}

// instantLayout has the same width for all instants, so that they sort as text. Stores keep milliseconds.
const instantLayout = "2006-01-02T15:04:05.000Z"

// Time returns the text of a point in time in all JSON of swrun, with milliseconds; the zero time is empty. Texts sort in the order of their times.
func Time(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(instantLayout)
}

// OutputPath returns the reference of a run's output at every server.
func OutputPath(i store.Instance) string { return "/v1/runs/" + i.String() + "/output" }
