package api

import (
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// SoftDeadline is the time from which a scope in progress counts as late.
type SoftDeadline struct {
	Pointer     string  `json:"pointer,omitempty"` // of the scope; absent for the workflow
	File        string  `json:"file,omitempty"`    // file of the scope; absent for the workflow
	Line        int     `json:"line,omitempty"`
	At          string  `json:"at"`
	LeftSeconds float64 `json:"leftSeconds"`
	Late        bool    `json:"late"`                // it has passed
	OnceBegun   bool    `json:"onceBegun,omitempty"` // it counts from the start of the run, which is still to come: at is correct if the run starts as early as possible
	EndsAt      string  `json:"endsAt,omitempty"`    // the first deadline that ends the scope; absent if none does
	Held        bool    `json:"held,omitempty"`      // the run is quarantined: the scope ends once the run is released
}

// Left returns the time that is left; it is negative for a soft deadline in the past.
func (d SoftDeadline) Left() time.Duration { return fromSeconds(d.LeftSeconds) }

// newSoftDeadlines returns the JSON of the soft deadlines of a run. A soft deadline that has just passed is late, even before a worker records that.
func newSoftDeadlines(d *client.Description) (all []SoftDeadline) {
	for _, in := range d.Soft {
		soft := SoftDeadline{Pointer: string(in.Pointer), At: Time(in.At), LeftSeconds: in.At.Sub(d.At).Seconds(), Late: in.Late || !in.At.After(d.At), OnceBegun: d.CountsOnceBegun()}
		if !in.End.At.IsZero() {
			soft.EndsAt, soft.Held = Time(in.End.At), d.Status == store.Quarantined && !in.End.EndsRun
		}
		if in.Pointer != "" {
			source := d.Program.Source(in.Origin)
			soft.File, soft.Line = source.File, source.Key(in.Origin).Start.Line
		}
		all = append(all, soft)
	}
	return all
}

// DeadlineChange specifies a change of the deadline of a scope in progress.
type DeadlineChange struct {
	Deadline string `json:"deadline" doc:"+10m for ten minutes later than it is, -10m for earlier, a time such as 2026-12-24T18:00:00Z, or none." example:"2099-12-24T18:00:00Z"`
	Task     string `json:"task,omitempty" minLength:"1" doc:"The pointer of a task in progress; without it the whole execution is meant."`
	Run      bool   `json:"run,omitempty" doc:"The deadline of the run, and not of the execution."`
	Reason   string `json:"reason,omitempty" doc:"Why, for the history of the run."`
	DryRun   bool   `json:"dryRun,omitempty" doc:"Change nothing. The answer shows the deadline that the command would set."`
}

// BulkDeadline changes the deadlines of several runs.
type BulkDeadline struct {
	BulkRequest
	Deadline string `json:"deadline" doc:"+10m for ten minutes later than it is, -10m for earlier, a time such as 2026-12-24T18:00:00Z, or none." example:"+10m"`
	Task     string `json:"task,omitempty" minLength:"1" doc:"The pointer of a task in progress; without it the whole execution is meant."`
	Run      bool   `json:"run,omitempty" doc:"The deadline of the run, and not of the execution."`
}

// Request returns the request for each of the runs.
func (b BulkDeadline) Request() DeadlineChange {
	return DeadlineChange{Deadline: b.Deadline, Task: b.Task, Run: b.Run, Reason: b.Reason, DryRun: b.DryRun}
}

// Parse returns the change for the client.
func (c DeadlineChange) Parse() (client.DeadlineChange, error) {
	change, err := client.ParseDeadline(c.Deadline)
	change.Task, change.Run, change.Reason, change.Dry = dsl.Pointer(c.Task), c.Run, c.Reason, c.DryRun
	return change, err
}

// MovedDeadline is a changed deadline.
type MovedDeadline struct {
	Started
	Task          string `json:"task,omitempty"`
	DeadlineAt    string `json:"deadlineAt,omitempty"`    // absent if the deadline was removed
	DeadlineWasAt string `json:"deadlineWasAt,omitempty"` // absent if there was none
}

// NewMovedDeadline returns the JSON of a changed deadline.
func NewMovedDeadline(i store.Instance, task string, moved client.MovedDeadline) MovedDeadline {
	return MovedDeadline{NewStarted(i), task, Time(moved.At), Time(moved.Was)}
}
