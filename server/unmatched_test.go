package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/describe"
)

// orderEvent returns an event of the shop.
func orderEvent(kind, id, data string) string {
	return fmt.Sprintf(`{"specversion": "1.0", "id": "%s", "source": "/shop", "type": "%s", "data": %s}`, id, kind, data)
}

// listeningOf returns the listening state of the only task in progress, from the description of the run.
func (d *deployment) listeningOf(t *testing.T, run string) (*api.Listening, string) {
	t.Helper()
	described := mustRead[api.Description](t, d.ask(t, "GET", "/v1/runs/demo/"+run, ""), 200)
	if len(described.Open) != 1 || described.Open[0].Listening == nil {
		t.Fatalf("it does not listen: %+v", described.Open)
	}
	return described.Open[0].Listening, describe.Run(&described, "")
}

// TestEventsThatDoNotMatch: the description of a run lists the events of its types that arrived, and the reasons why it did not consume them.
func TestEventsThatDoNotMatch(t *testing.T) {
	d := mustDeployment(t)
	d.publish(t, orderEvent("paid", "unheard", `{"order": 7}`)) // no run listens yet, so that the event is not kept
	run := d.start(t, `do: [{l: {listen: {to: {all: [
  {with: {type: paid, data: {currency: EUR}}, correlate: {order: {from: .data.order, expect: .n}}},
  {with: {type: packed, subject: 'box-\d+'}},
  {with: {type: sent}}]}}}}]`).Instance.ID
	d.listens(t, run)
	if l, text := d.listeningOf(t, run); len(l.Unmatched) != 0 || strings.Contains(text, "has not consumed") {
		t.Errorf("before any event: %+v\n%s", l, text)
	}
	d.publish(t, orderEvent("paid", "other order", `{"order": 8, "currency": "EUR"}`))
	d.publish(t, orderEvent("paid", "other currency", `{"order": 7, "currency": "USD"}`))
	d.publish(t, orderEvent("packed", "no subject", `{}`))
	d.publish(t, orderEvent("unpaid", "other type", `{}`))
	d.publish(t, orderEvent("sent", "matches", `{}`))
	l, text := d.listeningOf(t, run)
	var told []string
	for _, u := range l.Unmatched {
		told = append(told, fmt.Sprintf("%s of %s: %v", u.ID, u.Source, u.Refusals))
	}
	const first, second = "/do/0/l/listen/to/all/0", "/do/0/l/listen/to/all/1"
	for n, want := range []string{
		"other order of /shop: [{" + first + " 3 correlate.order it is 8 instead of 7}",
		"other currency of /shop: [{" + first + " 3 data.currency it is \"USD\" instead of \"EUR\"}",
		"no subject of /shop: [{" + first,
	} {
		if n >= len(told) || !strings.HasPrefix(told[n], want) {
			t.Errorf("%q, want %s", told, want)
		}
	}
	if len(told) != 3 || !strings.Contains(told[2], second+" 4 subject the event has none") {
		t.Errorf("%q", told)
	}
	for _, want := range []string{
		"Events that /do/0/l has not consumed, the oldest first:\n", " paid (id other order of /shop): " + first, "correlate.order: it is 8 instead of 7",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// TestEventsThatCameTooEarly: an event that would have matched before the task listened is listed, and a consumed event is not.
func TestEventsThatCameTooEarly(t *testing.T) {
	d := mustDeployment(t)
	early := d.start(t, `do: [{l: {listen: {to: {one: {with: {type: never}}}}}}, {w: {wait: PT0.2S}}, {m: {listen: {to: {one: {with: {type: go}}}}}}]`).Instance.ID
	d.listens(t, early)
	other := d.start(t, `do: [{l: {listen: {to: {any: [{with: {type: go}}], until: 'length == 3'}}}}]`).Instance.ID // so that a run listens
	d.listens(t, other)
	d.publish(t, orderEvent("go", "early", `{}`))
	d.publish(t, orderEvent("never", "first", `{}`))
	d.until(t, early, func(described api.Description) bool {
		return len(described.Open) == 1 && described.Open[0].Pointer == "/do/2/m" && described.Open[0].Listening != nil
	})
	d.until(t, other, func(described api.Description) bool { return described.Open[0].Listening.Consumed == 1 })
	l, text := d.listeningOf(t, early)
	if len(l.Unmatched) != 1 || l.Unmatched[0].ID != "early" || !l.Unmatched[0].Early || !strings.Contains(text, "it came before the task listened") {
		t.Errorf("%+v\n%s", l.Unmatched, text)
	}
	if l, _ := d.listeningOf(t, other); len(l.Unmatched) != 0 || l.Consumed != 1 {
		t.Errorf("it has consumed its event, and still: %+v", l)
	}
}

// TestUnmatchedEventsAreBounded: the last few of many events are listed, the first few of many filters, and of large events only their arrival.
func TestUnmatchedEventsAreBounded(t *testing.T) {
	d := mustDeployment(t)
	filters := strings.Repeat(`{with: {type: paid, subject: s}}, `, 1000)
	run := d.start(t, `do: [{l: {listen: {to: {any: [`+strings.TrimSuffix(filters, ", ")+`]}}}}]`).Instance.ID
	d.listens(t, run)
	for n := range 15 {
		d.publish(t, orderEvent("paid", fmt.Sprint(n), `{}`))
	}
	l, _ := d.listeningOf(t, run)
	if len(l.Unmatched) != 5 || l.Unmatched[0].ID != "10" || len(l.Unmatched[0].Refusals) != 3 || l.Unmatched[0].More != 997 {
		t.Errorf("%+v", l.Unmatched)
	}
	d.publish(t, orderEvent("paid", "large", `"`+strings.Repeat("x", 100_000)+`"`))
	l, text := d.listeningOf(t, run)
	if last := l.Unmatched[4]; last.ID != "large" || !last.Large || len(last.Refusals) > 0 || !strings.Contains(text, "too large") {
		t.Errorf("%+v\n%s", last, text)
	}
}

func (d *deployment) publish(t *testing.T, event string) {
	t.Helper()
	if a := d.ask(t, "POST", "/v1/events", event); a.StatusCode != 202 {
		t.Fatal(a.Status, a.body)
	}
}
