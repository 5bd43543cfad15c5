package api

import (
	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/runtime/client"
)

// ForkRequest specifies a fork of a run.
type ForkRequest struct {
	ID               string `json:"id,omitempty" minLength:"1" doc:"The id of the fork (default: an id that begins with the id of the run)."`
	From             string `json:"from,omitempty" minLength:"1" doc:"The pointer of the task at which the fork continues (default: the task at which the run failed)."`
	Version          string `json:"version,omitempty" minLength:"1" doc:"A version of the workflow, or latest; the definition of the run unless set."`
	Input            *any   `json:"input,omitempty" doc:"The input of the task (default: its recorded input)."`
	Context          *any   `json:"context,omitempty" doc:"The $context of the task (default: its recorded $context)."`
	ExecutionTimeout Span   `json:"executionTimeout,omitzero" doc:"How long the fork may take, in the place of the time that the run had left; null for all the time."`
	Deadline         string `json:"deadline,omitempty" format:"date-time" doc:"When the fork ends at the latest, in the place of the time that the run had left."`
	NoDeadline       bool   `json:"noDeadline,omitempty" doc:"The fork has all the time."`
	Again            bool   `json:"again,omitempty" doc:"Fork the run although another run already continues it, or has continued it. Calls are repeated with new idempotency keys."`
	DryRun           bool   `json:"dryRun,omitempty" doc:"Nothing is started: only the fork that would be is answered, with the calls that would be made again."`
}

// BulkFork forks several runs.
type BulkFork struct {
	BulkRequest
	From             string `json:"from,omitempty" minLength:"1" doc:"The pointer of the task at which the forks continue (default: the task at which each run failed)."`
	Version          string `json:"version,omitempty" minLength:"1" doc:"A version of the workflow, or latest; the definitions of the runs unless set."`
	ExecutionTimeout Span   `json:"executionTimeout,omitzero" doc:"How long each fork may take, in the place of the time that the run had left; null for all the time."`
	Deadline         string `json:"deadline,omitempty" format:"date-time" doc:"When the forks end at the latest, in the place of the time that the runs had left."`
	NoDeadline       bool   `json:"noDeadline,omitempty" doc:"The forks have all the time."`
	Again            bool   `json:"again,omitempty" doc:"Include runs that another run already continues, or has continued. Calls are repeated with new idempotency keys."`
}

// Request returns the request for each of the runs.
func (b BulkFork) Request() ForkRequest {
	return ForkRequest{
		From: b.From, Version: b.Version, ExecutionTimeout: b.ExecutionTimeout, Deadline: b.Deadline, NoDeadline: b.NoDeadline, Again: b.Again, DryRun: b.DryRun,
	}
}

// Options returns the options of the client.
func (r ForkRequest) Options() (client.ForkOptions, error) {
	o := client.ForkOptions{ID: r.ID, From: dsl.Pointer(r.From), Version: r.Version, Input: r.Input, Context: r.Context, Again: r.Again, Dry: r.DryRun, NoDeadline: r.NoDeadline || r.ExecutionTimeout.None}
	if t := r.ExecutionTimeout; t.Given && !t.None {
		if err := client.CheckTimeout("executionTimeout", t.Duration); err != nil {
			return o, err
		}
		o.ExecutionTimeout = t.Duration
	}
	if r.Deadline == "" {
		return o, nil
	}
	var err error
	if o.Deadline, err = client.ParseTime(r.Deadline); err != nil {
		return o, client.NewOptionError("deadline", err)
	}
	return o, nil
}

// Forked is a run that was forked from another one.
type Forked struct {
	Started
	ForkedFrom string     `json:"forkedFrom"`
	Task       string     `json:"task,omitempty"` // the occurrence from which it continues; absent for the start
	Repeats    []Repeated `json:"repeats,omitempty"`
	DryRun     bool       `json:"dryRun,omitempty"` // nothing was started
}

// Repeated is an effect that the fork performs again.
type Repeated struct {
	Kind     string `json:"kind"`
	Pointer  string `json:"pointer"`
	Path     string `json:"path,omitempty"` // if it differs from Pointer
	Outcome  string `json:"outcome"`        // in the earlier run: succeeded, failed, or unknown
	Attempts int    `json:"attempts" doc:"How many attempts the run before made at it, as far as that is known."`
	Called   string `json:"called,omitempty" data:"hide" doc:"The method and address of its request, or its image, without user and query. A failed attempt shows the address that it called, otherwise the address is that of the document."`
	SameKey  bool   `json:"sameKey" doc:"It has the idempotency key that it had."`
	Run      string `json:"run,omitempty" doc:"The child whose effect it is, as namespace/id: a child that is started again begins at its start. Absent for an effect of the run itself."`
}

// NewForked returns the JSON of a fork of a run; dry is true if it was not started.
func NewForked(from string, f client.Forked, dry bool) Forked {
	forked := Forked{Started: NewStarted(f.Instance), ForkedFrom: from, Task: string(f.Task), DryRun: dry}
	for _, r := range f.Repeats {
		repeated := Repeated{Kind: string(r.Kind), Pointer: string(r.Pointer), Outcome: r.Outcome, Attempts: r.Attempts, SameKey: r.SameKey, Called: r.Called}
		if string(r.Path) != repeated.Pointer {
			repeated.Path = string(r.Path)
		}
		if r.In.ID != "" {
			repeated.Run = r.In.String()
		}
		forked.Repeats = append(forked.Repeats, repeated)
	}
	return forked
}
