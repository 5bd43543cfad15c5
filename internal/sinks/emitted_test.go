package sinks_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/eventfile"
	"github.com/swrun/swrun/internal/progress"
)

const (
	emits = `document: {dsl: 1.0.3, namespace: %s, name: emits, version: 1.0.0}
do:
- tell: {emit: {event: {with: {id: "${ $workflow.id + \"-a\" }", type: order.paid, subject: "<ö> & é", tries: 3, time: "2026-01-31T12:00:00.5+01:00",
    data: {big: 12345678901234567890, small: 1.50e-7, text: "<&> \u2028 \"", none: null, list: [[], {}, true]}}}}}
- again: {emit: {event: {with: {id: "${ $workflow.id + \"-b\" }", type: order.sent, datacontenttype: application/octet-stream, data_base64: AAEC}}}}
`
	listens = `document: {dsl: 1.0.3, namespace: demo, name: listens, version: 1.0.0}
do:
- both: {listen: {to: {all: [{with: {type: order.paid}}, {with: {type: order.sent}}]}, read: envelope}}
`
)

// startDocument starts a run of a document.
func (d *deployment) startDocument(text, id string) *swrun.Run {
	d.t.Helper()
	doc, err := swrun.Parse("a.yaml", []byte(text))
	must(d.t, err)
	run, err := d.engine.StartDocument(d.t.Context(), doc, nil, swrun.StartOptions{ID: id})
	must(d.t, err)
	return run
}

// listens waits until a run listens.
func (d *deployment) listens(run *swrun.Run) {
	d.t.Helper()
	waitFor(d.t, "a listen", func() bool {
		known, err := d.Describe(d.t.Context(), run.Instance)
		return err == nil && known.Status == "waiting"
	})
}

// TestEmitted: each kind of sink gets an emitted event once, at its place in the workflow, and with the same bytes as listeners. The library of
// CloudEvents accepts it.
func TestEmitted(t *testing.T) {
	for name, start := range kinds() {
		t.Run(name, func(t *testing.T) {
			d, got := newDeployment(t, ""), &received{}
			s, _ := d.run(start(t, got), got)
			holds(t, s)
			listener := d.startDocument(listens, "listener")
			d.listens(listener)
			d.startDocument(fmt.Sprintf(emits, "demo"), "one")
			outcome, err := listener.Await(t.Context())
			must(t, err)
			heard, _ := outcome.Output.([]any)
			const all = "workflow.started task.created task.started order.paid task.completed task.created task.started order.sent task.completed workflow.completed"
			waitFor(t, "the events", func() bool { return got.of("one") == all })
			if len(heard) != 2 {
				t.Fatalf("who listens has got %v", heard)
			}
			for n, id := range []string{"one-a", "one-b"} {
				want, err := expr.Encode(heard[n])
				must(t, err)
				if all := got.with(id); len(all) != 1 || all[0] != string(want) {
					t.Errorf("it got %s, and who listens %s", all, want)
				}
				var e event.Event
				must(t, json.Unmarshal([]byte(got.with(id)[0]), &e))
				must(t, e.Validate())
			}
		})
	}
}

// TestChosen: a sink gets the events, types and namespaces that it selects.
func TestChosen(t *testing.T) {
	const lifecycle = "workflow.started task.created task.started task.completed task.created task.started task.completed workflow.completed"
	const changes = "workflow.started workflow.status-changed order.sent workflow.completed workflow.status-changed"
	for name, c := range map[string]struct {
		to          eventfile.Sink
		demo, other string
	}{
		"lifecycle":        {eventfile.Sink{Events: eventfile.SinkLifecycle}, lifecycle, lifecycle},
		"emitted":          {eventfile.Sink{Events: eventfile.SinkEmitted}, "order.paid order.sent", "order.paid order.sent"},
		"types":            {eventfile.Sink{Types: []string{"io.serverlessworkflow.workflow.", "order.s"}}, changes, changes},
		"types of neither": {eventfile.Sink{Events: eventfile.SinkEmitted, Types: []string{"io.serverlessworkflow.", "order.paid"}}, "order.paid", "order.paid"},
		"a namespace":      {eventfile.Sink{Events: eventfile.SinkEmitted, Namespaces: []string{"other"}}, "", "order.paid order.sent"},
		"changes of states": {
			eventfile.Sink{Types: []string{"io.serverlessworkflow.workflow.status-changed", "io.serverlessworkflow.task.status-changed"}, Namespaces: []string{"demo"}},
			"workflow.status-changed task.status-changed task.status-changed task.status-changed task.status-changed workflow.status-changed", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, got, end := newDeployment(t, ""), &received{}, &received{}
			c.to.Kind = "stdout"
			s, _ := d.run(c.to, got)
			control, _ := d.runAs("b", eventfile.Sink{Kind: "stdout", Types: []string{"io.serverlessworkflow.workflow.completed"}}, end)
			holds(t, s)
			holds(t, control)
			d.startDocument(fmt.Sprintf(emits, "demo"), "one")
			d.startDocument(fmt.Sprintf(emits, "other"), "two")
			waitFor(t, "the end of both runs", func() bool { return end.of("one")+end.of("two") == "workflow.completedworkflow.completed" })
			waitFor(t, "the events", func() bool { return got.of("one") == c.demo && got.of("two") == c.other })
		})
	}
}

// canary is a secret that must not be sent.
const canary = "kanari-7f3a-not-to-be-seen"

// leaks is a workflow with a secret in every possible place, which leads to every kind of event.
const leaks = `document: {dsl: 1.0.3, namespace: demo, name: leaks, version: 1.0.0}
use: {secrets: [api]}
do:
- keep: {set: {token: "${ $secrets.api.token }"}}
- emits:
    try: [{leak: {emit: {event: {with: {type: leak, data: "${ $secrets.api.token }"}}}}}]
    catch: {do: [{told: {emit: {event: {with: {type: told, data: "the other one"}}}}}]}
- encoded:
    try: [{leak: {emit: {event: {with: {type: leak, subject: "${ $secrets.api.token | @base64 }"}}}}}]
    catch: {retry: {delay: PT0.01S, limit: {attempt: {count: 1}}}, do: [{ok: {set: {ok: true}}}]}
- race: {fork: {compete: true, branches: [{slow: {wait: PT1H}}, {quick: {set: {token: "${ $secrets.api.token }"}}}]}}
- outer: {do: [{heard: {listen: {to: {one: {with: {type: go}}}}}}]}
- fails: {raise: {error: {type: https://example.com/x, status: 400, title: no, detail: "${ \"it was \" + $secrets.api.token }"}}}
`

// TestSecrets: a secret of a run reaches no sink: neither in any of the 18 types of lifecycle events, all of which arrive, nor in an emitted event,
// which is refused if it contains a secret.
func TestSecrets(t *testing.T) {
	d, got := newDeploymentWith(t, swrun.Host{Secrets: func(string) (any, bool) { return map[string]any{"token": canary}, true }}), &received{}
	s, _ := d.run(eventfile.Sink{Kind: "stdout", Types: []string{"io.serverlessworkflow.", "leak", "told"}}, got)
	holds(t, s)
	run := d.startDocument(leaks, "one")
	waitFor(t, "the listen", func() bool { return strings.Contains(got.of("one"), "workflow.correlation-started") })
	must(t, run.Suspend(t.Context(), "for "+canary))
	must(t, run.Resume(t.Context(), "why"))
	_, err := d.Publish(t.Context(), []map[string]any{{"id": "1", "source": "/s", "type": "go", "specversion": "1.0"}}, nil)
	must(t, err)
	waitFor(t, "the fault", func() bool { return strings.Contains(got.of("one"), "workflow.faulted") })
	d.start("good")
	must(t, d.startDocument(listens, "bad").Cancel(t.Context(), "for "+canary))
	waitFor(t, "the others", func() bool {
		return strings.Contains(got.of("good"), "workflow.completed") && strings.Contains(got.of("bad"), "workflow.cancelled")
	})
	all := got.text()
	for _, form := range []string{canary, canary[:12], canary[12:], "a2FuYXJpLTdmM2E"} {
		if strings.Contains(all, form) {
			t.Errorf("it got %s", form)
		}
	}
	for _, name := range progress.LifecycleTypes() {
		if !strings.Contains(all, `"type":"io.serverlessworkflow.`+name+`.v1"`) {
			t.Errorf("it got no %s", name)
		}
	}
	if !strings.Contains(all, `"type":"told"`) || strings.Contains(all, `"type":"leak"`) {
		t.Errorf("of what was emitted it got %s", all)
	}
	for _, text := range strings.Split(all, "\n") {
		checkShape(t, text)
	}
}

// checkShape checks an event with the library of CloudEvents and, for a lifecycle event, the members of its data in the specification.
func checkShape(t *testing.T, text string) {
	t.Helper()
	var e event.Event
	must(t, json.Unmarshal([]byte(text), &e))
	must(t, e.Validate())
	name, is := strings.CutPrefix(strings.TrimSuffix(e.Type(), ".v1"), "io.serverlessworkflow.")
	if !is {
		return
	}
	var data map[string]any
	must(t, e.DataAs(&data))
	what, verb, _ := strings.Cut(name, ".")
	verb = strings.TrimPrefix(verb, "correlation-")
	want := map[string][]string{"workflow": {"name"}, "task": {"workflow", "task"}}[what]
	if verb == "status-changed" {
		want = append(want, "status", "updatedAt")
	} else {
		want = append(want, verb+"At")
	}
	for member, of := range map[string][]string{"error": {"workflow.faulted", "task.faulted"}, "definition": {"workflow.started"}, "outputUri": {"workflow.completed"}} {
		if slices.Contains(of, name) {
			want = append(want, member)
		}
	}
	got := slices.Sorted(maps.Keys(data))
	slices.Sort(want)
	if !slices.Equal(got, want) || e.Subject() == "" || e.Time().IsZero() {
		t.Errorf("%s has %v, want %v: %s", name, got, want, text)
	}
}

// text returns everything that arrived.
func (r *received) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.all, "\n")
}

// with returns the arrived events with an id.
func (r *received) with(id string) (all []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, text := range r.all {
		if strings.Contains(text, `"id":"`+id+`"`) {
			all = append(all, text)
		}
	}
	return all
}
