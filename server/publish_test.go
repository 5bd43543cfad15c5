package server_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/internal/access"
	"github.com/swrun/swrun/internal/api"
)

const paid = `{"specversion": "1.0", "id": "%s", "source": "/shop", "type": "paid", "data": {"order": %d}}`

// TestPublishEvents: an event in each mode reaches the run that listens for it, once, and the answer lists the listeners.
func TestPublishEvents(t *testing.T) {
	d := mustDeployment(t)
	run := d.start(t, `do: [{l: {listen: {to: {any: [{with: {type: paid}, correlate: {order: {from: .data.order, expect: .n}}}], until: length == 4}}}}]`)
	d.listens(t, run.Instance.ID)
	name := fmt.Sprintf(`[{"id":"%s","namespace":"demo"}]`, run.Instance.ID)
	for _, c := range []struct{ what, headers, body, want string }{
		{"another order", "", fmt.Sprintf(paid, "0", 8), `{"accepted":1,"matched":[],"started":[],"unmatched":1}`},
		{"structured", "Content-Type: application/cloudevents+json", fmt.Sprintf(paid, "1", 7), `{"accepted":1,"matched":` + name + `,"started":[],"unmatched":0}`},
		{"again", "Content-Type: application/cloudevents+json", fmt.Sprintf(paid, "1", 7), `{"accepted":1,"matched":[],"repeated":1,"started":[],"unmatched":0}`},
		{"structured, with the same headers", "Content-Type: application/cloudevents+json\nCe-Id: 1\nCe-Type: paid", fmt.Sprintf(paid, "1", 7), `{"accepted":1,"matched":[],"repeated":1,"started":[],"unmatched":0}`},
		{"a batch", "Content-Type: application/cloudevents-batch+json", "[" + fmt.Sprintf(paid, "2", 7) + "," + fmt.Sprintf(paid, "3", 9) + "]", `{"accepted":2,"matched":` + name + `,"started":[],"unmatched":1}`},
		{"JSON", "Content-Type: application/json", fmt.Sprintf(paid, "4", 7), `{"accepted":1,"matched":` + name + `,"started":[],"unmatched":0}`},
		{"binary", "Content-Type: application/json\nCe-Id: 5\nCe-Source: /shop\nCe-Type: paid\nCe-Specversion: 1.0", `{"order": 7}`, `{"accepted":1,"matched":` + name + `,"started":[],"unmatched":0}`},
	} {
		a := d.ask(t, "POST", "/v1/events", c.body, headers(c.headers)...)
		if a.StatusCode != 202 || strings.TrimSpace(a.body) != c.want {
			t.Errorf("%s: %s: %s, want %s", c.what, a.Status, a.body, c.want)
		}
	}
	if a := d.ask(t, "POST", "/v1/events", "", headers("Ce-Id: 6\nCe-Source: /shop\nCe-Type: shipped\nCe-Specversion: 1.0")...); a.StatusCode != 202 {
		t.Errorf("without data: %s, %s", a.Status, a.body)
	}
	result, err := run.Await(t.Context())
	if err != nil || fmt.Sprint(result.Output) != "[map[order:7] map[order:7] map[order:7] map[order:7]]" {
		t.Errorf("the run ends with %v, %v", result.Output, err)
	}
}

// TestEventsThatAreRefused: a body that is no event, or another event with the same source and id, is refused.
func TestEventsThatAreRefused(t *testing.T) {
	d := mustDeployment(t)
	if a := d.ask(t, "POST", "/v1/events", fmt.Sprintf(paid, "1", 7)); a.StatusCode != 202 {
		t.Fatal(a.Status, a.body)
	}
	for _, c := range []struct{ headers, body, name, detail string }{
		{"", fmt.Sprintf(paid, "1", 8), "other-event", "another event was published as 1 of the source /shop"},
		{"", "", "invalid-request", "the text ends too early"},
		{"", "null", "invalid-request", "neither one event nor a list"},
		{"", "[5]", "invalid-request", "an event is an object"},
		{"", "{", "invalid-request", ""},
		{"", `{"a": 1, "a": 2}`, "invalid-request", ""},
		{"", `{"specversion": "1.0", "id": "1", "source": "/s"}`, "invalid-request", "event 1: an event needs `type`"},
		{"", `[` + fmt.Sprintf(paid, "9", 1) + `, {"specversion": "1.0", "id": "", "type": "t", "source": "/s"}]`, "invalid-request", "event 2: `id` of an event must not be empty"},
		{"", `{"specversion": "0.3", "id": "1", "type": "t", "source": "/s"}`, "invalid-request", "must be 1.0"},
		{"", `{"specversion": "1.0", "id": "1", "type": "t", "source": "/s", "time": "soon"}`, "invalid-request", "must be a date and time"},
		{"", `{"specversion": "1.0", "id": "1", "type": "t", "source": "/s", "Shop": "x"}`, "invalid-request", "cannot be an attribute"},
		{"", `{"specversion": "1.0", "id": "1", "type": "t", "source": "/s", "shop": {}}`, "invalid-request", "must be text, a number or a boolean"},
		{"", `{"specversion": "1.0", "id": "1", "type": "t", "source": "/s", "data": 1, "data_base64": "eA=="}`, "invalid-request", "not both"},
		{"Content-Type: application/cloudevents+json", "[" + fmt.Sprintf(paid, "1", 7) + "]", "invalid-request", "as its Content-Type says"},
		{"Content-Type: application/cloudevents+json\nCe-Id: 2\nCe-Source: /shop\nCe-Type: paid\nCe-Specversion: 1.0", fmt.Sprintf(paid, "1", 7), "invalid-request", "the header ce-id is another one than `id` of the event"},
		{"Content-Type: application/cloudevents+json\nCe-Shop: x", fmt.Sprintf(paid, "1", 7), "invalid-request", "the header ce-shop is another one"},
		{"Content-Type: multipart/form-data; boundary=x", "--x\r\n\r\n{}\r\n--x--", "invalid-request", ""},
		{"Content-Type: application/json\nCe-Id: %zz\nCe-Type: t", "1", "invalid-request", "Ce-Id"},
		{"Content-Type: text/plain\nCe-Id: 1\nCe-Specversion: 1.0\nCe-Source: /s", "x", "invalid-request", "an event needs `type`"},
	} {
		p := d.ask(t, "POST", "/v1/events", c.body, headers(c.headers)...).isProblem(t, 422, c.name)
		if !strings.Contains(p.Detail, c.detail) {
			t.Errorf("%s: %s, want %s", c.body, p.Detail, c.detail)
		}
	}
	large := `[` + fmt.Sprintf(paid, "8", 1) + `, {"specversion": "1.0", "id": "10", "source": "/s", "type": "t", "data": "` + strings.Repeat("x", 3<<20) + `"}]`
	p := d.ask(t, "POST", "/v1/events", large).isProblem(t, 413, "too-large")
	if p.Detail != "event 2: an event: 3 MiB, and at most 1 MiB are allowed (limit event)" || p.Limit == nil || p.Limit.Max != 1<<20 {
		t.Errorf("one that is too large for runs: %s, %v", p.Detail, p.Limit)
	}
	d.ask(t, "POST", "/v1/events", "["+strings.Repeat(fmt.Sprintf(paid, "1", 7)+",", 200_000)+"1]").isProblem(t, 413, "too-large")
	if runs := mustRead[[]api.Run](t, d.ask(t, "GET", "/v1/runs", ""), 200); len(runs) != 0 {
		t.Errorf("there are runs: %v", runs)
	}
}

// TestEventsOfABatch: an event whose source and id belong to another published event is refused and named alone, regardless of the events before and
// after it. A repeated batch has no second effect.
func TestEventsOfABatch(t *testing.T) {
	d := mustDeployment(t)
	run := d.start(t, `do: [{l: {listen: {to: {any: [{with: {type: paid}}], until: length == 3}}}}]`)
	d.listens(t, run.Instance.ID)
	batch := "[" + strings.Join([]string{fmt.Sprintf(paid, "1", 1), fmt.Sprintf(paid, "1", 9), fmt.Sprintf(paid, "2", 2), fmt.Sprintf(paid, "2", 9), fmt.Sprintf(paid, "3", 3)}, ",") + "]"
	const other = "another event was published as %d of the source /shop: give each event an id of its own"
	want := []api.FieldError{{Location: "body[1]", Message: fmt.Sprintf(other, 1)}, {Location: "body[3]", Message: fmt.Sprintf(other, 2)}}
	for range 2 {
		p := d.ask(t, "POST", "/v1/events", batch).isProblem(t, 422, "other-event")
		if diff := cmp.Diff(want, p.Errors); diff != "" || !strings.HasSuffix(p.Detail, "; 3 of 5 events are published") {
			t.Errorf("it says %q; errors (-want +got):\n%s", p.Detail, diff)
		}
	}
	result, err := run.Await(t.Context())
	if err != nil || fmt.Sprint(result.Output) != "[map[order:1] map[order:2] map[order:3]]" {
		t.Errorf("the run ends with %v, %v", result.Output, err)
	}
	malformed := d.ask(t, "POST", "/v1/events", `[{"specversion": "1.0"}, `+fmt.Sprintf(paid, "7", 7)+`, {"specversion": "1.0", "id": "8", "source": "/s"}]`).isProblem(t, 422, "invalid-request")
	if len(malformed.Errors) != 2 || malformed.Errors[0].Location != "body[0]" || malformed.Errors[1].Location != "body[2]" {
		t.Errorf("those that are no events: %+v", malformed)
	}
	if a := d.ask(t, "POST", "/v1/events", fmt.Sprintf(paid, "7", 7)); !strings.Contains(a.body, `"accepted":1`) || strings.Contains(a.body, `repeated`) {
		t.Errorf("with them, another one was published: %s", a.body)
	}
}

// headers returns the names and values of lines.
func headers(lines string) (all []string) {
	for line := range strings.Lines(lines) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		all = append(all, name, value)
	}
	return all
}

// listens waits until a run listens.
func (d *deployment) listens(t *testing.T, id string) {
	t.Helper()
	for {
		described := mustRead[api.Description](t, d.ask(t, "GET", "/v1/runs/demo/"+id, ""), 200)
		if strings.Contains(described.Why, "listens") {
			return
		}
		if described.ClosedAt != "" {
			t.Fatalf("the run has ended: %s", described.Why)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestTooManyEvents: a request with more events than one request may publish is refused with the limit, and none of its events is published.
func TestTooManyEvents(t *testing.T) {
	d := mustDeployment(t)
	const most = 5000
	var all []string
	for n := range most + 1 {
		all = append(all, fmt.Sprintf(paid, fmt.Sprint(n), n))
	}
	p := d.ask(t, "POST", "/v1/events", "["+strings.Join(all, ",")+"]").isProblem(t, 413, "too-large")
	if p.Limit == nil || *p.Limit != (api.LimitExceeded{Name: "events", Max: most, Value: most + 1}) || !strings.Contains(p.Detail, "nothing was published") {
		t.Errorf("the problem is %+v, with the limit %+v", p, p.Limit)
	}
	a := d.ask(t, "POST", "/v1/events", "["+strings.Join(all[:most], ",")+"]")
	var published api.Published
	if err := json.Unmarshal([]byte(a.body), &published); err != nil || a.StatusCode != 202 || published.Accepted != most || published.Repeated != 0 {
		t.Errorf("%s: %.500s", a.Status, a.body)
	}
}

// TestEventsForSomeNamespaces: an event for some namespaces does not affect other namespaces. An event for all namespaces reaches each of them.
func TestEventsForSomeNamespaces(t *testing.T) {
	g := mustGuard(t, nil)
	author := func(name string, grant access.Grant) func(body string) *httptest.ResponseRecorder {
		grant.Role = access.RoleAuthor
		token := g.token(t, name, grant)
		return func(body string) *httptest.ResponseRecorder {
			return g.send("POST", "/v1/events", body, "Authorization", token)
		}
	}
	shop, other := author("shop", access.Grant{Namespaces: []string{"shop"}}), author("other", access.Grant{Namespaces: []string{"other"}})
	both, all := author("both", access.Grant{Namespaces: []string{"other", "shop"}}), author("all", access.Grant{Everywhere: true})
	admin := g.token(t, "admin", access.Grant{Role: access.RoleAdmin, Everywhere: true})
	for _, namespace := range []string{"shop", "other"} {
		document := "document: {dsl: 1.0.3, namespace: " + namespace + ", name: begins, version: 1.0.0}\nschedule: {on: {one: {with: {type: paid}}}}\ndo: [{a: {set: {n: 1}}}]\n"
		if w := g.send("PUT", "/v1/workflows/"+namespace+"/begins/1.0.0", document, "Authorization", admin); w.Code != 201 {
			t.Fatal(w.Code, w.Body)
		}
	}
	for _, c := range []struct {
		what    string
		publish func(string) *httptest.ResponseRecorder
		id      string
		order   int
		want    string // the namespaces of the started runs, or the refusal
	}{
		{"for one", shop, "1", 7, "shop"},
		{"again", shop, "1", 7, "repeated"},
		{"another one as that", shop, "1", 8, "422"},
		{"for the other one", other, "1", 7, "other"},
		{"for both", both, "2", 7, "other shop"},
		{"for all", all, "3", 7, "other shop"},
		{"for one, what came for all", shop, "3", 7, "repeated"},
		{"for one, another one as that", shop, "3", 8, "422"},
		{"another one for each", shop, "4", 7, "shop"},
		{"another one for each, the other one", other, "4", 8, "other"},
	} {
		w := c.publish(fmt.Sprintf(paid, c.id, c.order))
		got := fmt.Sprint(w.Code)
		if w.Code == 202 {
			var answer api.Published
			if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, run := range answer.Started {
				names = append(names, run.Namespace)
			}
			if slices.Sort(names); answer.Repeated > 0 {
				names = append(names, "repeated")
			}
			got = strings.Join(names, " ")
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s: %s", c.what, got, c.want, w.Body)
		}
	}
}

// TestPublishInANamespace: with a namespace, the events reach only runs of that namespace. A namespace that the caller does not see does not exist
// for the caller.
func TestPublishInANamespace(t *testing.T) {
	g := mustGuard(t, nil)
	root := g.token(t, "root", access.Grant{Role: access.RoleAdmin, Everywhere: true})
	mine := g.token(t, "mine", access.Grant{Role: access.RoleAuthor, Namespaces: []string{"mine", "third"}})
	for _, namespace := range []string{"mine", "other", "third"} {
		document := "document: {dsl: 1.0.3, namespace: " + namespace + ", name: hears, version: 1.0.0}\nschedule: {on: {one: {with: {type: go}}}}\ndo: [{a: {wait: {hours: 1}}}]"
		if w := g.send("PUT", "/v1/workflows/"+namespace+"/hears/1.0.0", document, "Authorization", root); w.Code != 201 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	for n, c := range []struct {
		caller, query, want string
		status              int
	}{
		{root, "", "mine other third", 202}, {root, "?namespace=other", "other", 202}, {mine, "", "mine third", 202}, {mine, "?namespace=third", "third", 202},
		{mine, "?namespace=other", "", 404}, {mine, "?namespace=nowhere", "", 404}, {root, "?namespace=nowhere", "", 202}, {root, "?namespace=o+t", "", 422}, {mine, "?namespace=*", "", 422},
		{root, "?namespace=", "", 422},
	} {
		g.now.pass(time.Second)
		w := g.send("POST", "/v1/events"+c.query, fmt.Sprintf(`{"specversion": "1.0", "id": "%d", "source": "/s", "type": "go"}`, n), "Authorization", c.caller)
		var done api.Published
		if err := json.Unmarshal(w.Body.Bytes(), &done); err != nil {
			t.Fatal(err)
		}
		var started []string
		for _, run := range done.Started {
			started = append(started, run.Namespace)
		}
		slices.Sort(started)
		if w.Code != c.status || strings.Join(started, " ") != c.want {
			t.Errorf("%q: %d %s", c.query, w.Code, w.Body)
		}
	}
}
