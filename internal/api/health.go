package api

// SchemaHealth is the `schema` of Health.
const SchemaHealth = "swrun/v1/health"

// Health is the health of a deployment: the output of `swrun doctor`, and the answer of /v1/health.
type Health struct {
	Schema  string        `json:"schema"`
	Status  string        `json:"status" enum:"ok,warning,error" doc:"The status of the worst check. With error, the store takes no new runs, or no requests at all."`
	Checks  []HealthCheck `json:"checks" nullable:"false"`
	Version string        `json:"version" doc:"Of the swrun that looked, as in 1.2.3."`
}

// HealthCheck is one check of the health.
type HealthCheck struct {
	Code   string `json:"code" doc:"The code of the check, for swrun explain."`
	Name   string `json:"name"`
	Status string `json:"status" enum:"ok,note,warning,error"`
	Reason string `json:"reason" doc:"The finding."`
	Fix    string `json:"fix,omitempty" doc:"What to do about it."`
}
