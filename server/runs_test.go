package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/swrun/swrun/internal/api"
)

// document returns a workflow of the namespace demo.
func document(name, version, body string) string {
	return fmt.Sprintf("document: {dsl: 1.0.3, namespace: demo, name: %s, version: %s}\n%s", name, version, body)
}

// The bodies of frequently used workflows.
const (
	echoes  = "do:\n- echo: {set: '${ . }'}\n"
	waits   = "do:\n- cool: {wait: {hours: 1}}\n"
	raises  = "do:\n- fail: {raise: {error: {type: https://serverlessworkflow.io/spec/1.0.0/errors/authentication, status: 401, title: no}}}\n"
	times   = "timeout: {after: {milliseconds: 20}}\ndo:\n- cool: {wait: {hours: 1}}\n"
	catches = "do:\n- safe:\n    try:\n    - cool: {wait: {hours: 1}, timeout: {after: {hours: 2}}}\n    catch: {errors: {with: {status: 408}}, do: [{late: {set: {late: true}}}]}\n"
)

func (d *deployment) mustDeploy(t *testing.T, name, body string) {
	t.Helper()
	a := d.ask(t, "PUT", "/v1/workflows/demo/"+name+"/1.0.0", document(name, "1.0.0", body), "Content-Type", "application/yaml")
	if a.StatusCode != http.StatusCreated {
		t.Fatalf("PUT %s: %s: %s", name, a.Status, a.body)
	}
}

// mustStart starts a run of a workflow, and returns its location.
func (d *deployment) mustStart(t *testing.T, workflow, id string) string {
	t.Helper()
	a := d.ask(t, "POST", "/v1/runs", fmt.Sprintf(`{"workflow": "demo/%s", "id": %q}`, workflow, id))
	if a.StatusCode != http.StatusCreated {
		t.Fatalf("start %s: %s: %s", workflow, a.Status, a.body)
	}
	return a.Header.Get("Location")
}

func mustRead[T any](t *testing.T, a answer, status int) (v T) {
	t.Helper()
	if a.StatusCode != status {
		t.Fatalf("want %d, got %s: %s", status, a.Status, a.body)
	}
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		t.Fatalf("%v: %s", err, a.body)
	}
	return v
}

// TestStart starts runs with each option, and checks the answers.
func TestStart(t *testing.T) {
	d := mustDeployment(t)
	d.mustDeploy(t, "wait", waits)
	a := d.ask(t, "POST", "/v1/runs", `{"workflow": "demo/wait", "version": "1.0.0", "id": "one", "input": {"n": 12345678901234567890}, "labels": {"team": "pay"},
		"businessKey": "order 7", "executionTimeout": "2h", "runTimeout": 3600, "deadline": "2099-01-01T00:00:00Z", "delay": 0}`)
	run := mustRead[api.Description](t, a, http.StatusCreated)
	if a.Header.Get("Location") != "/v1/runs/demo/one" || run.Namespace != "demo" || run.ID != "one" || run.Why == "" || run.Workflow != "demo/wait:1.0.0" ||
		run.Labels["team"] != "pay" || run.BusinessKey != "order 7" || *run.ExecutionTimeoutSeconds != 7200 || *run.RunTimeoutSeconds != 3600 ||
		!strings.Contains(a.body, `"input":{"n":12345678901234567890}`) {
		t.Errorf("%s: %s", a.Header.Get("Location"), a.body)
	}
	again := `{"workflow": "demo/wait:1.0.0", "id": "one", "onDuplicate": %q}`
	d.ask(t, "POST", "/v1/runs", fmt.Sprintf(again, "reject")).isProblem(t, http.StatusConflict, "run-exists")
	for _, policy := range []string{"return-existing", "return-existing-active", "ReturnExisting", "ReturnExistingActive", "RETURN_EXISTING_ACTIVE"} {
		mustRead[api.Description](t, d.ask(t, "POST", "/v1/runs", fmt.Sprintf(again, policy)), http.StatusOK)
	}
	d.ask(t, "POST", "/v1/runs/demo/one/terminate", "{}")
	d.ask(t, "GET", "/v1/runs/demo/one/outcome?wait=30s", "") // a command is accepted before a worker carries it out
	mustRead[api.Description](t, d.ask(t, "POST", "/v1/runs", fmt.Sprintf(again, "return_existing")), http.StatusOK)
	d.ask(t, "POST", "/v1/runs", fmt.Sprintf(again, "ReturnExistingActive")).isProblem(t, http.StatusConflict, "run-exists")
}

// TestPromise10 checks the names of timeouts in a start.
func TestPromise10(t *testing.T) {
	d := mustDeployment(t)
	d.mustDeploy(t, "wait", waits)
	for id, option := range map[string]string{
		"seconds": `"execution_timeout_seconds": 90, "run_timeout_seconds": 60`,
		"texts":   `"executionTimeout": "PT1M30S", "runTimeout": "1m"`,
		"numbers": `"executionTimeout": 90, "runTimeout": 60.0`,
		"both":    `"executionTimeout": 90, "execution_timeout_seconds": "90s", "runTimeout": 60`,
	} {
		a := d.ask(t, "POST", "/v1/runs", fmt.Sprintf(`{"workflow": "demo/wait", "id": %q, %s}`, id, option))
		run := mustRead[api.Description](t, a, http.StatusCreated)
		if *run.ExecutionTimeoutSeconds != 90 || *run.RunTimeoutSeconds != 60 {
			t.Errorf("%s: %s", id, a.body)
		}
	}
}

// TestPromise178: a start without a timeout removes the timeout of the document.
func TestPromise178(t *testing.T) {
	d := mustDeployment(t)
	d.mustDeploy(t, "time", times)
	for id, none := range map[string]string{"null": "null", "text": `"none"`} {
		a := d.ask(t, "POST", "/v1/runs", fmt.Sprintf(`{"workflow": "demo/time", "id": %q, "executionTimeout": %s, "delay": %s}`, id, none, none))
		if run := mustRead[api.Description](t, a, http.StatusCreated); run.ExecutionTimeoutSeconds != nil {
			t.Errorf("%s: %s", id, a.body)
		}
	}
}

// TestStartsThatAreRefused checks the problem of each impossible start, including promises 8, 9 and 67.
func TestStartsThatAreRefused(t *testing.T) {
	d := mustDeployment(t)
	d.mustDeploy(t, "wait", waits)
	for name, c := range map[string]struct {
		body    string
		status  int
		problem string
		says    string // part of the detail
	}{
		"nothing":                    {``, 400, "invalid-request", "request body is required"},
		"no JSON":                    {`{`, 400, "invalid-request", "line 1"},
		"null":                       {`null`, 422, "invalid-request", "expected object"},
		"a list":                     {`[]`, 422, "invalid-request", "expected object"},
		"a name twice":               {`{"workflow": "demo/wait", "workflow": "demo/other"}`, 400, "invalid-request", "twice"},
		"a name in another case":     {`{"workflow": "demo/wait", "Delay": 1}`, 422, "invalid-request", "Delay"},
		"no UTF-8":                   {"{\"workflow\": \"demo/\xff\"}", 400, "invalid-request", "UTF-8"},
		"an unknown member":          {`{"workflow": "demo/wait", "status": "completed"}`, 422, "invalid-request", "unexpected property"},
		"no workflow":                {`{}`, 422, "invalid-request", "workflow"},
		"an empty workflow":          {`{"workflow": ""}`, 422, "invalid-request", "workflow"},
		"no namespace":               {`{"workflow": "wait"}`, 422, "invalid-request", "namespace/name"},
		"an unknown workflow":        {`{"workflow": "demo/nothing"}`, 404, "not-deployed", "demo/nothing"},
		"an unknown version":         {`{"workflow": "demo/wait", "version": "2.0.0"}`, 404, "not-deployed", "2.0.0"},
		"two versions":               {`{"workflow": "demo/wait:1.0.0", "version": "2.0.0"}`, 422, "invalid-request", "not the version"},
		"a queue":                    {`{"workflow": "demo/wait", "queue": "fast"}`, 422, "invalid-request", "chooses its queue"},
		"a queue that is null":       {`{"workflow": "demo/wait", "queue": null}`, 422, "invalid-request", "chooses its queue"},
		"half a second":              {`{"workflow": "demo/wait", "executionTimeout": 0.5}`, 422, "invalid-request", "executionTimeout: must be at least 1s"},
		"no deadline of this world":  {`{"workflow": "demo/wait", "deadline": "0001-01-01T00:00:00Z"}`, 422, "invalid-request", "deadline: \"0001-01-01T00:00:00Z\" is not a time"},
		"no time at all":             {`{"workflow": "demo/wait", "runTimeout": 0}`, 422, "invalid-request", "runTimeout: must be at least 1s"},
		"a negative time":            {`{"workflow": "demo/wait", "runTimeout": -1}`, 422, "invalid-request", "runTimeout: must be at least 1s, got -1s"},
		"a negative text":            {`{"workflow": "demo/wait", "executionTimeout": "-PT2H"}`, 422, "invalid-request", "executionTimeout: must be at least 1s, got -2h"},
		"a time without a unit":      {`{"workflow": "demo/wait", "runTimeout": "soon"}`, 422, "invalid-request", "soon"},
		"a time that is a list":      {`{"workflow": "demo/wait", "runTimeout": []}`, 422, "invalid-request", "runTimeout: expected a number of seconds, a text"},
		"two values of one timeout":  {`{"workflow": "demo/wait", "runTimeout": 5, "run_timeout_seconds": 6}`, 422, "invalid-request", "given twice"},
		"a deadline without a zone":  {`{"workflow": "demo/wait", "deadline": "2099-01-01"}`, 422, "invalid-request", "deadline"},
		"a deadline that is past":    {`{"workflow": "demo/wait", "deadline": "2001-01-01T00:00:00Z"}`, 422, "invalid-request", "is past"},
		"an id with a slash":         {`{"workflow": "demo/wait", "id": "a/b"}`, 422, "invalid-request", "id"},
		"an id that is too long":     {`{"workflow": "demo/wait", "id": "` + strings.Repeat("a", 129) + `"}`, 422, "invalid-request", "limit id"},
		"an id of many bytes":        {`{"workflow": "demo/wait", "id": "` + strings.Repeat("a", 3000) + `"}`, 422, "invalid-request", "id: the id of a run: 3000 bytes"},
		"an empty id":                {`{"workflow": "demo/wait", "id": ""}`, 422, "invalid-request", "body.id: expected length >= 1"},
		"an empty version":           {`{"workflow": "demo/wait", "version": ""}`, 422, "invalid-request", "body.version: expected length >= 1"},
		"an empty key":               {`{"workflow": "demo/wait", "businessKey": ""}`, 422, "invalid-request", "body.businessKey: expected length >= 1"},
		"a blank key":                {`{"workflow": "demo/wait", "businessKey": "  "}`, 422, "invalid-request", "businessKey: must not be blank"},
		"a blank label":              {`{"workflow": "demo/wait", "labels": {"a": " "}}`, 422, "invalid-request", "labels: must not be blank"},
		"a label without a name":     {`{"workflow": "demo/wait", "labels": {"": "x"}}`, 422, "invalid-request", "labels: a label's name"},
		"an empty timeout":           {`{"workflow": "demo/wait", "executionTimeout": ""}`, 422, "invalid-request", `executionTimeout: "" is not a duration`},
		"a timeout without end":      {`{"workflow": "demo/wait", "delay": 1e308}`, 422, "invalid-request", "delay: 1e+308 is not a number of seconds"},
		"another thing to do":        {`{"workflow": "demo/wait", "onDuplicate": "replace"}`, 422, "invalid-request", "onDuplicate"},
		"an input that is too large": {`{"workflow": "demo/wait", "input": "` + strings.Repeat("a", 4<<20) + `"}`, 413, "too-large", "limit input"},
		"a body that is too large":   {`{"workflow": "demo/wait", "input": "` + strings.Repeat("a", 17<<20) + `"}`, 413, "too-large", "16 MiB"},
		"an input that is too deep":  {`{"workflow": "demo/wait", "input": ` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`, 400, "invalid-request", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := d.ask(t, "POST", "/v1/runs", c.body).isProblem(t, c.status, c.problem)
			if !strings.Contains(p.Detail, c.says) && !strings.Contains(fmt.Sprint(p.Errors), c.says) {
				t.Errorf("%q is not in %+v", c.says, p)
			}
			if c.status == http.StatusRequestEntityTooLarge && (p.Limit == nil || p.Limit.Max == 0 || p.Limit.Value <= p.Limit.Max) {
				t.Errorf("no limit, or not what was found, is stated: %+v", p)
			}
		})
	}
	t.Run("a body that is too large, with a key", func(t *testing.T) {
		body := `{"workflow": "demo/wait", "input": "` + strings.Repeat("a", 17<<20) + `"}`
		p := d.ask(t, "POST", "/v1/runs", body, "Idempotency-Key", "large").isProblem(t, http.StatusRequestEntityTooLarge, "too-large")
		if p.Limit == nil || p.Limit.Value != len(body) {
			t.Errorf("the limit is %+v", p.Limit)
		}
	})
	t.Run("another media type", func(t *testing.T) {
		d.ask(t, "POST", "/v1/runs", `{"workflow": "demo/wait"}`, "Content-Type", "text/plain").isProblem(t, http.StatusUnsupportedMediaType, "unsupported-media-type")
	})
}

// TestHostileQueries: a wrong query or path is answered with its mistake, and a blank filter never means all runs.
func TestHostileQueries(t *testing.T) {
	d := mustDeployment(t)
	long := strings.Repeat("x", 3000)
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		says               string
	}{
		"a blank filter":               {"GET", "/v1/runs?where=%20", "", 422, "is blank"},
		"a blank filter for a command": {"POST", "/v1/runs/cancel", `{"where": " "}`, 422, "is blank"},
		"a blank filter that counts":   {"GET", "/v1/runs/count?where=%09", "", 422, "is blank"},
		"all namespaces":               {"GET", "/v1/runs?namespace=*", "", 422, "is not a namespace"},
		"a namespace of one byte":      {"GET", "/v1/runs?namespace=%FF", "", 422, "is not a namespace"},
		"a long namespace":             {"GET", "/v1/runs?namespace=" + long, "", 422, "namespace: a namespace: 3000 bytes"},
		"a long id":                    {"GET", "/v1/runs/demo/" + long, "", 404, "the id of a run: 3000 bytes"},
		"no task for a deadline":       {"POST", "/v1/runs/demo/a/deadline", `{"task": "", "deadline": "+1m"}`, 422, "body.task: expected length >= 1"},
		"a fork from nowhere":          {"POST", "/v1/runs/demo/a/fork", `{"from": ""}`, 422, "body.from: expected length >= 1"},
		"a fork to no version":         {"POST", "/v1/runs/demo/a/fork", `{"version": ""}`, 422, "body.version: expected length >= 1"},
		"a fork without a time":        {"POST", "/v1/runs/demo/a/fork", `{"deadline": "0001-01-01T00:00:00Z"}`, 422, "deadline: \"0001-01-01T00:00:00Z\" is not a time"},
		"a fork without time":          {"POST", "/v1/runs/demo/a/fork", `{"executionTimeout": 0}`, 422, "executionTimeout: must be at least 1s"},
		"a long id for a command":      {"POST", "/v1/runs/cancel", `{"runs": ["demo/` + long + `"]}`, 422, "runs: the id of a run: 3000 bytes"},
		"a wait of null":               {"GET", "/v1/runs/demo/a/output?wait=null", "", 422, "is not a duration"},
		"a time of words":              {"GET", "/v1/deadlines?within=soon", "", 422, `within: "soon" is not a duration`},
		"no time":                      {"GET", "/v1/deadlines?within=0", "", 422, "longer than nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			a := d.ask(t, c.method, c.path, c.body)
			var p api.Problem
			if err := json.Unmarshal([]byte(a.body), &p); err != nil || a.StatusCode != c.status || !strings.Contains(p.Detail, c.says) || strings.Contains(p.Detail, "limit 400") {
				t.Errorf("want %d, %q: %s", c.status, c.says, a.body)
			}
		})
	}
}

// TestOutput checks the answer about each end of a run for callers that wait for the output, including promise 169.
func TestOutput(t *testing.T) {
	d := mustDeployment(t)
	for name, body := range map[string]string{"echo": echoes, "wait": waits, "raise": raises, "time": times} {
		d.mustDeploy(t, name, body)
	}
	started := d.ask(t, "POST", "/v1/runs", `{"workflow": "demo/echo", "id": "echo", "input": {"a": [1, null, "<&>"]}}`)
	mustRead[api.Description](t, started, http.StatusCreated)
	if a := d.ask(t, "GET", "/v1/runs/demo/echo/output?wait=30s", ""); a.StatusCode != http.StatusOK || a.body != "{\"a\":[1,null,\"<&>\"]}\n" {
		t.Errorf("%s: %s", a.Status, a.body)
	}
	d.mustStart(t, "raise", "raise")
	p := d.ask(t, "GET", "/v1/runs/demo/raise/output?wait=30", "").isProblem(t, http.StatusInternalServerError, "run-faulted")
	if fault, _ := p.WorkflowError.(map[string]any); fault["status"] != 401.0 || fault["instance"] != "/do/0/fail" {
		t.Errorf("the workflow's error is %v", p.WorkflowError)
	}
	d.mustStart(t, "time", "time")
	p = d.ask(t, "GET", "/v1/runs/demo/time/output?wait=30s", "").isProblem(t, http.StatusInternalServerError, "run-timed-out")
	if fault, _ := p.WorkflowError.(map[string]any); fault["status"] != 408.0 || fault["timeoutKind"] != "workflow" {
		t.Errorf("the workflow's error is %v", p.WorkflowError)
	}
	d.mustStart(t, "wait", "wait")
	if a := d.ask(t, "GET", "/v1/runs/demo/wait/output?wait=10ms", ""); a.Header.Get("Retry-After") == "" {
		t.Errorf("%s: no Retry-After", a.Status)
	} else {
		a.isProblem(t, http.StatusAccepted, "not-ended")
	}
	d.ask(t, "POST", "/v1/runs/demo/wait/cancel", `{"reason": "for a test"}`)
	if p = d.ask(t, "GET", "/v1/runs/demo/wait/output?wait=30s", "").isProblem(t, http.StatusConflict, "run-cancelled"); p.Detail != "the run demo/wait is cancelled: for a test" {
		t.Errorf("who waits is told %q", p.Detail)
	}
	for _, wait := range []string{"soon", "-1s", "1h", "1e9"} {
		d.ask(t, "GET", "/v1/runs/demo/wait/output?wait="+wait, "").isProblem(t, http.StatusUnprocessableEntity, "invalid-request")
	}
}

// TestPrefer checks the answers of starts that wait for the end of their run.
func TestPrefer(t *testing.T) {
	d := mustDeployment(t)
	d.mustDeploy(t, "echo", echoes)
	d.mustDeploy(t, "wait", waits)
	a := d.ask(t, "POST", "/v1/runs", `{"workflow": "demo/echo", "input": 7}`, "Prefer", "respond-async, wait=30")
	if run := mustRead[api.Description](t, a, http.StatusOK); run.Status != "completed" || fmt.Sprint(*run.Output) != "7" || a.Header.Get("Preference-Applied") != "wait=30" {
		t.Errorf("%s", a.body)
	}
	a = d.ask(t, "POST", "/v1/runs", `{"workflow": "demo/wait"}`, "Prefer", "wait=0")
	if run := mustRead[api.Description](t, a, http.StatusAccepted); run.Status == "completed" || a.Header.Get("Location") == "" {
		t.Errorf("%s", a.body)
	}
	a = d.ask(t, "POST", "/v1/runs", `{"workflow": "demo/wait"}`, "Prefer", "wait=soon")
	mustRead[api.Description](t, a, http.StatusCreated)
}

// TestPromises11And12 checks the timeouts, deadlines and possible commands in the description of a run.
func TestPromises11And12(t *testing.T) {
	d := mustDeployment(t)
	d.mustDeploy(t, "catch", catches)
	location := d.mustStart(t, "catch", "one")
	run := mustRead[api.Description](t, d.ask(t, "GET", location, ""), http.StatusOK)
	if run.Schema != api.SchemaRun || !run.Allowed["cancel"].Allowed || run.Allowed["delete"].Allowed || !strings.Contains(run.Allowed["delete"].Reason, "cancel or terminate it first") {
		t.Errorf("%+v", run.Allowed)
	}
	a := d.ask(t, "POST", "/v1/runs", `{"workflow": "demo/catch", "id": "two", "executionTimeout": "1h", "runTimeout": "30m", "timeoutStarts": "accept"}`)
	run = mustRead[api.Description](t, a, http.StatusCreated)
	for _, at := range []string{run.ExecutionDeadlineAt, run.RunDeadlineAt} {
		if !strings.HasSuffix(at, "Z") || len(at) < len("2026-11-22T00:00:00Z") {
			t.Errorf("%q is not a time in UTC: %s", at, a.body)
		}
	}
	if *run.ExecutionTimeoutSeconds != 3600 || *run.RunTimeoutSeconds != 1800 || len(run.Deadlines) < 2 {
		t.Errorf("%s", a.body)
	}
}

// TestETag: a caller with the current version of a run gets no body.
func TestETag(t *testing.T) {
	d := mustDeployment(t)
	d.mustDeploy(t, "echo", echoes)
	location := d.mustStart(t, "echo", "one")
	d.ask(t, "GET", location+"/output?wait=30s", "")
	first := d.ask(t, "GET", location, "")
	etag := first.Header.Get("ETag")
	if again := d.ask(t, "GET", location, "", "If-None-Match", `"other", `+etag); again.StatusCode != http.StatusNotModified || again.body != "" || again.Header.Get("ETag") != etag {
		t.Errorf("%s %q: %s", again.Status, again.Header.Get("ETag"), again.body)
	}
	if other := d.ask(t, "GET", location, "", "If-None-Match", `"other"`); other.StatusCode != http.StatusOK || etag == "" {
		t.Errorf("%s, ETag %q", other.Status, etag)
	}
}

// TestCommands sends each command to runs that accept it, and to runs that do not.
func TestCommands(t *testing.T) {
	d := mustDeployment(t)
	d.mustDeploy(t, "wait", waits)
	location := d.mustStart(t, "wait", "one")
	for _, command := range []string{"suspend", "resume", "cancel"} {
		a := d.ask(t, "POST", location+"/"+command, `{"reason": "for a test"}`)
		if outcome := mustRead[api.Outcome](t, a, http.StatusAccepted); outcome.Outcome != api.OutcomeAccepted || a.Header.Get("Location") != location {
			t.Errorf("%s: %s", command, a.body)
		}
	}
	d.ask(t, "GET", location+"/output?wait=30s", "").isProblem(t, http.StatusConflict, "run-cancelled")
	run := mustRead[api.Description](t, d.ask(t, "GET", location, ""), http.StatusOK)
	if run.Reason != "for a test" {
		t.Errorf("the reason is %q", run.Reason)
	}
	for _, command := range []string{"suspend", "resume", "cancel", "terminate"} {
		d.ask(t, "POST", location+"/"+command, "").isProblem(t, http.StatusConflict, "run-ended")
	}
	p := d.ask(t, "POST", d.mustStart(t, "wait", "two")+"/retry", "").isProblem(t, http.StatusConflict, "conflict")
	if !strings.Contains(p.Detail, "the run demo/two is ") || !strings.HasPrefix(p.Help, "retry is for quarantined and failed runs") {
		t.Errorf("%+v", p)
	}
	d.ask(t, "POST", "/v1/runs/demo/nothing/cancel", "").isProblem(t, http.StatusNotFound, "not-found")
	d.ask(t, "POST", location+"/cancel", `{"reason": "`+strings.Repeat("a", 2000)+`"}`).isProblem(t, http.StatusUnprocessableEntity, "invalid-request")
	d.ask(t, "DELETE", "/v1/runs/demo/two", "").isProblem(t, http.StatusConflict, "conflict")
	if a := d.ask(t, "DELETE", location, ""); a.StatusCode != http.StatusNoContent {
		t.Errorf("%s: %s", a.Status, a.body)
	}
	d.ask(t, "DELETE", location, "").isProblem(t, http.StatusNotFound, "not-found")
}

// TestPromises164To168: a command to several runs lists the outcome of each, and does not change finished runs.
func TestPromises164To168(t *testing.T) {
	d := mustDeployment(t)
	d.mustDeploy(t, "wait", waits)
	d.mustDeploy(t, "echo", echoes)
	d.ask(t, "GET", d.mustStart(t, "echo", "ended")+"/output?wait=30s", "")
	d.mustStart(t, "wait", "one")
	d.mustStart(t, "wait", "two")
	a := d.ask(t, "POST", "/v1/runs/cancel", `{"runs": ["demo/one", "demo/ended", "demo/nothing"], "reason": "for a test"}`)
	got := mustRead[api.Outcomes](t, a, http.StatusOK)
	var outcomes []string
	for _, o := range got.Outcomes {
		outcomes = append(outcomes, o.Run+" "+o.Outcome)
	}
	if fmt.Sprint(outcomes) != "[demo/one accepted demo/ended refused demo/nothing refused]" {
		t.Errorf("%s", a.body)
	}
	d.ask(t, "GET", "/v1/runs/demo/one/output?wait=30s", "").isProblem(t, http.StatusConflict, "run-cancelled")
	a = d.ask(t, "POST", "/v1/runs/terminate", `{"where": "workflow=demo/wait id=two"}`)
	if got = mustRead[api.Outcomes](t, a, http.StatusOK); len(got.Outcomes) != 1 || got.Outcomes[0].Run != "demo/two" || got.More {
		t.Errorf("%s", a.body)
	}
	d.mustStart(t, "wait", "three")
	for verb, want := range map[string]string{
		"cancel": "[demo/three accepted demo/ended refused demo/nothing refused]", "delete": "[demo/three refused demo/ended accepted demo/nothing accepted]",
		"retry": "[demo/three refused demo/ended refused demo/nothing refused]", "retry-now": "[demo/three refused demo/ended refused demo/nothing refused]",
		"resume": "[demo/three accepted demo/ended refused demo/nothing refused]",
	} {
		d.until(t, "three", func(run api.Description) bool { return run.Status == "waiting" }) // refusals name the status
		var said []string
		for _, dry := range []string{"true", "false"} {
			if verb == "cancel" && dry == "false" {
				continue
			}
			a, outcomes := d.ask(t, "POST", "/v1/runs/"+verb, `{"runs": ["demo/three", "demo/ended", "demo/nothing"], "dryRun": `+dry+`}`), []string{}
			for _, o := range mustRead[api.Outcomes](t, a, http.StatusOK).Outcomes {
				outcomes = append(outcomes, o.Run+" "+o.Outcome)
			}
			if fmt.Sprint(outcomes) != want {
				t.Errorf("%s, dryRun %s: %s", verb, dry, a.body)
			}
			said = append(said, a.body)
		}
		if verb == "delete" {
			d.ask(t, "GET", d.mustStart(t, "echo", "ended")+"/output?wait=30s", "")
		}
		if len(said) == 2 && said[0] != said[1] {
			t.Errorf("%s: it would be\n%s and is\n%s", verb, said[0], said[1])
		}
	}
	if run := mustRead[api.Description](t, d.ask(t, "GET", "/v1/runs/demo/three", ""), http.StatusOK); run.ClosedAt != "" {
		t.Errorf("it has ended: %+v", run.Run)
	}
	for _, body := range []string{`{}`, `{"runs": []}`, `{"where": ""}`, `{"runs": ["demo/one"], "where": "status=waiting"}`, `{"runs": ["one"]}`, `{"runs": [""]}`, `{"where": "status=odd"}`} {
		if a := d.ask(t, "POST", "/v1/runs/cancel", body); a.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%s: %s: %s", body, a.Status, a.body)
		}
	}
}
