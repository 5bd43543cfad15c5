package server_test

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/access"
)

// TestAttacks sends requests that try to get around roles, namespaces and tokens, or to forge decisions of the engine (reliability B50 to B55). The
// server carries out none of them: the existing run stays unchanged.
func TestAttacks(t *testing.T) {
	g := mustGuard(t, nil)
	root := g.token(t, "root", access.Grant{Role: access.RoleAdmin, Everywhere: true})
	must := func(method, path, body string) {
		t.Helper()
		if w := g.send(method, path, body, "Authorization", root); w.Code/100 != 2 {
			t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
		}
	}
	must("PUT", "/v1/workflows/demo/nap/1.0.0", "document: {dsl: 1.0.3, namespace: demo, name: nap, version: 1.0.0}\ndo: [{nap: {wait: PT1H}}]")
	must("POST", "/v1/runs", `{"workflow": "demo/nap", "id": "one"}`)
	const run = "/v1/runs/demo/one"
	callers := map[access.Role]string{}
	for name, c := range attacks(run) {
		t.Run(name, func(t *testing.T) {
			g.now.pass(2 * time.Second) // no caller exceeds its rate
			role := cmp.Or(c.role, access.RoleViewer)
			if callers[role] == "" {
				callers[role] = g.token(t, "caller-"+string(role), access.Grant{Role: role, Namespaces: []string{"demo"}})
			}
			headers, path := []string{"Authorization", callers[role]}, c.path
			if c.nobody {
				headers, path = nil, strings.ReplaceAll(path, "TOKEN", strings.TrimPrefix(callers[role], "Bearer "))
			}
			w := g.send(c.method, path, c.body, append(headers, c.headers...)...)
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.says) {
				t.Errorf("got %d %.500s, want %d %s", w.Code, w.Body, c.status, c.says)
			}
		})
	}
	g.now.pass(2 * time.Second)
	if after := g.send("GET", run, "", "Authorization", root).Body.String(); strings.Contains(after, `"commands"`) || !strings.Contains(after, `"status":"pending"`) {
		t.Errorf("the run is now %s", after)
	}
}

type attack struct {
	method, path, body string
	headers            []string
	role               access.Role
	nobody             bool // without a token, except for the text TOKEN in the path
	status             int
	says               string
}

func attacks(run string) map[string]attack {
	post := func(name string) []string { return []string{name, "POST"} }
	return map[string]attack{
		"a token in the query":               {method: "GET", path: run + "?access_token=TOKEN", nobody: true, status: 400, says: "token-in-query"},
		"a stream without a token":           {method: "GET", path: run + "/events", nobody: true, status: 401},
		"metrics without a token":            {method: "GET", path: "/metrics", nobody: true, status: 401},
		"an empty token as the password":     {method: "GET", path: run, nobody: true, headers: []string{"Authorization", "Basic Og=="}, status: 401},
		"two slashes without a token":        {method: "GET", path: "//v1/runs/demo/one", nobody: true, status: 404},
		"through a parent, encoded":          {method: "GET", path: "/livez/%2e%2e" + run, nobody: true, status: 404},
		"a semicolon without a token":        {method: "GET", path: run + ";/livez", nobody: true, status: 404},
		"a slash at the end without a token": {method: "GET", path: run + "/", nobody: true, status: 404},
		"HEAD without a token":               {method: "HEAD", path: run, nobody: true, status: 401},
		"HEAD of what posts":                 {method: "HEAD", path: run + "/cancel", status: 405},

		"another method in a header":     {method: "GET", path: run + "/cancel", headers: post("X-HTTP-Method-Override"), status: 405},
		"another method in a header, 2":  {method: "GET", path: run + "/cancel", headers: post("X-Method-Override"), status: 405},
		"another method in the query":    {method: "GET", path: run + "/cancel?_method=POST", status: 405},
		"DELETE by a header":             {method: "GET", path: run, headers: []string{"X-HTTP-Method-Override", "DELETE"}, status: 200, says: `"status":"pending"`},
		"another path in a header":       {method: "GET", path: "/livez", headers: []string{"X-Original-URL", run, "X-Rewrite-URL", run}, status: 200},
		"another caller in a header":     {method: "POST", path: run + "/cancel", headers: []string{"X-Forwarded-User", "root", "X-Remote-User", "root", "X-Forwarded-For", "127.0.0.1"}, status: 403, says: "operator"},
		"a viewer cancels":               {method: "POST", path: run + "/cancel", status: 403, says: "operator"},
		"a viewer tries again":           {method: "POST", path: run + "/retry", status: 403, says: "operator"},
		"a viewer resumes":               {method: "POST", path: run + "/resume", status: 403, says: "operator"},
		"a viewer terminates":            {method: "POST", path: run + "/terminate", status: 403, says: "operator"},
		"a viewer forks":                 {method: "POST", path: run + "/fork", body: `{}`, status: 403, says: "operator"},
		"an operator makes a token":      {method: "POST", path: "/v1/tokens", role: access.RoleOperator, body: `{"name":"me","role":"admin","allNamespaces":true}`, status: 403},
		"an administrator of one makes":  {method: "POST", path: "/v1/tokens", role: access.RoleAdmin, body: `{"name":"me","role":"admin","allNamespaces":true}`, status: 403},
		"a run that is a parent":         {method: "GET", path: "/v1/runs/demo/..", status: 404},
		"a run that is a parent, hidden": {method: "GET", path: "/v1/runs/demo/%2e%2e%2fother", status: 404},
		"a run that is a tag":            {method: "GET", path: "/v1/runs/demo/%7Bone%7D", status: 404},
		"a run that is a pattern":        {method: "GET", path: "/v1/runs/demo/*", status: 404},
		"a namespace that is a pattern":  {method: "GET", path: "/v1/runs/*/one", status: 404},
		"a run with a NUL":               {method: "GET", path: "/v1/runs/demo/one%00", status: 404},
		"a run with a line's end":        {method: "GET", path: "/v1/runs/demo/one%0d%0aSet-Cookie:x", status: 404},
		"a command to a pattern":         {method: "POST", path: "/v1/runs/cancel", role: access.RoleOperator, body: `{"runs": ["demo/*"]}`, status: 422, says: "is not the id of a run"},

		"a run with a status":      {method: "POST", path: "/v1/runs", role: access.RoleOperator, body: `{"workflow": "demo/nap", "status": "completed"}`, status: 422, says: "status"},
		"a run with an epoch":      {method: "POST", path: "/v1/runs", role: access.RoleOperator, body: `{"workflow": "demo/nap", "epoch": 9}`, status: 422, says: "epoch"},
		"a run with an owner":      {method: "POST", path: "/v1/runs", role: access.RoleOperator, body: `{"workflow": "demo/nap", "owner": "me"}`, status: 422, says: "owner"},
		"a run with a parent":      {method: "POST", path: "/v1/runs", role: access.RoleOperator, body: `{"workflow": "demo/nap", "parent": "demo/one"}`, status: 422, says: "parent"},
		"a run of another caller":  {method: "POST", path: "/v1/runs", role: access.RoleOperator, body: `{"workflow": "demo/nap", "actor": "root"}`, status: 422, says: "actor"},
		"a cancel of another":      {method: "POST", path: run + "/cancel", role: access.RoleOperator, body: `{"reason": "x", "actor": "root"}`, status: 422, says: "actor"},
		"a run is written":         {method: "PUT", path: run, role: access.RoleAdmin, body: `{"status": "completed", "epoch": 9, "owner": "me"}`, status: 405},
		"a run is patched":         {method: "PATCH", path: run, role: access.RoleAdmin, body: `{"status": "completed"}`, status: 405},
		"a page of everything":     {method: "GET", path: "/v1/runs?limit=1000000000", status: 422, says: "limit"},
		"a page without a bound":   {method: "GET", path: "/v1/runs?limit=1e9", status: 422, says: "limit"},
		"a page of less than none": {method: "GET", path: "/v1/runs?limit=-1", status: 422, says: "limit"},
		"a cursor of another":      {method: "GET", path: "/v1/runs?cursor=AAAA", status: 422, says: "cursor"},
		"a guessed attempt":        {method: "POST", path: "/v1/activities/complete", role: access.RoleOperator, body: `{"token": "ZGVtby9vbmUgMSBu", "result": 1}`, status: 409, says: "attempt-superseded"},
		"a history of everything":  {method: "GET", path: run + "/history?limit=1000000000", status: 422, says: "limit"},
		"a namespace besides mine": {method: "GET", path: "/v1/runs?namespace=other", status: 404, says: "namespace other"},
		"a wait for ever":          {method: "GET", path: run + "/output?wait=1000000h", status: 422, says: "wait"},
	}
}

// TestExpiredToken: a token is valid until it expires, and not a moment longer (reliability B50).
func TestExpiredToken(t *testing.T) {
	g := mustGuard(t, nil)
	text, _, err := g.tokens.New(t.Context(), "short", access.Grant{Role: access.RoleAdmin, Everywhere: true}, time.Hour, "")
	if err != nil {
		t.Fatal(err)
	}
	ask := func() int { return g.send("GET", "/openapi.json", "", "Authorization", "Bearer "+text).Code }
	if code := ask(); code != 200 {
		t.Errorf("a new one: %d", code)
	}
	g.now.pass(time.Hour - time.Millisecond)
	if code := ask(); code != 200 {
		t.Errorf("just before it expires: %d", code)
	}
	g.now.pass(time.Millisecond)
	if code := ask(); code != 401 {
		t.Errorf("as it expires: %d", code)
	}
}
