package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/access"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/server"
)

// sent is a server-sent event.
type sent struct{ id, data string }

// follow calls each with the events of a run until the stream ends, or each returns false; headers are names and values in turn.
func (d *deployment) follow(t *testing.T, ctx context.Context, path, last string, each func(sent) bool, headers ...string) {
	r, err := http.NewRequestWithContext(ctx, "GET", d.URL+path, nil)
	if err != nil {
		t.Error(err)
		return
	}
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	for n := 0; n < len(headers); n += 2 {
		r.Header.Set(headers[n], headers[n+1])
	}
	response, err := d.Client().Do(r)
	if err != nil {
		t.Error(err)
		return
	}
	defer response.Body.Close()
	if got := response.Header.Get("Content-Type"); response.StatusCode != http.StatusOK || got != "text/event-stream" {
		t.Errorf("%s: %s %s", path, response.Status, got)
		return
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	var e sent
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case lines.Text() == "" && e.data != "":
			if !each(e) {
				return
			}
			e = sent{}
		case name == "id":
			e.id = value
		case name == "data":
			e.data = value
		case name == "" && value != "":
			if !each(sent{data: value}) {
				return
			}
		}
	}
}

// TestEvents follows a finished run from the beginning, and from each of its events.
func TestEvents(t *testing.T) {
	d := mustDeployment(t)
	d.mustDeploy(t, "echo", echoes)
	location := d.mustStart(t, "echo", "one")
	d.ask(t, "GET", location+"/output?wait=30s", "")
	var all []sent
	d.follow(t, t.Context(), location+"/events", "", func(e sent) bool { all = append(all, e); return true })
	var types []string
	for n, e := range all {
		var event struct {
			SpecVersion, ID, Type string
		}
		if err := json.Unmarshal([]byte(e.data), &event); err != nil || event.SpecVersion != "1.0" || event.ID != e.id {
			t.Errorf("%v: %s: %s", err, e.id, e.data)
		}
		types = append(types, strings.TrimSuffix(strings.TrimPrefix(event.Type, "io.serverlessworkflow."), ".v1"))
		var rest []sent
		if n == len(all)-1 {
			if a := d.ask(t, "GET", location+"/events", "", "Last-Event-ID", e.id); a.StatusCode != http.StatusNoContent {
				t.Errorf("after the last event: %s", a.Status)
			}
			continue
		}
		d.follow(t, t.Context(), location+"/events", e.id, func(e sent) bool { rest = append(rest, e); return true })
		if fmt.Sprint(rest) != fmt.Sprint(all[n+1:]) {
			t.Errorf("after %s: want %v, got %v", e.id, all[n+1:], rest)
		}
	}
	if got := strings.Join(types, " "); got != "workflow.started task.created task.started task.completed workflow.completed" {
		t.Errorf("events %s", got)
	}
	for _, id := range []string{"odd", "one-", "one-0", "one--1", "two-1", "one-1cc", "one-99999999999999999999"} {
		d.ask(t, "GET", location+"/events", "", "Last-Event-ID", id).isProblem(t, http.StatusUnprocessableEntity, "invalid-request")
	}
	d.mustDeploy(t, "wait", waits)
	if a := d.ask(t, "HEAD", d.mustStart(t, "wait", "waiting")+"/events", ""); a.StatusCode != http.StatusOK || a.body != "" {
		t.Errorf("HEAD: %s: %s", a.Status, a.body)
	}
	d.ask(t, "GET", "/v1/runs/demo/nothing/events", "").isProblem(t, http.StatusNotFound, "not-found")
}

// TestEventsOfManyFollowers: a thousand callers follow one run in progress, and all of them see all of its events; some leave before.
func TestEventsOfManyFollowers(t *testing.T) {
	d := mustDeployment(t)
	d.mustDeploy(t, "wait", waits)
	location := d.mustStart(t, "wait", "one")
	read := d.store.histories.Load()
	const followers = 1000
	var following, all sync.WaitGroup
	following.Add(followers)
	ended := make([]string, followers)
	for n := range followers {
		all.Go(func() {
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			first := true
			d.follow(t, ctx, location+"/events", "", func(e sent) bool {
				if first {
					first = false
					following.Done()
				}
				ended[n] += strings.SplitAfter(e.id, "-")[1] + " "
				return n%10 != 0 // some leave before the end
			})
		})
	}
	following.Wait()
	if a := d.ask(t, "POST", location+"/cancel", ""); a.StatusCode != http.StatusAccepted {
		t.Errorf("cancel: %s: %s", a.Status, a.body)
	}
	all.Wait()
	if read = d.store.histories.Load() - read; read > followers/2 {
		t.Errorf("the history was read %d times for %d followers", read, followers)
	}
	history := mustRead[api.History](t, d.ask(t, "GET", location+"/history", ""), http.StatusOK)
	want := ended[1]
	if !strings.HasSuffix(want, fmt.Sprint(history.Records[len(history.Records)-1].Seq)+" ") {
		t.Errorf("one has seen %q, and the history is %+v", want, history.Records)
	}
	for n, got := range ended {
		if n%10 != 0 && got != want {
			t.Errorf("follower %d: want %q, got %q", n, want, got)
		}
	}
}

// TestHeartbeat: a follower of a run receives heartbeats of the server.
func TestHeartbeat(t *testing.T) {
	d := mustDeploymentWith(t, func(c *server.Config, _ *access.Tokens) { c.Heartbeat = time.Millisecond })
	d.mustDeploy(t, "wait", waits)
	location := d.mustStart(t, "wait", "one")
	heard := false
	d.follow(t, t.Context(), location+"/events", "", func(e sent) bool { heard = e.data == "nothing has happened"; return !heard })
	if !heard {
		t.Error("there was no heartbeat")
	}
}

// TestEventTypes: a follower selects the types of events. Tasks that contain other tasks are suspended and resumed with their run (semantics 16.6).
func TestEventTypes(t *testing.T) {
	d := mustDeployment(t)
	d.mustDeploy(t, "listens", "do:\n- outer: {do: [{inner: {listen: {to: {one: {with: {type: go}}}}}}]}\n")
	location := d.mustStart(t, "listens", "one")
	for mustRead[api.Run](t, d.ask(t, "GET", location, ""), http.StatusOK).Status != "waiting" {
		time.Sleep(time.Millisecond)
	}
	for _, command := range []string{"/suspend", "/resume"} {
		if a := d.ask(t, "POST", location+command, ""); a.StatusCode != http.StatusAccepted {
			t.Fatal(a.body)
		}
	}
	d.ask(t, "POST", "/v1/events", `{"specversion": "1.0", "id": "1", "source": "/s", "type": "go"}`, "Content-Type", "application/cloudevents+json")
	d.ask(t, "GET", location+"/output?wait=30s", "")
	for query, want := range map[string]string{
		"": "workflow.started task.created task.started task.created task.started workflow.correlation-started workflow.suspended task.suspended workflow.resumed task.resumed " +
			"task.completed workflow.correlation-completed task.completed workflow.completed",
		"?type=workflow.suspended,task.suspended": "workflow.suspended task.suspended",
		"?type=workflow.status-changed":           "workflow.status-changed workflow.status-changed workflow.status-changed workflow.status-changed",
	} {
		var types []string
		var last string
		d.follow(t, t.Context(), location+"/events"+query, "", func(e sent) bool {
			if e.id == "" {
				return true
			}
			var event struct{ Type string }
			if err := json.Unmarshal([]byte(e.data), &event); err != nil {
				t.Error(err)
			}
			types = append(types, strings.TrimSuffix(strings.TrimPrefix(event.Type, "io.serverlessworkflow."), ".v1"))
			last = e.data
			return true
		})
		if got := strings.Join(types, " "); got != want {
			t.Errorf("%s: %s", query, got)
		}
		if query == "" && !strings.Contains(last, `"outputUri":"/v1/runs/demo/one/output"`) {
			t.Error(last)
		}
	}
	d.ask(t, "GET", location+"/events?type=tasks", "").isProblem(t, http.StatusUnprocessableEntity, "invalid-request")
}
