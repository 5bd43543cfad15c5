package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/swrun/swrun/expr"
)

// TestEventsOfTheLibrary: events of the library of CloudEvents are accepted in each mode, and reach a run as the same events.
func TestEventsOfTheLibrary(t *testing.T) {
	d := mustDeployment(t)
	run := d.start(t, `do: [{l: {listen: {to: {any: [{with: {type: paid}}], until: length == 9}, read: envelope}}}]`)
	d.listens(t, run.Instance.ID)
	all := eventsOfTheLibrary(t)
	var sent []event.Event
	post := func(e event.Event, body any, headers ...string) {
		t.Helper()
		text, ok := body.([]byte)
		if !ok {
			text = mustEncode(t, body)
		}
		if a := d.ask(t, "POST", "/v1/events", string(text), headers...); a.StatusCode != 202 {
			t.Errorf("%s: %s: %s", e.ID(), a.Status, a.body)
		}
		sent = append(sent, e)
	}
	for n, e := range all {
		e = e.Clone()
		e.SetID(fmt.Sprint("structured ", n))
		post(e, e, "Content-Type", "application/cloudevents+json")
		e = e.Clone()
		e.SetID(fmt.Sprint("batch ", n))
		post(e, []event.Event{e}, "Content-Type", "application/cloudevents-batch+json")
		e = e.Clone()
		e.SetID(fmt.Sprint("binary ", n))
		post(e, e.Data(), binaryHeaders(e)...)
	}
	result, err := run.Await(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, _ := result.Output.([]any)
	if len(got) != len(sent) {
		t.Fatalf("%d events came, of %d", len(got), len(sent))
	}
	for n, v := range got {
		text, err := expr.Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		var came event.Event
		if err := json.Unmarshal(text, &came); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got, want := attributesAndData(t, came), attributesAndData(t, sent[n]); came.Validate() != nil || got != want {
			t.Errorf("came %s, sent %s: %v", got, want, came.Validate())
		}
	}
}

// attributesAndData returns equal texts for equal events, regardless of the encoding of their data.
func attributesAndData(t *testing.T, e event.Event) string {
	t.Helper()
	data := string(e.Data())
	e.DataEncoded = nil
	return fmt.Sprintf("%s with %q", mustEncode(t, e), data)
}

// eventsOfTheLibrary are events with each kind of data and all attributes.
func eventsOfTheLibrary(t *testing.T) []event.Event {
	t.Helper()
	all := make([]event.Event, 3)
	for n, data := range []struct {
		media string
		v     any
	}{{"application/json", map[string]any{"order": 7}}, {"text/plain", "größer"}, {"application/octet-stream", []byte{0, 0xff}}} {
		e := event.New()
		e.SetSource("https://example.com/shop")
		e.SetType("paid")
		e.SetSubject("Käse 5%")
		e.SetTime(time.Date(2026, 1, 31, 9, 30, 0, 5000, time.UTC))
		e.SetDataSchema("https://example.com/order")
		e.SetExtension("shop", "a b")
		if err := e.SetData(data.media, data.v); err != nil {
			t.Fatal(err)
		}
		all[n] = e
	}
	return all
}

// binaryHeaders are the attributes of an event in its HTTP binding.
func binaryHeaders(e event.Event) []string {
	all := []string{"Content-Type", e.DataContentType()}
	for name, text := range map[string]string{
		"id": e.ID(), "source": e.Source(), "type": e.Type(), "specversion": e.SpecVersion(), "subject": "K%C3%A4se%205%25",
		"time": e.Time().Format(time.RFC3339Nano), "dataschema": e.DataSchema(), "shop": "a%20b",
	} {
		all = append(all, http.CanonicalHeaderKey("ce-"+name), text)
	}
	return all
}

func mustEncode(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
