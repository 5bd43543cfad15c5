package faultreport

import "github.com/swrun/swrun/internal/api"

// Problem returns the fault as RFC 9457 JSON, with additional known data.
func (r Report) Problem() map[string]any {
	if r.Outcome.Fault == nil {
		return r.dated(map[string]any{
			"type": "about:blank", "title": "Cancelled", "status": 499, "detail": "the run was cancelled from outside", "run": r.ID, "exit": r.Exit,
		})
	}
	problem, _ := api.Error(r.Outcome.Fault).(map[string]any)
	problem["run"], problem["exit"] = r.ID, r.Exit
	problem["source"] = r.place()
	if origin, ok := r.History.origin(r.Outcome.Fault); ok {
		if a := r.History.attemptsOf(origin); a.number > 0 {
			problem["attempt"] = a.number
		}
	}
	var catches []any
	for _, c := range r.missedCatches() {
		catches = append(catches, map[string]any{"pointer": c.pointer.Instance(), "reason": c.reason})
	}
	if catches != nil {
		problem["consideredCatches"] = catches
	}
	return r.dated(problem)
}

// place returns the origin of the error. The report does not have the text of a remote function.
func (r Report) place() map[string]any {
	if _, uri, remote := r.pointer().RemoteFunction(); remote {
		return map[string]any{"file": uri}
	}
	source := r.Workflow.Source
	at := source.Key(r.pointer()).Start
	return map[string]any{"file": source.File, "line": at.Line, "column": at.Column}
}

// dated adds the end of a run that was over before the command began.
func (r Report) dated(problem map[string]any) map[string]any {
	if !r.EndedBefore.IsZero() {
		problem["endedBefore"] = api.Time(r.EndedBefore)
	}
	return problem
}
