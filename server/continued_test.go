package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/swrun/swrun/internal/api"
)

// TestARunGoesOnOnce: a retry answers with the run that continues the work. A second retry is a problem that names this run, and a bulk retry skips
// it.
func TestARunGoesOnOnce(t *testing.T) {
	d := mustDeployment(t)
	d.mustDeploy(t, "fails", "do: [{a: {raise: {error: {type: 'https://example.com/broken', status: 500}}}}]")
	run := d.mustStart(t, "fails", "one")
	d.ask(t, "GET", run+"/output?wait=30s", "")
	dry := mustRead[api.Outcome](t, d.ask(t, "POST", run+"/retry", `{"dryRun": true}`), http.StatusAccepted)
	if dry.Fork == nil || dry.Fork.ID != "one~1" || !dry.Fork.DryRun {
		t.Errorf("a dry run answers %+v", dry)
	}
	d.ask(t, "GET", "/v1/runs/demo/one~1", "").isProblem(t, http.StatusNotFound, "not-found")
	if forked := mustRead[api.Forked](t, d.ask(t, "POST", run+"/fork", `{"dryRun": true}`), http.StatusOK); forked.ID != "one~1" || !forked.DryRun {
		t.Errorf("a dry run of a fork answers %+v", forked)
	}
	a := d.ask(t, "POST", run+"/retry", "")
	retried := mustRead[api.Outcome](t, a, http.StatusAccepted)
	if retried.Fork == nil || retried.Fork.ID != "one~1" || retried.Fork.ForkedFrom != "demo/one" || !strings.HasSuffix(a.Header.Get("Location"), "/one~1") {
		t.Errorf("a retry answers %s with the location %q", a.body, a.Header.Get("Location"))
	}
	d.ask(t, "GET", "/v1/runs/demo/one~1/output?wait=30s", "")
	for _, path := range []string{"/retry", "/fork"} {
		a := d.ask(t, "POST", run+path, `{}`)
		a.isProblem(t, http.StatusConflict, "already-continued")
		if !strings.Contains(a.body, "demo/one~1") || !strings.Contains(a.body, "retry demo/one~1 instead") {
			t.Errorf("%s: %s", path, a.body)
		}
	}
	for path, body := range map[string]string{
		"/v1/runs/retry": `{"where": "id=one"}`, "/v1/runs/fork": `{"runs": ["demo/one"]}`,
	} {
		got := mustRead[api.Outcomes](t, d.ask(t, "POST", path, body), http.StatusOK)
		if len(got.Outcomes) != 1 || got.Outcomes[0].Outcome != api.OutcomeSkipped || got.Outcomes[0].Problem == nil {
			t.Errorf("%s: %+v", path, got)
		}
	}
	for _, where := range []string{"forked=yes", "attention=failed forked-from=one"} {
		if got := mustRead[api.Count](t, d.ask(t, "GET", "/v1/runs/count?where="+strings.ReplaceAll(where, " ", "%20"), ""), http.StatusOK); got.Count != 1 {
			t.Errorf("%s: %+v", where, got)
		}
	}
	if again := mustRead[api.Outcome](t, d.ask(t, "POST", run+"/retry", `{"again": true}`), http.StatusAccepted); again.Fork == nil || again.Fork.ID != "one~2" {
		t.Errorf("asked for again: %+v", again)
	}
	d.mustDeploy(t, "wait", waits)
	d.mustStart(t, "wait", "long")
	d.ask(t, "POST", "/v1/runs/demo/long/retry", "").isProblem(t, http.StatusConflict, "conflict")
	got := mustRead[api.Outcomes](t, d.ask(t, "POST", "/v1/runs/deadline", `{"runs": ["demo/one"], "deadline": "+1h"}`), http.StatusOK)
	if len(got.Outcomes) != 1 || got.Outcomes[0].Outcome != api.OutcomeRefused {
		t.Errorf("a deadline of a run that has ended: %+v", got)
	}
	d.ask(t, "POST", "/v1/runs/deadline", `{"runs": ["demo/one"], "deadline": "soon"}`).isProblem(t, http.StatusUnprocessableEntity, "invalid-request")
}
