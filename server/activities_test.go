package server_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/describe"
)

// start starts a run of a document with some tasks.
func (d *deployment) start(t *testing.T, tasks string) *swrun.Run {
	t.Helper()
	document, err := swrun.Parse("", []byte("document: {dsl: 1.0.3, namespace: demo, name: a, version: 1.0.0}\n"+tasks))
	if err != nil {
		t.Fatal(err)
	}
	run, err := d.engine.StartDocument(t.Context(), document, map[string]any{"n": 7}, swrun.StartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// polled takes the available activities.
func (d *deployment) polled(t *testing.T, request string) []api.Activity {
	t.Helper()
	a := d.ask(t, "POST", "/v1/activities/poll", request)
	var found api.Activities
	if err := json.Unmarshal([]byte(a.body), &found); err != nil || a.StatusCode != 200 {
		t.Fatalf("%s: %s", a.Status, a.body)
	}
	return found.Activities
}

// TestActivities: a worker takes the activities that it polls for, reports them, and is refused if its report is late (promises 128, 131, 217).
func TestActivities(t *testing.T) {
	d := mustDeployment(t)
	run := d.start(t, `do: [{work: {call: 'activity:1.0.0@default', with: {type: resize, queue: images, timeouts: {startToClose: PT1H, heartbeat: PT1M}, retry: {backoff: [PT0S]}}}}]`)
	all := d.polled(t, `{"queues": ["images", "others"], "limit": 10, "wait": "20s", "worker": "tester"}`)
	if len(all) != 1 {
		t.Fatalf("polled %v", all)
	}
	a := all[0]
	if got := fmt.Sprint(a.Type, a.Queue, a.Attempt, a.Input, a.Run.ID == run.Instance.ID, a.Pointer, a.IdempotencyKey != ""); got != "resizeimages1 map[n:7] true/do/0/worktrue" {
		t.Errorf("polled %s", got)
	}
	for _, at := range []string{a.Deadlines.StartToClose, a.Deadlines.Heartbeat} {
		if when, err := time.Parse(time.RFC3339, at); err != nil || time.Until(when) > time.Hour {
			t.Errorf("a deadline is %q", at)
		}
	}
	if heard := d.ask(t, "POST", "/v1/activities/heartbeat", `{"token": "`+a.Token+`", "progress": {"done": 0.5}}`); heard.body != `{"cancelRequested":false}`+"\n" {
		t.Errorf("a heartbeat is answered %s: %s", heard.Status, heard.body)
	}
	failed := d.ask(t, "POST", "/v1/activities/fail", `{"token": "`+a.Token+`", "type": "https://example.com/errors/busy", "detail": "later", "status": 503}`)
	if failed.StatusCode != 204 {
		t.Errorf("a failure is answered %s: %s", failed.Status, failed.body)
	}
	again := d.polled(t, `{"queues": ["images"], "wait": 20}`)
	if len(again) != 1 || again[0].Attempt != 2 || again[0].IdempotencyKey != a.IdempotencyKey || fmt.Sprint(again[0].Progress) != "map[done:0.5]" {
		t.Fatalf("polled %+v", again)
	}
	late := d.ask(t, "POST", "/v1/activities/complete", `{"token": "`+a.Token+`", "result": 1}`).isProblem(t, 409, "attempt-superseded")
	if !strings.Contains(late.Detail, "another attempt has replaced this one") || !strings.Contains(late.Help, "may count all the same") {
		t.Errorf("a late report is told %+v", late)
	}
	for range 2 { // a repeated report changes nothing
		if done := d.ask(t, "POST", "/v1/activities/complete", `{"token": "`+again[0].Token+`", "result": {"ok": true}}`); done.StatusCode != 204 {
			t.Errorf("a result is answered %s: %s", done.Status, done.body)
		}
	}
	if result, err := run.Await(t.Context()); err != nil || fmt.Sprint(result.Output) != "map[ok:true]" {
		t.Errorf("the run ends with %v, %v", result.Output, err)
	}
	d.tellsWhichAttemptCounts(t, "/v1/runs/demo/"+a.Run.ID+"/history")
}

// tellsWhichAttemptCounts checks the history of an activity whose first attempt failed and was reported again later (promises 214).
func (d *deployment) tellsWhichAttemptCounts(t *testing.T, history string) {
	t.Helper()
	all := mustRead[api.History](t, d.ask(t, "GET", history, ""), 200)
	got := ""
	for _, r := range all.Records {
		if strings.HasPrefix(r.Type, "effect.") || r.Type == "result.late" {
			got += strings.TrimSpace(fmt.Sprintln(r.Type, r.Pointer, r.Attempt, r.Worker)) + "\n"
		}
		if line := describe.HistoryLine(r); r.Type == "result.late" && !strings.Contains(line, "may have been done nevertheless") {
			t.Errorf("people are told %s", line)
		}
	}
	want := "effect.started /do/0/work 1\neffect.retried /do/0/work 1 tester\nresult.late /do/0/work 1 tester\neffect.finished /do/0/work 2 \n"
	if strings.ReplaceAll(got, " \n", "\n") != strings.ReplaceAll(want, " \n", "\n") {
		t.Errorf("history tells\n%s\nwant\n%s", got, want)
	}
}

// TestPromises215To218: a worker rules out another attempt in its report. Every report of such a failure shows this, and no other report does.
func TestPromises215To218(t *testing.T) {
	d := mustDeployment(t)
	for body, want := range map[string]bool{`, "nonRetryable": true`: true, `, "nonRetryable": false`: false, ``: false} {
		run := d.start(t, `do: [{work: {call: 'activity:1.0.0@default', with: {type: x, retry: {maxAttempts: 2, backoff: [PT0S]}}}}]`)
		location := "/v1/runs/demo/" + run.Instance.ID
		attempts := 0
		for ended := false; !ended; attempts++ {
			a := d.polled(t, `{"queues": ["default"], "wait": "20s"}`)[0]
			d.ask(t, "POST", "/v1/activities/fail", `{"token": "`+a.Token+`", "type": "https://example.com/errors/busy", "status": 503`+body+`}`)
			ended = want || attempts == 1
		}
		d.ask(t, "GET", location+"/output?wait=30s", "").isProblem(t, 500, "run-faulted")
		if want != (attempts == 1) {
			t.Errorf("%q: %d attempts", body, attempts)
		}
		for _, report := range []string{location, location + "/output", location + "/history", location + "/export", location + "/outcome"} {
			a := d.ask(t, "GET", report, "")
			if got := strings.Contains(a.body, `"nonRetryable":true`); got != want || !strings.Contains(a.body, "errors/busy") {
				t.Errorf("%q: %s tells %t: %s", body, report, got, a.body)
			}
		}
	}
}

// TestPromise46: an activity is described with its attempts, its retry policy and all of its timeouts, for programs and for people.
func TestPromise46(t *testing.T) {
	d := mustDeployment(t)
	run := d.start(t, `do: [{work: {call: 'activity:1.0.0@default', with: {type: resize, queue: images, timeouts: {scheduleToStart: PT10M, startToClose: PT1H, scheduleToClose: PT2H, heartbeat: PT1M}, retry: {maxAttempts: 3, backoff: [PT1S, PT2S], nonRetryable: [validation]}}}}]`)
	location := "/v1/runs/demo/" + run.Instance.ID
	described := func(lines ...string) api.Description {
		t.Helper()
		told := mustRead[api.Description](t, d.ask(t, "GET", location, ""), 200)
		for _, line := range lines {
			if text := describe.Run(&told, ""); !regexp.MustCompile(line).MatchString(text) {
				t.Errorf("people are told\n%s\nwant %s", text, line)
			}
		}
		return told
	}
	a := d.polled(t, `{"queues": ["images"], "wait": "20s", "worker": "ada"}`)[0]
	d.ask(t, "POST", "/v1/activities/heartbeat", `{"token": "`+a.Token+`", "progress": {"done": 0.5}}`)
	activity := described(
		`(?m)^Activities:$`,
		`/do/0/work +resize +images +1 of 3 +ada +[^ ]+ ago +{"done":0.5} +schedule_to_start=10m start_to_close=1h schedule_to_close=2h heartbeat=1m +heartbeat at 20.*Z: next attempt +after 1s, 2s; not after `+errors.Validation,
	).Open[0].Activity
	if got := fmt.Sprint(*activity.Timeouts.ScheduleToStartSeconds, *activity.Timeouts.StartToCloseSeconds, *activity.Timeouts.ScheduleToCloseSeconds, *activity.Timeouts.HeartbeatSeconds,
		activity.Retry.MaxAttempts, activity.Retry.DelaysSeconds, activity.Retry.NonRetryable, len(activity.Deadlines), activity.Progress); got != "600 3600 7200 60 3 [1 2] ["+errors.Validation+"] 3 map[done:0.5]" {
		t.Errorf("programs are told %s", got)
	}
	d.ask(t, "POST", "/v1/activities/fail", `{"token": "`+a.Token+`", "type": "https://example.com/errors/busy"}`)
	again := described(`/do/0/work +resize +images +2 of 3 +- .* schedule_to_start at .*Z: next attempt`, `(?m)^Failures:$`, `/do/0/work +application +task +retried +https://example.com/errors/busy`)
	if len(again.Failures) != 1 || again.Failures[0].Outcome != "retried" || again.Attention != "retrying" {
		t.Errorf("failures are %+v, the attention %q", again.Failures, again.Attention)
	}
}

// TestReportsTogether: each report of a batch is answered like a single report. Numbers keep their digits.
func TestReportsTogether(t *testing.T) {
	d := mustDeployment(t)
	run := d.start(t, "do: [{f: {fork: {branches: [{a: {call: 'activity:1.0.0@default', with: {type: x}}}, {b: {call: 'activity:1.0.0@default', with: {type: x, retry: {maxAttempts: 1}}}}]}}}]")
	all := d.polled(t, `{"queues": ["default"], "limit": 2, "wait": "20s"}`)
	for len(all) < 2 {
		all = append(all, d.polled(t, `{"queues": ["default"], "limit": 2, "wait": "20s"}`)...)
	}
	const digits = "12345678901234567890"
	body := fmt.Sprintf(`{"completed": [{"token": %q, "result": %s}, {"token": "YS9iIDEgbg"}, {"token": "nonsense"}], "failed": [{"token": "YS9iIDEgbg", "type": "runtime"}]}`, all[0].Token, digits)
	answer := d.ask(t, "POST", "/v1/activities/report", body)
	var got api.ActivityReportsReply
	if err := json.Unmarshal([]byte(answer.body), &got); err != nil || answer.StatusCode != 200 || len(got.Completed) != 3 || len(got.Failed) != 1 {
		t.Fatalf("answered %s: %s", answer.Status, answer.body)
	}
	if got.Completed[0].Status != 204 || got.Completed[1].Status != 409 || !strings.HasSuffix(got.Completed[1].Problem.Type, "/attempt-superseded") || got.Completed[2].Status != 422 || got.Failed[0].Status != 409 {
		t.Errorf("answered %s", answer.body)
	}
	if done := d.ask(t, "POST", "/v1/activities/complete", fmt.Sprintf(`{"token": %q, "result": %s}`, all[1].Token, digits)); done.StatusCode != 204 {
		t.Errorf("answered %s: %s", done.Status, done.body)
	}
	result, err := run.Await(t.Context())
	if got := fmt.Sprint(result.Output); err != nil || got != "["+digits+" "+digits+"]" {
		t.Errorf("the run ends with %v, %v", got, err)
	}
	for _, hostile := range []string{`{"completed": [null]}`, `{"completed": {}}`, `{"failed": [{"token": ""}]}`, `{"completed": [{"result": 1}]}`, `{"reports": []}`} {
		d.ask(t, "POST", "/v1/activities/report", hostile).isProblem(t, 422, "invalid-request")
	}
	if nothing := d.ask(t, "POST", "/v1/activities/report", `{}`); nothing.body != `{"completed":[],"failed":[]}`+"\n" {
		t.Errorf("no report is answered %s", nothing.body)
	}
}

// TestActivityOfACancelledRun: the answer to the next heartbeat reports the cancellation to the worker.
func TestActivityOfACancelledRun(t *testing.T) {
	d := mustDeployment(t)
	run := d.start(t, `do: [{work: {call: 'activity:1.0.0@default', with: {type: x}}}]`)
	a := d.polled(t, `{"queues": ["default"], "wait": "20s"}`)[0]
	if err := run.Cancel(t.Context(), "enough"); err != nil {
		t.Fatal(err)
	}
	if _, err := run.Await(t.Context()); err == nil {
		t.Error("the run goes on")
	}
	if heard := d.ask(t, "POST", "/v1/activities/heartbeat", `{"token": "`+a.Token+`"}`); heard.body != `{"cancelRequested":true}`+"\n" {
		t.Errorf("a heartbeat is answered %s: %s", heard.Status, heard.body)
	}
	d.ask(t, "POST", "/v1/activities/fail", `{"token": "`+a.Token+`"}`).isProblem(t, 409, "attempt-superseded")
}

// TestActivityIsReturned: another worker may take a returned activity, and the attempt stays the same (promises 34).
func TestActivityIsReturned(t *testing.T) {
	d := mustDeployment(t)
	d.start(t, `do: [{work: {call: 'activity:1.0.0@default', with: {type: x}}}]`)
	a := d.polled(t, `{"queues": ["default"], "wait": "20s"}`)[0]
	if returned := d.ask(t, "POST", "/v1/activities/return", `{"token": "`+a.Token+`"}`); returned.StatusCode != 204 {
		t.Errorf("answered %s: %s", returned.Status, returned.body)
	}
	again := d.polled(t, `{"queues": ["default"], "wait": "20s"}`)
	if len(again) != 1 || again[0].Attempt != 1 || again[0].Token == a.Token {
		t.Errorf("polled %+v", again)
	}
}

// TestPollsAreEnded: the polls of a stopping worker are answered immediately, and no other polls.
func TestPollsAreEnded(t *testing.T) {
	d := mustDeployment(t)
	poll := func(worker string) <-chan []api.Activity {
		answered := make(chan []api.Activity, 1)
		go func() {
			answered <- d.polled(t, `{"queues": ["default"], "wait": "2m", "worker": "`+worker+`"}`)
		}()
		return answered
	}
	stops, stays := poll("stops"), poll("stays")
	for ended := false; !ended; { // the poll may not have arrived yet
		if a := d.ask(t, "POST", "/v1/activities/stop", `{"worker": "stops"}`); a.StatusCode != 204 {
			t.Fatalf("answered %s: %s", a.Status, a.body)
		}
		select {
		case got := <-stops:
			ended = true
			if len(got) != 0 {
				t.Errorf("it got %v", got)
			}
		case <-time.After(time.Millisecond):
		}
	}
	d.start(t, `do: [{work: {call: 'activity:1.0.0@default', with: {type: x}}}]`)
	if got := <-stays; len(got) != 1 {
		t.Errorf("the other worker got %v", got)
	}
}

// TestHostileWorkers: every wrong request of a worker is answered with its mistake.
func TestHostileWorkers(t *testing.T) {
	d := mustDeployment(t)
	for name, c := range map[string]struct{ path, body string }{
		"no queues":              {"poll", `{}`},
		"an empty list":          {"poll", `{"queues": []}`},
		"null":                   {"poll", `{"queues": null}`},
		"a queue that is none":   {"poll", `{"queues": ["a b"]}`},
		"an empty queue":         {"poll", `{"queues": [""]}`},
		"a queue of many":        {"poll", `{"queues": ["` + strings.Repeat("a", 1000) + `"]}`},
		"a limit of none":        {"poll", `{"queues": ["a"], "limit": -1}`},
		"a limit without bounds": {"poll", `{"queues": ["a"], "limit": 1000000000}`},
		"a wait without end":     {"poll", `{"queues": ["a"], "wait": "1000h"}`},
		"a limit of a float":     {"poll", `{"queues": ["a"], "limit": 1e0}`},
		"a blank worker":         {"poll", `{"queues": ["a"], "worker": " "}`},
		"an empty namespace":     {"poll", `{"queues": ["a"], "namespace": ""}`},
		"a type of words":        {"fail", `{"token": "YS9iIDEgbg", "type": "out of stock"}`},
		"a wait of words":        {"poll", `{"queues": ["a"], "wait": "long"}`},
		"an odd worker":          {"poll", `{"queues": ["a"], "worker": "a\u0000b"}`},
		"an unknown member":      {"poll", `{"queues": ["a"], "nonsense": 1}`},
		"no token":               {"complete", `{"result": 1}`},
		"an empty token":         {"complete", `{"token": ""}`},
		"a token of others":      {"complete", `{"token": "YS9iIDEgbg!"}`},
		"a long token":           {"heartbeat", `{"token": "` + strings.Repeat("a", 100_000) + `"}`},
		"a stop of nobody":       {"stop", `{"worker": ""}`},
		"a status that is none":  {"fail", `{"token": "YS9iIDEgbg", "status": 7}`},
		"a type that is no text": {"fail", `{"token": "YS9iIDEgbg", "type": 7}`},
	} {
		t.Run(name, func(t *testing.T) {
			p := d.ask(t, "POST", "/v1/activities/"+c.path, c.body).isProblem(t, 422, "invalid-request")
			if strings.Contains(p.Detail, "Go ") {
				t.Errorf("it is told in words of Go: %s", p.Detail)
			}
		})
	}
	d.ask(t, "POST", "/v1/activities/heartbeat", `{"token": "YS9iIDEgbg", "progress": "`+strings.Repeat("a", 70_000)+`"}`).isProblem(t, 413, "too-large")
	d.ask(t, "POST", "/v1/activities/complete", `{"token": "YS9iIDEgbg"}`).isProblem(t, 409, "attempt-superseded") // a/b 1 n
}

// TestAttemptsAreInTheHistory: the history of a run contains each attempt at an activity: its schedule, its worker and start, the delay of the next
// attempt, and each late report, even after the end of the run (promises 208, 209, 213, 216, 225, 235).
func TestAttemptsAreInTheHistory(t *testing.T) {
	d := mustDeployment(t)
	run := d.start(t, `do: [{work: {call: 'activity:1.0.0@default', with: {type: resize, timeouts: {startToClose: PT1H}, retry: {maxAttempts: 2, backoff: [PT0.2S]}}}}]`)
	location := "/v1/runs/demo/" + run.Instance.ID
	first := d.polled(t, `{"queues": ["default"], "wait": "20s", "worker": "ada"}`)[0]
	d.ask(t, "POST", "/v1/activities/fail", `{"token": "`+first.Token+`", "type": "https://example.com/errors/busy", "status": 503}`)
	second := d.polled(t, `{"queues": ["default"], "wait": "20s", "worker": "bob the builder"}`)[0]
	d.ask(t, "POST", "/v1/activities/complete", `{"token": "`+first.Token+`", "result": 1}`).isProblem(t, 409, "attempt-superseded")
	d.ask(t, "POST", "/v1/activities/fail", `{"token": "`+second.Token+`", "type": "https://example.com/errors/busy", "status": 503, "nonRetryable": true}`)
	d.ask(t, "GET", location+"/output?wait=30s", "").isProblem(t, 500, "run-faulted")
	for range 2 { // once for each attempt and kind of report
		d.ask(t, "POST", "/v1/activities/complete", `{"token": "`+second.Token+`", "result": 1}`).isProblem(t, 409, "attempt-superseded")
	}
	var told []string
	for _, r := range mustRead[api.History](t, d.ask(t, "GET", location+"/history", ""), 200).Records {
		if !strings.HasPrefix(r.Type, "effect.") && r.Type != "result.late" {
			continue
		}
		line := fmt.Sprint(r.Type, " ", r.Attempt, " ", r.Worker, " taken ", r.StartedAt != "", " ", r.Report)
		if r.DelaySeconds != nil {
			line += fmt.Sprint(" delay ", *r.DelaySeconds)
		}
		if r.Activity != nil {
			line += fmt.Sprint(r.Activity.Type, *r.Activity.Timeouts.StartToCloseSeconds, r.Activity.Retry.MaxAttempts, r.Activity.Retry.DelaysSeconds)
		}
		told = append(told, line)
		if text := describe.HistoryLine(r); r.Type == "effect.finished" && !strings.Contains(text, "non-retryable") {
			t.Errorf("people are told %s", text)
		}
	}
	want := []string{
		"effect.started 1  taken false resize3600 2 [0.2]", "effect.retried 1 ada taken true  delay 0.2", "result.late 1 ada taken false completed",
		"effect.finished 2 bob the builder taken true ", "result.late 2 bob the builder taken false completed",
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("the history (-want +got):\n%s", diff)
	}
	record := mustRead[api.TaskRecord](t, d.ask(t, "GET", location+"/tasks/2", ""), 200)
	if record.Attempts != 2 {
		t.Errorf("the task has %d attempts", record.Attempts)
	}
}

// TestActivitiesOfSuspendedRuns: no poll gets an activity of a suspended run. A poll that waits during the resumption gets the activity immediately.
// A worker that holds an activity of the run continues with it (promises 236).
func TestActivitiesOfSuspendedRuns(t *testing.T) {
	d := mustDeployment(t)
	work := func(queue string) *swrun.Run {
		return d.start(t, "do: [{work: {call: 'activity:1.0.0@default', with: {type: resize, queue: "+queue+"}}}]")
	}
	waits, taken := work("images"), work("texts")
	held := d.polled(t, `{"queues": ["texts"], "wait": "20s"}`)
	if len(held) != 1 {
		t.Fatalf("polled %+v", held)
	}
	for _, run := range []*swrun.Run{waits, taken} {
		d.until(t, run.Instance.ID, func(d api.Description) bool { return len(d.Open) == 1 && d.Open[0].Activity != nil })
		d.ask(t, "POST", "/v1/runs/demo/"+run.Instance.ID+"/suspend", `{"reason": "lunch"}`)
		d.until(t, run.Instance.ID, func(d api.Description) bool { return d.Suspended })
	}
	if heard := d.ask(t, "POST", "/v1/activities/heartbeat", `{"token": "`+held[0].Token+`"}`); heard.body != `{"cancelRequested":false}`+"\n" {
		t.Errorf("a heartbeat is answered %s: %s", heard.Status, heard.body)
	}
	if done := d.ask(t, "POST", "/v1/activities/complete", `{"token": "`+held[0].Token+`", "result": {"ok": true}}`); done.StatusCode != 204 {
		t.Errorf("a result is answered %s: %s", done.Status, done.body)
	}
	if all := d.polled(t, `{"queues": ["images"], "wait": 0}`); len(all) > 0 {
		t.Errorf("polled %+v of a suspended run", all)
	}
	polled := make(chan []api.Activity, 1)
	go func() { polled <- d.polled(t, `{"queues": ["images"], "wait": "60s"}`) }()
	for _, run := range []*swrun.Run{waits, taken} {
		d.ask(t, "POST", "/v1/runs/demo/"+run.Instance.ID+"/resume", "")
	}
	all := <-polled
	if len(all) != 1 || all[0].Attempt != 1 {
		t.Fatalf("polled %+v after the resume", all)
	}
	d.ask(t, "POST", "/v1/activities/complete", `{"token": "`+all[0].Token+`", "result": {"ok": true}}`)
	for _, run := range []*swrun.Run{waits, taken} {
		if r, err := run.Await(t.Context()); err != nil || fmt.Sprint(r.Output) != "map[ok:true]" {
			t.Errorf("it ended with %+v, %v", r, err)
		}
	}
}
