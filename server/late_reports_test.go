package server_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/internal/access"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/describe"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/server"
)

// TestLateReportsOfEndedRuns: each report about an attempt that is over is recorded with its task, once for all repetitions, in every store, even if
// the run is over. The pointer of the task may be long (promises 213, 235).
func TestLateReportsOfEndedRuns(t *testing.T) {
	for name, url := range map[string]string{"memory": "memory:", "file": "file:" + filepath.Join(t.TempDir(), "runs.db"), "Redis": redistest.Start(t).URL()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := mustServe(t, url, func(*server.Config, *access.Tokens) {})
			tasks, pointer := "{work: {call: 'activity:1.0.0@default', with: {type: resize}}}", "/do/0/work"
			for range 15 {
				long := strings.Repeat("d", 128)
				tasks, pointer = "{"+long+": {do: ["+tasks+"]}}", "/do/0/"+long+pointer
			}
			for _, c := range []struct{ tasks, pointer string }{{tasks, pointer}, {"{l: {for: {in: '${ [1] }'}, do: [{work: {call: 'activity:1.0.0@default', with: {type: resize}}}]}}", "/do/0/l/do/0/work"}} {
				d.mustNoteLate(t, c.tasks, c.pointer)
			}
		})
	}
}

func (d *deployment) mustNoteLate(t *testing.T, tasks, pointer string) {
	t.Helper()
	run := d.start(t, "do: ["+tasks+"]")
	taken := d.polled(t, `{"queues": ["default"], "wait": "20s", "worker": "ada"}`)[0]
	report := func(verb, rest string) answer {
		return d.ask(t, "POST", "/v1/activities/"+verb, `{"token": "`+taken.Token+`", `+rest+`}`)
	}
	for range 2 {
		if done := report("complete", `"result": 1`); done.StatusCode != 204 {
			t.Errorf("a result is answered %s: %s", done.Status, done.body)
		}
	}
	if _, err := run.Await(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		report("complete", `"result": 2`).isProblem(t, 409, "attempt-superseded")
		report("complete", `"result": "2"`).isProblem(t, 409, "attempt-superseded")
		report("fail", `"detail": "no"`).isProblem(t, 409, "attempt-superseded")
		report("fail", `"detail": "no", "nonRetryable": true`).isProblem(t, 409, "attempt-superseded")
	}
	var told, want []string
	for _, r := range mustRead[api.History](t, d.ask(t, "GET", "/v1/runs/demo/"+run.Instance.ID+"/history", ""), 200).Records {
		if r.Type != "result.late" {
			continue
		}
		told = append(told, fmt.Sprint(r.Pointer, " ", r.Attempt, " ", r.Worker, " ", r.Report))
		if line := describe.HistoryLine(r); !strings.Contains(line, pointer) {
			t.Errorf("people are told %s", line)
		}
	}
	for _, report := range []string{"completed", "completed", "failed", "failed"} {
		want = append(want, pointer+" 1 ada "+report)
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("the history tells of late reports (-want +got):\n%s", diff)
	}
}
