package api

import "github.com/swrun/swrun/runtime/client"

// CommandRequest is a command to a run.
type CommandRequest struct {
	Reason string `json:"reason,omitempty" doc:"Why, for the run's history."`
}

// reason returns the reason of a command whose body may be left out.
func (r *CommandRequest) reason() string {
	if r == nil {
		return ""
	}
	return r.Reason
}

// RetryRequest continues a run that is quarantined or faulted.
type RetryRequest struct {
	Reason  string `json:"reason,omitempty" doc:"Why, for the history of a run that is quarantined."`
	Version string `json:"version,omitempty" minLength:"1" doc:"A version of the workflow, or latest, for a run that has failed; the definition of the run unless set."`
	Again   bool   `json:"again,omitempty" doc:"Continue the run although another run already continues it, or has continued it. Calls are repeated with new idempotency keys."`
	DryRun  bool   `json:"dryRun,omitempty" doc:"Change nothing. The answer shows the result that the command would have now, and the calls that it would repeat."`
}

// Options returns the options of the client.
func (r RetryRequest) Options() client.RetryOptions {
	return client.RetryOptions{Reason: r.Reason, Version: r.Version, Again: r.Again, Dry: r.DryRun}
}

// BulkRetry continues several runs that are quarantined or faulted.
type BulkRetry struct {
	BulkRequest
	Version string `json:"version,omitempty" minLength:"1" doc:"A version of the workflow, or latest, for runs that have failed; their definitions unless set."`
	Again   bool   `json:"again,omitempty" doc:"Include runs that another run already continues, or has continued. Calls are repeated with new idempotency keys."`
}

// Request returns the request for each of the runs.
func (b BulkRetry) Request() RetryRequest {
	return RetryRequest{Reason: b.Reason, Version: b.Version, Again: b.Again, DryRun: b.DryRun}
}

// BulkRequest is a command to several runs: to named runs, or to the runs that a filter selects.
type BulkRequest struct {
	Runs   []string `json:"runs,omitempty" nullable:"false" maxItems:"1000" doc:"namespace/id of each run."`
	Where  string   `json:"where,omitempty" doc:"A filter: at most 1000 of the runs that it chooses get the command, the newest first." example:"workflow=demo/order status=waiting"`
	Reason string   `json:"reason,omitempty" doc:"Why, for the runs' histories."`
	DryRun bool     `json:"dryRun,omitempty" doc:"Change nothing. The answer shows the result that the command would have now."`
}

// Outcomes are the outcomes of a command to several runs.
type Outcomes struct {
	Outcomes []Outcome `json:"outcomes" nullable:"false"`
	More     bool      `json:"more" doc:"The filter chooses more runs, which got nothing: send the request again."`
	// Unreadable counts runs that may match the filter.
	Unreadable int `json:"unreadable,omitempty" doc:"The number of unreadable runs that the filter may match. They are left unchanged; swrun doctor shows the causes."`
}

// Outcome is the outcome of the command for one of the runs.
type Outcome struct {
	Run     string   `json:"run"`
	Outcome string   `json:"outcome" enum:"accepted,refused,skipped"`
	Problem *Problem `json:"problem,omitempty" doc:"Why it was refused or skipped."`
	// NoEffect has the meaning of Permission.NoEffect at the time of the command.
	NoEffect string  `json:"noEffect,omitempty" doc:"Why it changes nothing, although it was accepted."`
	Fork     *Forked `json:"fork,omitempty" doc:"The run that continues in its place, and the calls that it repeats."`
	// Deadline is the requested deadline.
	Deadline *MovedDeadline `json:"deadline,omitempty" doc:"The deadline that the run has now."`
}

// The values of Outcome.Outcome.
const (
	OutcomeAccepted = "accepted"
	OutcomeRefused  = "refused"
	OutcomeSkipped  = "skipped" // another run continues in its place, or has done so
)
