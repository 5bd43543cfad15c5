package server_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/access"
)

// asksNamespace are the parameters and the body, besides the namespace, of requests for each operation that takes a namespace outside of its path.
func asksNamespace() map[string]string {
	return map[string]string{
		"listRuns": "limit=100&summary=true", "countRuns": "by=namespace", "findRuns": "name=run", "listDeadlines": "within=2h", "followRuns": "",
		"listUnmatchedEvents": "limit=100", "listListeners": "limit=100", "listTrouble": "all=true",
		"listDeadMessages": "",
		"repair":           "", // for callers that see all namespaces
		"publishEvents":    "", // see TestPublishInANamespace
		// TestNamespaceOnADeadMessage covers these.
		"getDeadMessage": "", "retryDeadMessages": "", "dropDeadMessages": "",
		// TestTroubleOfOthers covers these.
		"acknowledgeTrouble": "", "unacknowledgeTrouble": "",
		"pollActivities": `"queues": ["default"], "limit": 100, "wait": %q, "worker": "w"`,
	}
}

// takesNamespace returns the operations of /openapi.json that take a namespace as a parameter of the query, or in their body.
func (g *guarded) takesNamespace(t *testing.T, authorization string) (all []described) {
	t.Helper()
	type schema struct {
		Ref        string `json:"$ref"`
		Properties map[string]json.RawMessage
	}
	var document struct {
		Paths map[string]map[string]struct {
			ID          string `json:"operationId"`
			Parameters  []struct{ Name, In string }
			RequestBody struct {
				Content map[string]struct{ Schema schema }
			}
		}
		Components struct{ Schemas map[string]schema }
	}
	w := g.send("GET", "/openapi.json", "", "Authorization", authorization)
	if err := json.Unmarshal(w.Body.Bytes(), &document); err != nil {
		t.Fatal(err)
	}
	for path, methods := range document.Paths {
		for method, o := range methods {
			takes := false
			for _, p := range o.Parameters {
				takes = takes || p.In == "query" && p.Name == "namespace"
			}
			for _, c := range o.RequestBody.Content {
				of := document.Components.Schemas[c.Schema.Ref[strings.LastIndex(c.Schema.Ref, "/")+1:]]
				takes = takes || of.Properties["namespace"] != nil
			}
			if takes {
				all = append(all, described{ID: o.ID, method: strings.ToUpper(method), path: path})
			}
		}
	}
	return all
}

// asked is a request for a namespace, and the expected answer.
type asked struct {
	caller    string   // the owner of the token
	sees      []string // the namespaces of the token
	namespace string   // the requested namespace; empty for all
}

// TestNamespaceOnEveryOperation calls every operation that takes a namespace, with tokens for one namespace, for two, and for all: for their own
// namespace, for another one, and for all that they see. For a caller, a namespace that it does not see does not exist. A request for a namespace
// returns the content of that namespace and nothing else, regardless of the earlier requests of others.
func TestNamespaceOnEveryOperation(t *testing.T) {
	g := mustGuard(t, nil)
	g.now.run()
	defer working(t, g.engine)()
	all := []string{"mine", "other", "third"}
	tokens := map[string]string{"root": g.token(t, "root", access.Grant{Role: access.RoleAdmin, Everywhere: true})}
	callers := []asked{{caller: "root", sees: all}}
	for name, sees := range map[string][]string{"one": {"mine"}, "two": {"mine", "third"}, "stranger": {"nowhere"}} {
		tokens[name] = g.token(t, name, access.Grant{Role: access.RoleAdmin, Namespaces: sees})
		callers = append(callers, asked{caller: name, sees: sees})
	}
	for _, namespace := range all {
		g.deployActivity(t, namespace, tokens["root"])
	}
	runs := 0
	start := func(t *testing.T) {
		runs++
		for _, namespace := range all {
			body := fmt.Sprintf(`{"workflow": "%s/a", "id": "run-%d", "executionTimeout": "1h"}`, namespace, runs)
			if w := g.send("POST", "/v1/runs", body, "Authorization", tokens["root"]); w.Code != 201 {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
		}
	}
	start(t)
	for _, namespace := range all {
		g.troubled(t, namespace, tokens["root"])
		g.keepDead(t, "from-"+namespace, namespace)
	}
	found := g.takesNamespace(t, tokens["root"])
	if len(found) != len(asksNamespace()) {
		t.Errorf("%d operations take a namespace, and %d are in the table", len(found), len(asksNamespace()))
	}
	for _, o := range found {
		if slices.Contains([]string{"repair", "publishEvents", "getDeadMessage", "retryDeadMessages", "dropDeadMessages", "acknowledgeTrouble", "unacknowledgeTrouble"}, o.ID) {
			continue
		}
		for _, by := range callers {
			for _, by.namespace = range append(slices.Clone(all), "", "nowhere") {
				t.Run(fmt.Sprintf("%s of %q as %s", o.ID, by.namespace, by.caller), func(t *testing.T) {
					if o.ID == "pollActivities" {
						start(t) // there is an activity to take, which the earlier polls have looked for
					}
					g.asks(t, o, by, tokens[by.caller])
				})
			}
		}
	}
}

// deployActivity deploys a workflow with one activity, whose type has the name of its namespace.
func (g *guarded) deployActivity(t *testing.T, namespace, authorization string) {
	t.Helper()
	document := "document: {dsl: 1.0.3, namespace: " + namespace + ", name: a, version: 1.0.0}\ndo: [{a: {call: 'activity:1.0.0@default', with: {type: " + namespace + "}}}]"
	if w := g.send("PUT", "/v1/workflows/"+namespace+"/a/1.0.0", document, "Authorization", authorization); w.Code/100 != 2 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
}

// troubled creates in a namespace a schedule that listens for events, an event that no run takes, and a run that fails.
func (g *guarded) troubled(t *testing.T, namespace, authorization string) {
	t.Helper()
	for _, r := range []struct{ method, path, body string }{
		{"PUT", "/v1/workflows/" + namespace + "/hears/1.0.0", "document: {dsl: 1.0.3, namespace: " + namespace + ", name: hears, version: 1.0.0}\nschedule: {on: {one: {with: {type: t}}}}\ndo: [{a: {set: {n: 1}}}]"},
		{"PUT", "/v1/workflows/" + namespace + "/fails/1.0.0", "document: {dsl: 1.0.3, namespace: " + namespace + ", name: fails, version: 1.0.0}\ndo: [{a: {raise: {error: {type: 'https://example.com/e', status: 500}}}}]"},
		{"POST", "/v1/runs", `{"workflow": "` + namespace + `/fails", "id": "fails"}`},
		{"POST", "/v1/events?namespace=" + namespace, `{"specversion": "1.0", "id": "1", "source": "/s", "type": "nobody"}`},
	} {
		if w := g.send(r.method, r.path, r.body, "Authorization", authorization); w.Code/100 != 2 {
			t.Fatalf("%s: %d %s", r.path, w.Code, w.Body)
		}
	}
	if w := g.send("GET", "/v1/runs/"+namespace+"/fails/outcome?wait=30s", "", "Authorization", authorization); !strings.Contains(w.Body.String(), "faulted") {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
}

// asks calls an operation, and compares its answer with the rights of the caller.
func (g *guarded) asks(t *testing.T, o described, by asked, authorization string) {
	t.Helper()
	with, known := asksNamespace()[o.ID]
	if !known {
		t.Fatal("the operation takes a namespace, and is not in the table")
	}
	want := by.sees
	if by.namespace != "" {
		want = slices.DeleteFunc(slices.Clone(by.sees), func(n string) bool { return n != by.namespace })
	}
	path, body := o.path+"?"+with, ""
	if by.namespace != "" {
		path += "&namespace=" + by.namespace
	}
	if o.method == "POST" {
		wait := "0s"
		if slices.ContainsFunc(want, func(n string) bool { return n != "nowhere" }) {
			wait = "1m"
		}
		path, body = o.path, "{"+fmt.Sprintf(with, wait)
		if by.namespace != "" {
			body += fmt.Sprintf(`, "namespace": %q`, by.namespace)
		}
		body += "}"
	}
	g.now.pass(time.Second) // no caller exceeds its rate
	w := g.send(o.method, path, body, "Authorization", authorization)
	said := w.Body.String()
	if len(want) == 0 && by.caller != "root" {
		if w.Code != 404 {
			t.Errorf("want 404, got %d %s", w.Code, said)
		}
		return
	}
	if w.Code != 200 {
		t.Fatalf("%d %s", w.Code, said)
	}
	if o.ID == "followRuns" { // its stream contains only later events
		return
	}
	seen := 0
	for _, namespace := range []string{"mine", "other", "third"} {
		has := strings.Contains(said, `"`+namespace) || strings.Contains(said, `"from-`+namespace)
		if seen++; !has {
			seen--
		}
		if has && !slices.Contains(want, namespace) {
			t.Errorf("the answer tells of %s: %s", namespace, said)
		}
		if !has && slices.Contains(want, namespace) && o.ID != "pollActivities" {
			t.Errorf("the answer tells nothing of %s: %s", namespace, said)
		}
	}
	if seen == 0 && !slices.Contains(want, "nowhere") && len(want) > 0 {
		t.Errorf("the answer tells of nothing: %s", said)
	}
}
