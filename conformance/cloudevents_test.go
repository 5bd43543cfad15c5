package conformance

import (
	"encoding/json"
	"sync/atomic"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/internal/progress"
	"github.com/swrun/swrun/runtime/local"
)

// TestEventsAreCloudEvents: the library of CloudEvents accepts each event that a case emits, and each lifecycle event of its run.
func TestEventsAreCloudEvents(t *testing.T) {
	var emitted, told atomic.Int64
	t.Run("", func(t *testing.T) {
		for _, c := range pacetest.Thinned(mustCases(t), 10) { // each case has one goroutine
			if !c.runs() {
				continue
			}
			t.Run(c.name, func(t *testing.T) {
				t.Parallel() // some wait for processes
				runs, events := mustTellCloudEvents(t, c)
				told.Add(runs)
				emitted.Add(events)
			})
		}
	})
	if emitted.Load() < int64(pacetest.Fewer(8, 8)) || told.Load() < int64(pacetest.Fewer(1000, 10)) {
		t.Errorf("only %d emitted events and %d of lifecycles", emitted.Load(), told.Load())
	}
}

// mustTellCloudEvents runs a case, and returns the number of lifecycle events of its runs and the number of events that it emitted.
func mustTellCloudEvents(t *testing.T, c testCase) (told, emitted int64) {
	t.Helper()
	d := newDriver(t, c)
	for _, i := range d.run() {
		for n, r := range i.records {
			r.Seq = n + 1
			for _, e := range progress.Lifecycle(progress.Run{Workflow: i.program().Workflow, ID: i.state.ID}, r) {
				mustBeCloudEvent(t, c.name, e.Event)
				told++
			}
		}
	}
	for _, e := range d.outside.events {
		mustBeCloudEvent(t, c.name, e)
		emitted++
	}
	return told, emitted
}

func mustBeCloudEvent(t *testing.T, name string, v any) {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var e event.Event
	if err := json.Unmarshal(text, &e); err != nil {
		t.Fatalf("%s: %s: %v", name, text, err)
	} else if err := e.Validate(); err != nil {
		t.Fatalf("%s: %s: %v", name, text, err)
	}
}

// TestEmittedEventsComeBack: an emitted event that the library reads and writes again is unchanged, for all attributes and data.
func TestEmittedEventsComeBack(t *testing.T) {
	for _, members := range []string{
		``, `subject: cow`, `subject: "größe ✓"`, `id: "7"`, `source: "https://example.com/cows?a=b#c"`, `source: "urn:x:y"`, `source: "#5"`, `time: "2026-01-31T12:00:00Z"`,
		`time: "2026-01-31T12:00:00.123456789Z"`, `time: "${ now | todate }"`, `dataschema: "https://example.com/schema"`, `datacontenttype: text/plain, data: a text`,
		`datacontenttype: application/xml, data: <a/>`, `datacontenttype: application/cloudevents+json, data: {a: 1}`, `datacontenttype: "text/plain; charset=utf-8", data: "ü"`,
		`specversion: "1.0"`, `shop: x`, `shop: 5`, `shop: -1`, `shop: true`, `shop: false`, `shop: ""`, `shop: 2147483647`, `shop: "${ .n }"`, `shop: null`,
		`data: {}`, `data: []`, `data: null`, `data: 0`, `data: -1.5`, `data: 1e-7`, `data: true`, `data: false`, `data: ""`, `data: a text`, `data: "line\nline"`,
		`data: [1, a, null, [true, {}]]`, `data: {order: {id: "o-7", lines: [{n: 1}]}}`, `data: "${ . }"`, `data: "${ [.[]] }"`, `data: "${ now }"`, `data: {"": {"": 1}}`, `data: "\"quoted\""`,
		`data_base64: eA==`, `data_base64: eA==, datacontenttype: image/png`, `traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01`,
	} {
		text := "document: {dsl: 1.0.3, namespace: demo, name: emitted, version: 1.0.0}\ndo:\n- e: {emit: {event: {with: {type: com.example.t, " + members + "}}}}\n"
		p, found := load("emitted.yaml", text, newOutside(nil).config)
		if err := found.Err(); err != nil {
			t.Fatal(members, err)
		}
		outcome, err := local.Run(t.Context(), p, map[string]any{"n": 7}, local.Config{Virtual: true, Now: epoch})
		if err != nil || outcome.Fault != nil {
			t.Fatal(members, err, outcome.Fault)
		}
		mustBeCloudEvent(t, members, outcome.Output)
		var read event.Event
		if err := json.Unmarshal([]byte(mustJSON(t, outcome.Output)), &read); err != nil {
			t.Fatal(members, err)
		}
		var again any
		if err := json.Unmarshal([]byte(mustJSON(t, read)), &again); err != nil {
			t.Fatal(members, err)
		}
		if diff := diffJSON(t, outcome.Output, again); diff != "" {
			t.Errorf("%s (-emitted +what the library has): %s", members, diff)
		}
	}
}
