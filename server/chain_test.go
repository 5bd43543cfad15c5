package server_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/swrun/swrun/internal/api"
)

// TestOneRunOfAChain: description, outcome and output of one run of an execution that continues as new, by its number (promises 222).
func TestOneRunOfAChain(t *testing.T) {
	d := mustDeployment(t)
	d.mustDeploy(t, "chain", `timeout: {after: PT1H}
do:
- waits: {if: $runtime.metadata.runNumber == 2, listen: {to: {one: {with: {type: go}}}}}
- more: {if: $runtime.metadata.runNumber < 3, call: 'continue-as-new:1.0.0@default', with: {input: {of: $runtime.metadata.runNumber}}}
- out: {set: {done: true}}
`)
	run := d.mustStart(t, "chain", "c")
	// A request that waits for the first run is answered when the second run begins, although the second run continues.
	a := d.ask(t, "GET", run+"/output?run=1&wait=30s", "")
	a.isProblem(t, http.StatusConflict, "conflict")
	if !strings.Contains(a.body, "the run 1 of demo/c has no output: it has continued as the run 2") || !strings.Contains(a.body, "ask for the run 2") {
		t.Errorf("the output of the first run: %s", a.body)
	}
	first := mustRead[api.Description](t, d.ask(t, "GET", run+"?run=1", ""), http.StatusOK)
	if first.RunNumber != 1 || first.LatestRun != 2 || first.Status != "continued" || len(first.Deadlines) != 1 || first.ExecutionDeadlineAt != first.Deadlines[0].At || first.Output != nil {
		t.Errorf("the first run is described as %+v", first)
	}
	d.listens(t, "c")
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
	d.mustTellOneRun(t, run)
	for _, path := range []string{"", "/output", "/outcome", "/output?wait=30s", "/outcome?wait=30s", "/history", "/history?wait=30s", "/timeline.svg", "/deadlines"} {
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
	// The entity tag of one run does not match another run.
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

// mustTellOneRun requests the history, the drawing and the deadlines of each run of an execution whose second run waits.
func (d *deployment) mustTellOneRun(t *testing.T, run string) {
	t.Helper()
	records := func(query string) (seqs []int) {
		for path := run + "/history" + query; path != ""; {
			a := d.ask(t, "GET", path, "")
			for _, r := range mustRead[api.History](t, a, http.StatusOK).Records {
				seqs = append(seqs, r.Seq)
			}
			path, _, _ = strings.Cut(strings.TrimPrefix(a.Header.Get("Link"), "<"), ">")
		}
		return seqs
	}
	all, first, second := records("?run=all"), records("?run=1"), records("?run=2")
	if got := slices.Concat(first, second); len(first) == 0 || len(second) == 0 || !slices.Equal(got, all) {
		t.Errorf("the records of the runs are %v and %v, those of the execution %v", first, second, all)
	}
	for query, want := range map[string][]int{"?run=1&limit=1": first, "?run=2&limit=1": second, "?run=latest&limit=2": second, "?limit=2": all, "": all, "?run=1&limit=2&wait=30s": first} {
		if got := records(query); !slices.Equal(got, want) {
			t.Errorf("%s: the records %v, not %v", query, got, want)
		}
	}
	if h := mustRead[api.History](t, d.ask(t, "GET", run+"/history?run=1", ""), http.StatusOK); h.Later != "" {
		t.Errorf("the history of the first run goes on at %s", h.Later)
	}
	later := mustRead[api.History](t, d.ask(t, "GET", run+"/history?run=2", ""), http.StatusOK).Later
	for _, cursor := range []string{later, "0.1.1.1", "0.1.-1", "0.1.01", "0.1.3"} {
		d.ask(t, "GET", run+"/history?run=1&cursor="+cursor, "").isProblem(t, http.StatusUnprocessableEntity, "invalid-request")
	}
	for query, of := range map[string]string{"?run=1": "run 1 of 2", "?run=latest": "run 2 of 2", "?run=2": "run 2 of 2"} {
		if a := d.ask(t, "GET", run+"/timeline.svg"+query, ""); a.StatusCode != http.StatusOK || !strings.Contains(a.body, of) || strings.Contains(a.body, "/do/0/waits in progress") != (query != "?run=1") {
			t.Errorf("the drawing of %s: %d %s", query, a.StatusCode, a.body)
		}
	}
	for query, number := range map[string]string{"?run=1": "1", "?run=2": "2", "?run=latest": "2", "": "2"} {
		got := mustRead[[]api.UpcomingDeadline](t, d.ask(t, "GET", run+"/deadlines"+query, ""), http.StatusOK)
		want := mustRead[api.Description](t, d.ask(t, "GET", run+"?run="+number, ""), http.StatusOK)
		if len(got) != 1 || got[0].Run != "demo/c" || got[0].At != want.Deadlines[0].At {
			t.Errorf("the deadlines of %s: %+v", query, got)
		}
	}
}
