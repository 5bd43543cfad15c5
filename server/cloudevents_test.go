package server_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/cloudevent"
	"github.com/swrun/swrun/internal/eventtest"
)

// TestCloudEvents sends every case to POST /v1/events, alone and in a batch. A valid event reaches a listening run unchanged. A batch with a wrong
// event publishes nothing.
func TestCloudEvents(t *testing.T) {
	d := mustDeployment(t)
	const good = `{"specversion": "1.0", "id": "beside", "source": "/s", "type": "beside"}`
	for _, c := range eventtest.Cases() {
		text, err := json.Marshal(c.Event)
		if err != nil {
			t.Fatal(err)
		}
		if !c.Valid {
			for media, body := range map[string]string{
				cloudevent.MediaEvent: string(text), cloudevent.MediaEvents: "[" + good + "," + string(text) + "]", "application/json": string(text),
			} {
				if a := d.ask(t, "POST", "/v1/events", body, "Content-Type", media); a.StatusCode != http.StatusUnprocessableEntity {
					t.Errorf("%s as %s: %s %s", c.Name, media, a.Status, a.body)
				}
			}
			continue
		}
		media, body := cloudevent.MediaEvent+"; charset=utf-8", string(text)
		if len(c.Name)%2 == 0 {
			media, body = cloudevent.MediaEvents, "["+body+"]"
		}
		a := d.heard(t, fmt.Sprint(c.Event["type"]), body, "Content-Type", media)
		want, err := json.Marshal([]any{c.Means})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(a.body); got != string(want) {
			t.Errorf("%s: it comes as\n%s, sent was\n%s", c.Name, got, want)
		}
	}
	for body, status := range map[string]int{"[]": 202, "[" + good + "," + good + "]": 202, `["text",` + good + `]`: 422, "null": 422, "{}": 422, "": 422} {
		if a := d.ask(t, "POST", "/v1/events", body, "Content-Type", cloudevent.MediaEvents); a.StatusCode != status && !(a.StatusCode/100 == 4 && status/100 == 4) {
			t.Errorf("the batch %q: %s %s", body, a.Status, a.body)
		}
	}
}

// heard publishes an event, and returns the output of a run that listens for its type.
func (d *deployment) heard(t *testing.T, kind, body string, headers ...string) answer {
	t.Helper()
	name := strings.ReplaceAll(kind, ".", "-")
	d.mustDeploy(t, name, fmt.Sprintf("do: [{l: {listen: {to: {one: {with: {type: %s}}}, read: envelope}}}]", kind))
	run := d.mustStart(t, name, name)
	d.until(t, name, func(r api.Description) bool { return r.Status == "waiting" })
	if a := d.ask(t, "POST", "/v1/events", body, headers...); a.StatusCode != http.StatusAccepted {
		t.Errorf("%s: %s %s", body, a.Status, a.body)
		return a
	}
	return d.ask(t, "GET", run+"/output?wait=30s", "")
}

// TestCloudEventsInHeaders sends events whose attributes are headers: the media type determines the form of the data, and attributes are texts,
// decoded as the binding requires.
func TestCloudEventsInHeaders(t *testing.T) {
	d := mustDeployment(t)
	base := map[string]string{"ce-specversion": "1.0", "ce-id": "b", "ce-source": "/s"}
	for n, c := range []struct {
		headers     map[string]string
		media, body string
		want        string // members of the event besides the members of base; empty if the event is refused
	}{
		{nil, "application/json", `{"message": "words"}`, `"data":{"message":"words"},"datacontenttype":"application/json"`},
		{nil, "application/json; charset=utf-8", `{"message": "words"}`, `"data":{"message":"words"},"datacontenttype":"application/json; charset=utf-8"`},
		{nil, "application/json; charset=iso-8859-1", "\"caf\xe9\"", `"data":"café","datacontenttype":"application/json; charset=iso-8859-1"`},
		{nil, "application/json", "\ufeff{\"a\":1}", `"data":{"a":1},"datacontenttype":"application/json"`},
		{nil, "text/plain", "words", `"data":"words","datacontenttype":"text/plain"`},
		{nil, "text/plain", "", `"datacontenttype":"text/plain"`},
		{nil, "application/octet-stream", "\x00\xff", `"data_base64":"AP8=","datacontenttype":"application/octet-stream"`},
		{map[string]string{"ce-time": "2020-02-29T23:59:59Z", "ce-subject": "caf%C3%A9%20%E2%98%95", "ce-myextension": "7"}, "", "", `"myextension":"7","subject":"café ☕","time":"2020-02-29T23:59:59Z"`},
		{map[string]string{"Ce-Subject": "plain"}, "", "", `"subject":"plain"`},
		{map[string]string{"ce-time": "noon"}, "", "", ""},
		{map[string]string{"ce-subject": ""}, "", "", ""},
		{map[string]string{"ce-subject": "%zz"}, "", "", ""},
		{map[string]string{"ce-my_extension": "x"}, "", "", ""},
		{map[string]string{"ce-specversion": "0.3"}, "", "", ""},
		{map[string]string{"ce-id": ""}, "", "", ""},
		{nil, "application/json", "{", ""},
	} {
		kind := fmt.Sprint("b", n)
		headers := maps.Clone(base)
		headers["ce-type"], headers["ce-id"] = kind, kind
		maps.Copy(headers, c.headers)
		pairs := []string{"Content-Type", c.media}
		for _, name := range slices.Sorted(maps.Keys(headers)) {
			pairs = append(pairs, name, headers[name])
		}
		if c.want == "" {
			if a := d.ask(t, "POST", "/v1/events", c.body, pairs...); a.StatusCode/100 != 4 {
				t.Errorf("%v %s: %s %s", c.headers, c.media, a.Status, a.body)
			}
			continue
		}
		var got, want any
		out := d.heard(t, kind, c.body, pairs...)
		text := fmt.Sprintf(`[{"specversion":"1.0","id":%q,"source":"/s","type":%q,%s}]`, kind, kind, c.want)
		if json.Unmarshal([]byte(out.body), &got) != nil || json.Unmarshal([]byte(text), &want) != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v %s %q: it comes as %s, want %s", c.headers, c.media, c.body, out.body, text)
		}
	}
}
