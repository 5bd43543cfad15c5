package api

// CommandRequest is a command to a run.
type CommandRequest struct {
	Reason string `json:"reason,omitempty" doc:"Why, for the run's history."`
}

// BulkRequest is a command to several runs: to those that are named, or to those that a filter chooses.
type BulkRequest struct {
	Runs   []string `json:"runs,omitempty" nullable:"false" maxItems:"1000" doc:"namespace/id of each run."`
	Where  string   `json:"where,omitempty" doc:"A filter: at most 1000 of the runs that it chooses get the command, the newest first." example:"workflow=demo/order status=waiting"`
	Reason string   `json:"reason,omitempty" doc:"Why, for the runs' histories."`
	DryRun bool     `json:"dryRun,omitempty" doc:"Nothing is changed: only what would become of it now is answered."`
}

// Outcomes says what became of a command to several runs.
type Outcomes struct {
	Outcomes []Outcome `json:"outcomes" nullable:"false"`
	More     bool      `json:"more" doc:"The filter chooses more runs, which got nothing: send the request again."`
}

// Outcome says what became of a command to one of them.
type Outcome struct {
	Run     string   `json:"run"`
	Outcome string   `json:"outcome" enum:"accepted,refused"`
	Problem *Problem `json:"problem,omitempty" doc:"Why it was refused."`
}

// The values of Outcome.Outcome.
const (
	OutcomeAccepted = "accepted"
	OutcomeRefused  = "refused"
)
