package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/swrun/swrun/internal/api"
)

// TestOneRunOfAChain: describe, outcome and output of one run of an execution that continues as new, by its number (promises 222).
func TestOneRunOfAChain(t *testing.T) {
	d := mustDeployment(t)
	d.mustDeploy(t, "chain", `timeout: {after: PT1H}
do:
- waits: {if: $runtime.metadata.runNumber == 2, listen: {to: {one: {with: {type: go}}}}}
- more: {if: $runtime.metadata.runNumber < 3, call: 'continue-as-new:1.0.0@default', with: {input: {of: $runtime.metadata.runNumber}}}
- out: {set: {done: true}}
`)
	run := d.mustStart(t, "chain", "c")
	// Whoever waits for the first run is answered when the second one has begun, though that goes on.
	a := d.ask(t, "GET", run+"/output?run=1&wait=30s", "")
	a.isProblem(t, http.StatusConflict, "conflict")
	if !strings.Contains(a.body, "the run 1 of demo/c has no output: it has continued as the run 2") || !strings.Contains(a.body, "ask for the run 2") {
		t.Errorf("the output of the first run: %s", a.body)
	}
	first := mustRead[api.Description](t, d.ask(t, "GET", run+"?run=1", ""), http.StatusOK)
	if first.RunNumber != 1 || first.LatestRun != 2 || first.Status != "continued" || len(first.Deadlines) != 1 || first.ExecutionDeadlineAt != first.Deadlines[0].At || first.Output != nil {
		t.Errorf("the first run is described as %+v", first)
	}
	now := d.ask(t, "GET", run, "")
	for _, query := range []string{"?run=2", "?run=latest", ""} {
		if got := mustRead[api.Description](t, d.ask(t, "GET", run+query, ""), http.StatusOK); got.RunNumber != 2 || got.Status != "waiting" {
			t.Errorf("%s: %+v", query, got)
		}
	}
	d.ask(t, "GET", run+"/output?run=2", "").isProblem(t, http.StatusAccepted, "not-ended")
	if got := mustRead[api.RunOutcome](t, d.ask(t, "GET", run+"/outcome?run=1", ""), http.StatusOK); !got.Ended || got.NextRun != 2 || got.Status != "continued" {
		t.Errorf("the outcome of the first run: %+v", got)
	}
	for _, path := range []string{"", "/output", "/outcome", "/output?wait=30s", "/outcome?wait=30s"} {
		for number, code := range map[string]int{"3": 404, "99999999999999999999": 422, "0": 422, "-1": 422, "01": 422, "first": 422, "": 422, "1e1": 422, "%201": 422} {
			separator := "?"
			if strings.Contains(path, "?") {
				separator = "&"
			}
			a := d.ask(t, "GET", run+path+separator+"run="+number, "")
			if name := map[int]string{404: "not-found", 422: "invalid-request"}[code]; a.StatusCode != code || !strings.Contains(a.body, name) {
				t.Errorf("%s, run %s: %d %s", path, number, a.StatusCode, a.body)
			}
		}
	}
	if a := d.ask(t, "GET", run+"?run=3", ""); !strings.Contains(a.body, "has no run 3: its runs are 1 to 2") {
		t.Errorf("the third run: %s", a.body)
	}
	// What was described of one run is not what a caller has of another one.
	etag := now.Header.Get("ETag")
	if a := d.ask(t, "GET", run+"?run=1", "", "If-None-Match", etag); a.StatusCode != http.StatusOK {
		t.Errorf("with the tag of the latest run, the first one answers %d", a.StatusCode)
	}
	d.ask(t, "POST", "/v1/events", `{"specversion": "1.0", "id": "1", "source": "s", "type": "go"}`)
	if a := d.ask(t, "GET", run+"/output?run=3&wait=30s", ""); a.StatusCode != http.StatusOK && a.StatusCode != http.StatusNotFound {
		t.Errorf("the third run: %d %s", a.StatusCode, a.body)
	}
	d.ask(t, "GET", run+"/output?run=2&wait=30s", "").isProblem(t, http.StatusConflict, "conflict")
	if a := d.ask(t, "GET", run+"/output?wait=30s", ""); a.StatusCode != http.StatusOK || !strings.Contains(a.body, "done") {
		t.Errorf("the output of the execution: %d %s", a.StatusCode, a.body)
	}
}
