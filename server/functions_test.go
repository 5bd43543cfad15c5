package server_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/access"
	"github.com/swrun/swrun/runtime/store"
)

// callsGreet is a workflow that calls a function.
const callsGreet = "document: {dsl: 1.0.3, namespace: demo, name: calls, version: 1.0.0}\ndo: [{greet: {call: 'greet:1.0.0@default', with: {name: Ada}}}]\n"

// TestFunctionsOverHTTP: a function that is deployed while the server runs is available to workflows that are deployed afterwards, and does not
// change.
func TestFunctionsOverHTTP(t *testing.T) {
	d := mustDeployment(t)
	if _, err := d.store.Register(t.Context(), store.Registration{Kind: store.RegistryFunctions, Key: "damaged:1.0.0", Value: []byte("1 {}")}); err != nil {
		t.Fatal(err)
	}
	schema := base64.StdEncoding.EncodeToString([]byte(`{"required": ["name"]}`))
	const json, yaml, whole = "application/json", "application/yaml", "application/vnd.swrun.function+json"
	greet := `{"function": "input: {schema: {resource: {endpoint: a/schema.json}}}\nset: '${ \"Hello, \" + .name }'\n", "resources": {"a/schema.json": "` + schema + `"}}`
	for _, c := range []struct {
		method, path, body, mediaType string
		status                        int
		want                          string
	}{
		{"PUT", "/v1/workflows/demo/calls/1.0.0", callsGreet, yaml, 422, "no function greet:1.0.0 is deployed"},
		{"POST", "/v1/validate", callsGreet, yaml, 200, "no function greet:1.0.0 is deployed"},
		{"PUT", "/v1/functions/greet/1.0.0", greet, whole, 201, `"bytes":133,`},
		{"PUT", "/v1/functions/greet/1.0.0", greet, whole, 200, `"deployedBy":"local"`},
		{"PUT", "/v1/functions/greet/1.0.0", "set: {a: 1}", yaml, 409, "already-deployed"},
		{"PUT", "/v1/functions/greet/1.1.0", `{"set": {"a": 1}}`, json, 201, `"function":"{\"set\": {\"a\": 1}}"`},
		{"GET", "/v1/functions", "", "", 200, `[{"name":"damaged","versions":[{"bytes":0,"damaged":`},
		{"GET", "/v1/functions?limit=1", "", "", 200, `"name":"damaged"`},
		{"GET", "/v1/functions/greet/1.0.0", "", "", 200, `"resources":{"a/schema.json":"` + schema + `"}`},
		{"GET", "/v1/functions/greet/2.0.0", "", "", 404, "there is no function greet:2.0.0"},
		{"GET", "/v1/functions/damaged/1.0.0", "", "", 500, "damaged-function"},
		{"POST", "/v1/validate", callsGreet, yaml, 200, `{"diagnostics":[]}`},
		{"PUT", "/v1/workflows/demo/calls/1.0.0", callsGreet, yaml, 201, ""},
		{"PUT", "/v1/workflows/demo/calls/2.0.0", strings.ReplaceAll(strings.Replace(callsGreet, "version: 1", "version: 2", 1), "greet:1.0.0", "damaged:1.0.0"), yaml, 422, "the function damaged:1.0.0 is damaged in the store"},
		{"DELETE", "/v1/functions/greet/1.0.0", "", "", 204, ""},
		{"DELETE", "/v1/functions/greet/1.0.0", "", "", 404, "there is no function greet:1.0.0"},
		{"DELETE", "/v1/functions/damaged/1.0.0", "", "", 204, ""},

		{"PUT", "/v1/functions/log/1", "set: {a: 1}", yaml, 422, `"field":"name"`},
		{"PUT", "/v1/functions/log/v1.0.0", "set: {a: 1}", yaml, 422, "names no function"},
		{"PUT", "/v1/functions/..%2Fx/1.0.0", "set: {a: 1}", yaml, 422, "names no function"},
		{"PUT", "/v1/functions/f/1.0.0", "sett: {a: 1}", yaml, 422, `"line":1`},
		{"PUT", "/v1/functions/f/1.0.0", "", yaml, 400, ""},
		{"PUT", "/v1/functions/f/1.0.0", " ", yaml, 422, "the document is empty"},
		{"PUT", "/v1/functions/f/1.0.0", "{", whole, 422, "is no definition of a function"},
		{"PUT", "/v1/functions/f/1.0.0", "null", whole, 422, "the document is empty"},
		{"PUT", "/v1/functions/f/1.0.0", `{"function": "set: {a: 1}", "resources": {"x.js": ""}}`, whole, 422, `has \"x.js\", and the function refers to no such file`},
		{"PUT", "/v1/functions/f/1.0.0", "input: {schema: {resource: {endpoint: file:///etc/passwd}}}\nset: {a: 1}", yaml, 422, "a function that is deployed refers to files below its own folder"},
		{"PUT", "/v1/functions/f/1.0.0", "input: {schema: {resource: {endpoint: x.json}}}\nset: {a: 1}", yaml, 422, "it is not among the files of the function"},
		{"PUT", "/v1/functions/f/1.0.0", strings.Repeat("#", 5<<20), yaml, 413, "too-large"},
	} {
		a := d.ask(t, c.method, c.path, c.body, "Content-Type", c.mediaType)
		if a.StatusCode != c.status || !strings.Contains(a.body, c.want) {
			t.Errorf("%s %s %.60q: %d %s; want %d %s", c.method, c.path, c.body, a.StatusCode, a.body, c.status, c.want)
		}
	}
	if a := d.ask(t, "PUT", "/v1/functions/greet/1.1.0", `{"set": {"a": 1}}`, "If-None-Match", "*"); a.StatusCode != http.StatusPreconditionFailed {
		t.Errorf("only if it is new: %d %s", a.StatusCode, a.body)
	}
	if a := d.ask(t, "GET", "/v1/functions/greet/1.1.0", "", "Accept", yaml); a.body != `{"set": {"a": 1}}` {
		t.Errorf("as text: %s", a.body)
	}
	run := d.ask(t, "POST", "/v1/runs", `{"workflow": "demo/calls", "id": "one"}`)
	if out := d.ask(t, "GET", run.Header.Get("Location")+"/output?wait=30s", ""); strings.TrimSpace(out.body) != `"Hello, Ada"` {
		t.Errorf("%s: %s", run.body, out.body)
	}
}

// TestPagesOfFunctions: each function is on one page, with all its versions.
func TestPagesOfFunctions(t *testing.T) {
	d := mustDeployment(t)
	for n := range 5 {
		for _, version := range []string{"1.0.0", "1.1.0"} {
			d.ask(t, "PUT", fmt.Sprintf("/v1/functions/f%d/%s", n, version), "set: {a: 1}")
		}
	}
	next, pages, found := "/v1/functions?limit=2", 0, 0
	for next != "" {
		a := d.ask(t, "GET", next, "")
		pages, found = pages+1, found+strings.Count(a.body, `"version"`)
		next, _, _ = strings.Cut(strings.TrimPrefix(a.Header.Get("Link"), "<"), ">")
	}
	if pages != 3 || found != 10 {
		t.Errorf("%d functions on %d pages", found, pages)
	}
}

// TestFunctionsAreOfAllNamespaces: a token for some namespaces may read functions and call them, but not change them. This requires a token that may
// deploy in all namespaces.
func TestFunctionsAreOfAllNamespaces(t *testing.T) {
	g := mustGuard(t, nil)
	everywhere := g.token(t, "everywhere", access.Grant{Role: access.RoleAuthor, Everywhere: true})
	operator := g.token(t, "operator", access.Grant{Role: access.RoleOperator, Everywhere: true})
	mine := g.token(t, "mine", access.Grant{Role: access.RoleAdmin, Namespaces: []string{"demo"}})
	for _, c := range []struct {
		as, method, path, body string
		status                 int
		want                   string
	}{
		{mine, "PUT", "/v1/functions/greet/1.0.0", "set: {a: 1}", 403, "a token that swrun token new has made with --all-namespaces may do it"},
		{everywhere, "PUT", "/v1/functions/greet/1.0.0", "set: {a: 1}", 201, `"deployedBy":"everywhere"`},
		{mine, "GET", "/v1/functions", "", 200, "greet"},
		{mine, "GET", "/v1/functions/greet/1.0.0", "", 200, "set: {a: 1}"},
		{mine, "PUT", "/v1/workflows/demo/calls/1.0.0", callsGreet, 201, ""},
		{mine, "DELETE", "/v1/functions/greet/1.0.0", "", 403, "this is about all namespaces"},
		{everywhere, "DELETE", "/v1/functions/greet/1.0.0", "", 403, "this needs the role operator"},
		{operator, "DELETE", "/v1/functions/greet/1.0.0", "", 204, ""},
	} {
		g.now.pass(time.Second)
		if w := g.send(c.method, c.path, c.body, "Authorization", c.as); w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %s: %d %s; want %d %s", c.method, c.path, w.Code, w.Body, c.status, c.want)
		}
	}
	for _, line := range []string{
		"actor=everywhere operation=putFunction method=PUT path=/v1/functions/greet/1.0.0 status=201", "actor=mine operation=putFunction method=PUT path=/v1/functions/greet/1.0.0 status=403",
		"actor=operator operation=deleteFunction method=DELETE path=/v1/functions/greet/1.0.0 status=204",
	} {
		if !strings.Contains(g.log.String(), "msg=audit "+line) {
			t.Errorf("the log does not say %s:\n%s", line, g.log)
		}
	}
}
