package api

// TaskRecord is what the history of a run tells of one occurrence of a task.
type TaskRecord struct {
	Run      string         `json:"run"`
	Kind     string         `json:"kind"`
	Pointer  string         `json:"pointer"`
	Status   string         `json:"status" enum:"in progress,completed,faulted,cancelled"`
	Attempts int            `json:"attempts,omitempty" doc:"Of its effect."`
	Input    any            `json:"input" doc:"What it was given, before input.from."`
	Result   *any           `json:"result,omitempty" doc:"What its last effect has returned, before output.as."`
	Output   *any           `json:"output,omitempty" doc:"What it has passed on, after output.as."`
	Error    any            `json:"error,omitempty"`
	Records  []HistoryEvent `json:"records" nullable:"false" doc:"Its records, in their order."`
}
