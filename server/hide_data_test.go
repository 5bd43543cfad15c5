package server_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/access"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/server"
)

// canary is data of runs in every place.
const canary = "c4n4ry"

// leaky are workflows that bring their input to all places where runs keep data, by the names of their runs.
func leaky() map[string]string {
	const told = `{type: 'https://a.b/c', status: 400, title: '${ "title of \(.secret)" }', detail: '${ "detail of \(.secret)" }', instance: '${ "/do/0/\(.secret)" }'}`
	return map[string]string{
		"ends":     `do: [{a: {set: {kept: '${ .secret }'}, export: {as: '${ . }'}}}, {t: {try: [{r: {raise: {error: ` + told + `}}}], catch: {as: e, do: [{s: {set: {caught: '${ $e.detail }'}}}]}}}]`,
		"fails":    `do: [{r: {raise: {error: ` + told + `}}}]`,
		"broken":   `do: [{s: {set: {number: '${ .secret | tonumber }'}}}]`,
		"invalid":  `do: [{s: {input: {schema: {document: {type: object, properties: {secret: {const: other}}}}}, set: {a: 1}}}]`,
		"calls":    `do: [{h: {call: http, with: {method: get, endpoint: '${ "http://127.0.0.1:1/" + .secret }'}}}]`,
		"each":     `do: [{f: {for: {each: item, in: '${ [.secret, .secret] }'}, do: [{s: {set: {got: '${ $item }'}}}]}}]`,
		"asks":     `do: [{a: {call: 'activity:1.0.0@default', with: {type: x, queue: asks, input: '${ . }'}}}]`,
		"repeats":  `do: [{a: {call: 'activity:1.0.0@default', with: {type: x, queue: repeats, input: '${ . }', retry: {maxAttempts: 3, backoff: [PT1H]}}}}]`,
		"backs":    `do: [{t: {try: [{r: {raise: {error: ` + told + `}}}], catch: {retry: {delay: PT1H}}}}]`,
		"emits":    `do: [{e: {emit: {event: {with: {type: told, subject: '${ .secret }', tells: '${ .secret }', data: '${ . }'}}}}}, {b: {emit: {event: {with: {type: told, data_base64: '${ .secret | @base64 }'}}}}}]`,
		"wait":     `do: [{w: {wait: PT1H}}]`,
		"listens":  `do: [{l: {listen: {to: {all: [{with: {type: got}}, {with: {type: got, data: other}}]}}}}]`,
		"parent":   `do: [{c: {run: {workflow: {namespace: demo, name: fails, version: 1.0.0, input: '${ . }'}}}}]`,
		"continue": `do: [{n: {if: '${ .again == null }', call: 'continue-as-new:1.0.0@default', with: {input: '${ . + {again: true} }'}}}]`,
	}
}

// TestDataIsHidden calls every operation of /openapi.json with a token that hides the data of runs. No answer contains it: neither as input nor
// output, context, results of tasks, events, details of errors, nor as a worker's report about an activity. The progress of runs is visible anyway.
func TestDataIsHidden(t *testing.T) {
	d, hidden := mustHide(t)
	ended := d.mustLeak(t)
	told, refused := map[string]bool{}, map[string]bool{}
	for path, methods := range d.mustReadPaths(t) {
		for method, o := range methods {
			for _, to := range pathsOf(path) {
				seen := d.look(t, strings.ToUpper(method), to, ended, "Authorization", hidden)
				if strings.Contains(seen.body+fmt.Sprint(seen.Header), canary) {
					t.Errorf("%s %s tells it: %v %s", method, to, seen.Header, seen.body)
				}
				if viewers := o.Role == string(server.RoleViewer) || o.Role == string(server.RoleOpen); !viewers {
					if seen.StatusCode != http.StatusForbidden {
						t.Errorf("%s %s: %s %s", method, to, seen.Status, seen.body)
					}
					continue
				}
				refused[o.ID] = refused[o.ID] || seen.StatusCode == http.StatusForbidden
				told[o.ID] = told[o.ID] || strings.Contains(d.look(t, strings.ToUpper(method), to, ended).body, canary)
			}
		}
	}
	for got, want := range map[*map[string]bool]string{
		&told:    "exportRun followRun followRuns getHistory getOutcome getOutput getRun getTask getTimeline",
		&refused: "exportRun getOutput getTask getTimeline",
	} {
		maps.DeleteFunc(*got, func(_ string, is bool) bool { return !is })
		if names := strings.Join(slices.Sorted(maps.Keys(*got)), " "); names != want {
			t.Errorf("told to others, or refused: %s, want %s", names, want)
		}
	}
	for _, query := range []string{"?where=text~" + canary, "?where=error~" + canary, "?by=error"} { // queries do not reveal it
		if a := d.ask(t, "GET", "/v1/runs/count"+query, "", "Authorization", hidden); strings.Contains(a.body, canary) || !strings.Contains(a.body, `"count":0`) && query != "?by=error" {
			t.Errorf("%s: %s", query, a.body)
		}
	}
	described := mustRead[api.Description](t, d.ask(t, "GET", "/v1/runs/demo/fails", "", "Authorization", hidden), http.StatusOK)
	if got := fmt.Sprint(described.Failure.Error); described.Status != "faulted" || !described.HiddenData || got != "map[status:400 type:https://a.b/c]" {
		t.Errorf("it is %s, %v: %s", described.Status, described.HiddenData, got)
	}
}

// mustHide returns a server that treats callers without a token as administrators, and a token that hides the data of runs.
func mustHide(t *testing.T) (d *deployment, hidden string) {
	t.Helper()
	d = mustDeploymentWith(t, func(c *server.Config, tokens *access.Tokens) {
		c.Heartbeat = 10 * time.Millisecond
		c.Rate = 1_000_000
		c.Authorize = func(r *http.Request) (server.Caller, error) {
			if r.Header.Get("Authorization") == "" {
				return server.TrustEveryone(r)
			}
			return server.TrustTokens(tokens)(r)
		}
	})
	issued := mustRead[api.IssuedToken](t, d.ask(t, "POST", "/v1/tokens", `{"name": "eve", "role": "viewer", "allNamespaces": true, "hideData": true}`), http.StatusCreated)
	return d, "Bearer " + issued.Text
}

// mustLeak starts the leaky workflows with the canary, and advances each as far as possible. It returns the names of the finished runs.
func (d *deployment) mustLeak(t *testing.T) (ended []string) {
	t.Helper()
	for name, body := range leaky() {
		d.mustDeploy(t, name, body)
		if a := d.ask(t, "POST", "/v1/runs", fmt.Sprintf(`{"workflow": "demo/%s", "id": "%s", "input": {"secret": "%s"}}`, name, name, canary)); a.StatusCode != http.StatusCreated {
			t.Fatalf("%s: %s", a.Status, a.body)
		}
	}
	for queue, report := range map[string]string{"asks": `heartbeat {"token": %q, "progress": {"at": "` + canary + `"}}`, "repeats": `fail {"token": %q, "title": "` + canary + `", "detail": "` + canary + `"}`} {
		taken := struct{ Activities []struct{ Token string } }{}
		for len(taken.Activities) == 0 {
			taken = mustRead[struct{ Activities []struct{ Token string } }](t, d.ask(t, "POST", "/v1/activities/poll", fmt.Sprintf(`{"queues": [%q], "limit": 1, "wait": "5s", "worker": "w"}`, queue)), http.StatusOK)
		}
		verb, body, _ := strings.Cut(report, " ")
		if a := d.ask(t, "POST", "/v1/activities/"+verb, fmt.Sprintf(body, taken.Activities[0].Token)); a.StatusCode >= 300 {
			t.Fatalf("%s: %s", a.Status, a.body)
		}
	}
	d.until(t, "listens", func(run api.Description) bool { return len(run.Open) > 0 && run.Open[0].Listening != nil })
	d.ask(t, "POST", "/v1/events", `{"specversion": "1.0", "id": "1", "source": "/x", "type": "got", "data": {"secret": "`+canary+`"}}`, "Content-Type", "application/cloudevents+json")
	d.until(t, "listens", func(run api.Description) bool { return run.Open[0].Listening.Consumed == 1 })
	d.ask(t, "POST", "/v1/events", `{"specversion": "1.0", "id": "`+canary+`", "source": "/x", "type": "got", "data": {"secret": "`+canary+`"}}`)
	d.until(t, "listens", func(run api.Description) bool {
		u := run.Open[0].Listening.Unmatched
		return len(u) == 1 && strings.Contains(u[0].Refusals[0].Why, canary)
	})
	d.until(t, "backs", func(run api.Description) bool { return len(run.Open) > 0 && run.Open[0].Retry })
	d.until(t, "repeats", func(run api.Description) bool { return run.Open[0].Activity.Failure != nil })
	for _, name := range []string{"ends", "fails", "broken", "invalid", "calls", "each", "emits", "parent", "continue"} {
		d.until(t, name, func(run api.Description) bool { return run.ClosedAt != "" })
		ended = append(ended, name)
	}
	return ended
}

// until waits until a run is in the expected state.
func (d *deployment) until(t *testing.T, id string, is func(api.Description) bool) {
	t.Helper()
	for t.Context().Err() == nil && !is(mustRead[api.Description](t, d.ask(t, "GET", "/v1/runs/demo/"+id, ""), http.StatusOK)) {
		time.Sleep(time.Millisecond)
	}
}

// pathsOf returns the paths of an operation for each run, with all variants that have different answers.
func pathsOf(path string) (all []string) {
	query := map[string]string{
		"/v1/runs": "?summary=true&limit=1000", "/v1/runs/count": "?by=error", "/v1/runs/find": "?name=e", "/v1/deadlines": "?within=2h",
	}[path]
	for run := range leaky() {
		for seq := 1; seq == 1 || strings.Contains(path, "{seq}") && seq < 8; seq++ {
			name := strings.NewReplacer("{namespace}", "demo", "{id}", run, "{name}", run, "{version}", "1.0.0", "{seq}", fmt.Sprint(seq), "{code}", "SW401").Replace(path)
			all = append(all, name+query)
		}
		if !strings.Contains(path, "{id}") && !strings.Contains(path, "{name}") {
			break
		}
	}
	return all
}

// look sends a request. It reads an endless answer until the finished runs have reported their ends, or until the events of a run are complete.
func (d *deployment) look(t *testing.T, method, path string, ended []string, headers ...string) answer {
	t.Helper()
	if method != "GET" || !strings.HasSuffix(path, "/events") {
		return d.ask(t, method, path, "", headers...)
	}
	var all strings.Builder
	last, missing := "", map[string]bool{}
	if path == "/v1/runs/events" { // from the beginning
		last = "1-demo/x-1"
		for _, name := range ended {
			missing[name] = true
		}
	}
	d.follow(t, t.Context(), path, last, func(e sent) bool {
		all.WriteString(e.id + e.data)
		var event struct{ ID, Type string }
		if e.id == "" || json.Unmarshal([]byte(e.data), &event) != nil {
			return last != "" // a comment: the run has no further events
		}
		if strings.HasPrefix(event.Type, "io.serverlessworkflow.workflow.") && !strings.Contains(event.Type, "started") {
			delete(missing, event.ID[:strings.LastIndex(event.ID, "-")])
		}
		return last == "" || len(missing) > 0
	}, headers...)
	return answer{&http.Response{StatusCode: http.StatusOK}, all.String()}
}
