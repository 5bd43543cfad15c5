package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/cloudevent"
	"github.com/swrun/swrun/internal/deadletter"
)

func (d *deployment) mustKeepDead(t *testing.T, source, body string, namespaces ...string) (id string) {
	t.Helper()
	m := deadletter.Message{
		Source: source, Kind: "kafka", Namespaces: namespaces, Place: "orders/0 offset 7", Why: "why " + canary, Headers: map[string][]string{"ce_id": {canary}},
		Message: cloudevent.Message{ContentType: "application/cloudevents+json", Body: []byte(body)},
	}
	if err := deadletter.Keep(t.Context(), d.store, m); err != nil {
		t.Fatal(err)
	}
	for _, m := range mustRead[[]api.DeadMessage](t, d.ask(t, "GET", "/v1/events/dead?source="+source, ""), http.StatusOK) {
		id = m.ID
	}
	return id
}

const aliceEvent = `{"specversion": "1.0", "id": "a-1", "source": "/s", "type": "paid", "data": {"n": 1}}`

// TestDeadMessages: a message that a source could not publish is listed, shown, published when this becomes possible, and dropped. A message that
// still cannot be published is kept with the reason.
func TestDeadMessages(t *testing.T) {
	d := mustDeployment(t)
	d.mustDeploy(t, "waits", "do: [{l: {listen: {to: {one: {with: {type: paid}}}}}}]")
	run := d.mustStart(t, "waits", "w")
	d.listens(t, "w")
	event, none := d.mustKeepDead(t, "orders", aliceEvent), d.mustKeepDead(t, "orders", "{")
	shown := mustRead[api.DeadMessageContent](t, d.ask(t, "GET", "/v1/events/dead/one?id="+event, ""), http.StatusOK)
	if shown.Body != aliceEvent || shown.Kind != "kafka" || shown.Headers["ce_id"][0] != canary || shown.Times != 1 {
		t.Errorf("it is shown as %+v", shown)
	}
	results := mustRead[[]api.DeadMessageResult](t, d.ask(t, "POST", "/v1/events/dead/retry", `{"ids": ["orders"], "reason": "mended"}`), http.StatusOK)
	for _, r := range results {
		if r.Done != (r.ID == event) || r.Done == (r.Error != "") {
			t.Errorf("it became %+v", r)
		}
	}
	if a := d.ask(t, "GET", run+"/output?wait=30s", ""); a.StatusCode != http.StatusOK || !strings.Contains(a.body, `"n":1`) {
		t.Errorf("the run that listens: %s %s", a.Status, a.body)
	}
	if left := mustRead[[]api.DeadMessage](t, d.ask(t, "GET", "/v1/events/dead", ""), http.StatusOK); len(results) != 2 || len(left) != 1 || left[0].ID != none {
		t.Errorf("left: %+v of %+v", left, results)
	}
	if health := d.ask(t, "GET", "/v1/health", "").body; !strings.Contains(health, "SD021") {
		t.Errorf("health says %s", health)
	}
	if metrics := d.ask(t, "GET", "/metrics", "").body; !strings.Contains(metrics, `swrun_source_dead_letters{kind="kafka",source="orders"} 1`) {
		t.Error("the metrics do not count it")
	}
	mustRead[[]api.DeadMessageResult](t, d.ask(t, "POST", "/v1/events/dead/drop", `{"ids": ["`+none+`"]}`), http.StatusOK)
	for _, ask := range [][2]string{
		{"GET", "/v1/events/dead/one?id=" + none}, {"GET", "/v1/events/dead/one?id=x"}, {"GET", "/v1/events/dead/one?id=a/b/c"}, {"POST", "/v1/events/dead/retry"}, {"POST", "/v1/events/dead/drop"},
	} {
		body := ""
		if ask[0] == "POST" {
			body = `{"ids": ["orders"]}`
		}
		if a := d.ask(t, ask[0], ask[1], body); a.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s %s", ask, a.Status, a.body)
		}
	}
	for _, body := range []string{``, `null`, `{}`, `{"ids": []}`, `{"ids": null}`, `{"ids": "orders"}`, `[]`} {
		if a := d.ask(t, "POST", "/v1/events/dead/drop", body); a.StatusCode/100 != 4 || a.StatusCode == http.StatusNotFound {
			t.Errorf("%s: %s %s", body, a.Status, a.body)
		}
	}
}

// TestDeadMessagesOfOthers: a caller of some namespaces sees and publishes the messages of sources that reach only these namespaces. A token that
// hides data sees neither the reason nor the content.
func TestDeadMessagesOfOthers(t *testing.T) {
	d, hidden := mustHide(t)
	all, mine, both := d.mustKeepDead(t, "all", "{"), d.mustKeepDead(t, "mine", "{", "mine"), d.mustKeepDead(t, "both", "{", "mine", "other")
	issued := mustRead[api.IssuedToken](t, d.ask(t, "POST", "/v1/tokens", `{"name": "ops", "role": "operator", "namespaces": ["mine"]}`), http.StatusCreated)
	as := func(method, path, body string) answer {
		return d.ask(t, method, path, body, "Authorization", "Bearer "+issued.Text)
	}
	if seen := mustRead[[]api.DeadMessage](t, as("GET", "/v1/events/dead", ""), http.StatusOK); len(seen) != 1 || seen[0].ID != mine {
		t.Errorf("seen: %+v", seen)
	}
	for _, id := range []string{all, both} {
		for _, a := range []answer{
			as("GET", "/v1/events/dead/one?id="+id, ""), as("POST", "/v1/events/dead/retry", `{"ids": ["`+id+`"]}`), as("POST", "/v1/events/dead/drop", `{"ids": ["`+id+`"]}`),
			as("POST", "/v1/events/dead/drop", `{"ids": ["`+strings.Split(id, "/")[0]+`"]}`), as("GET", "/v1/events/dead?namespace=other", ""),
		} {
			if a.StatusCode != http.StatusNotFound {
				t.Errorf("%s: %s %s", id, a.Status, a.body)
			}
		}
	}
	for _, path := range []string{"/v1/events/dead", "/v1/events/dead/one?id=" + all} {
		a := d.ask(t, "GET", path, "", "Authorization", hidden)
		if a.StatusCode != http.StatusOK || strings.Contains(a.body, canary) || strings.Contains(a.body, `"{"`) {
			t.Errorf("%s: %s %s", path, a.Status, a.body)
		}
	}
}
