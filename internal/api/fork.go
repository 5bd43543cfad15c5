package api

import (
	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/runtime/client"
)

// ForkRequest says how a run goes on that is forked from another one.
type ForkRequest struct {
	ID               string `json:"id,omitempty" minLength:"1" doc:"The id of the fork; one that begins with that of the run unless set."`
	From             string `json:"from,omitempty" minLength:"1" doc:"The pointer of the task from which it goes on; the one at which the run failed unless set."`
	Version          string `json:"version,omitempty" minLength:"1" doc:"A version of the workflow, or latest; the definition of the run unless set."`
	Input            *any   `json:"input,omitempty" doc:"The input of that task; the one that it had unless set."`
	Context          *any   `json:"context,omitempty" doc:"$context as that task sees it; what it was unless set."`
	ExecutionTimeout Span   `json:"executionTimeout,omitzero" doc:"How long the fork may take, in the place of the time that the run had left; null for all the time."`
	Deadline         string `json:"deadline,omitempty" format:"date-time" doc:"When the fork ends at the latest, in the place of the time that the run had left."`
	NoDeadline       bool   `json:"noDeadline,omitempty" doc:"The fork has all the time."`
}

// Options returns what the client takes.
func (r ForkRequest) Options() (client.ForkOptions, error) {
	o := client.ForkOptions{ID: r.ID, From: dsl.Pointer(r.From), Version: r.Version, Input: r.Input, Context: r.Context, NoDeadline: r.NoDeadline || r.ExecutionTimeout.None}
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
	Task       string     `json:"task,omitempty"` // the occurrence from which it goes on; absent for the start
	Repeats    []Repeated `json:"repeats,omitempty"`
}

// Repeated is an effect that the fork is likely to have again.
type Repeated struct {
	Kind    string `json:"kind"`
	Pointer string `json:"pointer"`
	Path    string `json:"path,omitempty"` // if it is not Pointer
	Outcome string `json:"outcome"`        // in the run before: succeeded, failed, or unknown
}

// NewForked returns the JSON of a fork of a run.
func NewForked(from string, f client.Forked) Forked {
	forked := Forked{Started: NewStarted(f.Instance), ForkedFrom: from, Task: string(f.Task)}
	for _, r := range f.Repeats {
		repeated := Repeated{Kind: string(r.Kind), Pointer: string(r.Pointer), Outcome: r.Outcome}
		if string(r.Path) != repeated.Pointer {
			repeated.Path = string(r.Path)
		}
		forked.Repeats = append(forked.Repeats, repeated)
	}
	return forked
}
