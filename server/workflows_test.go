package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/access"
	"github.com/swrun/swrun/internal/api"
)

// TestWorkflows deploys, reads and deletes workflows, and checks refusals.
func TestWorkflows(t *testing.T) {
	d := mustDeployment(t)
	d.mustDeploy(t, "wait", waits)
	const path = "/v1/workflows/demo/wait/1.0.0"
	if a := d.ask(t, "PUT", path, document("wait", "1.0.0", waits)); a.StatusCode != http.StatusOK {
		t.Errorf("the same again: %s: %s", a.Status, a.body)
	}
	d.ask(t, "PUT", path, document("wait", "1.0.0", echoes)).isProblem(t, http.StatusConflict, "already-deployed")
	if a := d.ask(t, "PUT", "/v1/workflows/demo/wait/1.10.0", document("wait", "1.10.0", waits)); a.Header.Get("Location") != "/v1/workflows/demo/wait/1.10.0" {
		t.Errorf("%s: %s", a.Status, a.body)
	}
	latest := mustRead[api.DeployedWorkflow](t, d.ask(t, "GET", "/v1/workflows/demo/wait", ""), http.StatusOK)
	if latest.Version != "1.10.0" || !latest.Latest || fmt.Sprint(latest.Versions) != "[1.10.0 1.0.0]" {
		t.Errorf("%+v", latest)
	}
	for name, c := range map[string]struct {
		body    string
		status  int
		problem string
	}{
		"nothing":          {"", 400, "invalid-request"},
		"blanks":           {" \n", 422, "invalid-document"},
		"null":             {"null", 422, "invalid-document"},
		"another name":     {document("other", "1.0.0", waits), 422, "invalid-request"},
		"a faulty one":     {document("wait", "1.0.0", "do:\n- a: {wiat: {seconds: 1}}\n"), 422, "invalid-document"},
		"two documents":    {document("wait", "1.0.0", waits) + "---\na: 1\n", 422, "invalid-document"},
		"a deep one":       {strings.Repeat("[", 100_000), 422, "invalid-document"},
		"a huge one":       {"# " + strings.Repeat("x", 1<<20) + "\n" + document("wait", "1.0.0", waits), 422, "invalid-document"},
		"too many bytes":   {strings.Repeat("x", 17<<20), 413, "too-large"},
		"itself":           {"&a [*a]", 422, "invalid-document"},
		"a file of others": {document("wait", "1.0.0", "input: {schema: {resource: {endpoint: 'file:///etc/passwd'}}}\n"+waits), 422, "invalid-document"},
	} {
		t.Run(name, func(t *testing.T) {
			p := d.ask(t, "PUT", path, c.body).isProblem(t, c.status, c.problem)
			if c.problem == "invalid-document" && (len(p.Diagnostics) == 0 || p.Diagnostics[0].Line == 0) {
				t.Errorf("%+v", p)
			}
			if strings.Contains(fmt.Sprint(p), "root:") {
				t.Errorf("it tells what is in a file: %+v", p)
			}
			if c.status == http.StatusUnprocessableEntity && c.problem == "invalid-document" {
				found := mustRead[api.Findings](t, d.ask(t, "POST", "/v1/validate", c.body), http.StatusOK)
				if len(found.Diagnostics) == 0 {
					t.Error("validate finds nothing")
				}
			}
		})
	}
	location := d.mustStart(t, "wait:1.0.0", "one")
	d.ask(t, "DELETE", path, "").isProblem(t, http.StatusConflict, "conflict")
	d.ask(t, "POST", location+"/cancel", "")
	d.ask(t, "GET", location+"/output?wait=30s", "")
	if a := d.ask(t, "DELETE", path, ""); a.StatusCode != http.StatusNoContent {
		t.Errorf("%s: %s", a.Status, a.body)
	}
	d.ask(t, "DELETE", path, "").isProblem(t, http.StatusNotFound, "not-found")
	d.ask(t, "GET", path, "").isProblem(t, http.StatusNotFound, "not-found")
	d.ask(t, "POST", "/v1/runs", `{"workflow": "demo/wait:1.0.0"}`).isProblem(t, http.StatusNotFound, "not-deployed")
	if run := mustRead[api.Description](t, d.ask(t, "GET", location, ""), http.StatusOK); run.ID != "one" {
		t.Errorf("%+v", run)
	}
	if a := d.ask(t, "PUT", path, document("wait", "1.0.0", echoes)); a.StatusCode != http.StatusCreated {
		t.Errorf("another one under the same version: %s: %s", a.Status, a.body)
	}
}

// TestChildrenInOtherNamespaces: a token for one namespace cannot deploy a workflow whose tasks run workflows in another namespace.
func TestChildrenInOtherNamespaces(t *testing.T) {
	g := mustGuard(t, nil)
	demo := g.token(t, "demo", access.Grant{Role: access.RoleOperator, Namespaces: []string{"demo"}})
	both := g.token(t, "both", access.Grant{Role: access.RoleAuthor, Namespaces: []string{"demo", "shop"}})
	run := func(namespace string) string {
		return `{"document":{"dsl":"1.0.3","namespace":"demo","name":"parent","version":"1.0.0"},"use":{"functions":{"f":{"run":{"workflow":{"namespace":"` + namespace +
			`","name":"pay","version":"latest"}}}}},"do":[{"t":{"try":[{"c":{"call":"f"}}],"catch":{"do":[{"d":{"set":{"x":1}}}]}}}]}`
	}
	for _, c := range []struct {
		token, namespace string
		status           int
	}{
		{demo, "shop", 403}, {both, "shop", 201}, {demo, "demo", 409}, // allowed, but another document is deployed already
	} {
		if w := g.send("PUT", "/v1/workflows/demo/parent/1.0.0", run(c.namespace), "Authorization", c.token); w.Code != c.status {
			t.Errorf("a child in %s: want %d, got %d %s", c.namespace, c.status, w.Code, w.Body)
		}
	}
}

// TestFunctionsInOtherNamespaces: the tasks of functions count too, from the default catalog and from the files with the document.
func TestFunctionsInOtherNamespaces(t *testing.T) {
	g := mustGuard(t, nil)
	root := g.token(t, "root", access.Grant{Role: access.RoleAdmin, Everywhere: true})
	demo := g.token(t, "demo", access.Grant{Role: access.RoleOperator, Namespaces: []string{"demo"}})
	const pays = `run: {workflow: {namespace: shop, name: pay, version: latest}}`
	if w := g.send("PUT", "/v1/functions/pay/1.0.0", pays, "Authorization", root); w.Code != 201 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	document := func(name, call string) string {
		return "document: {dsl: 1.0.3, namespace: demo, name: " + name + ", version: 1.0.0}\ndo: [{t: {call: '" + call + "'}}]"
	}
	definition := func(name, call string) string {
		data, err := json.Marshal(api.Definition{Document: document(name, call), Resources: map[string][]byte{call: []byte(pays), "catalog:/functions/pay/1.0.0/function.yaml": []byte(pays)}})
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for name, call := range map[string]string{"deployed": "pay:1.0.0@default", "sent": "https://example.com/pay.yaml"} {
		texts := map[string][]string{"PUT": {api.DefinitionMediaType, definition(name, call)}}
		if name == "deployed" {
			texts["POST"] = []string{"application/yaml", document(name, call)}
		} else {
			texts["POST"] = texts["PUT"]
		}
		const path = "/v1/workflows/demo/"
		for _, request := range [][]string{
			{"PUT", path + name + "/1.0.0", texts["PUT"][0], texts["PUT"][1]}, {"PUT", path + name + "/1.0.0", texts["POST"][0], texts["POST"][1]},
			{"POST", path + name + "/1.0.0/check-runs", texts["POST"][0], texts["POST"][1]},
			{"POST", "/v1/runs", "application/json", `{"workflow": "demo/` + name + `:1.0.0", "definition": ` + texts["PUT"][1] + "}"},
		} {
			g.now.pass(time.Second)
			w := g.send(request[0], request[1], request[3], "Authorization", demo, "Content-Type", request[2])
			if w.Code != 403 || !strings.Contains(w.Body.String(), "a task runs the workflow shop/pay:latest") {
				t.Errorf("%s %s of %s: %d %s", request[0], request[1], name, w.Code, w.Body)
			}
		}
	}
}

// TestDefinitions: a document is sent with its external resources, and the server reads nothing for it, for a deployment and for an immediate start.
func TestDefinitions(t *testing.T) {
	d := mustDeployment(t)
	text := document("wait", "1.0.0", "input: {schema: {resource: {endpoint: schema.json}}}\n"+waits)
	body := func(resources map[string][]byte) string {
		data, err := json.Marshal(api.Definition{File: "../../etc/wait.yaml", Document: text, Resources: resources})
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	const path = "/v1/workflows/demo/wait/1.0.0"
	media := []string{"Content-Type", api.DefinitionMediaType}
	whole := body(map[string][]byte{"schema.json": []byte(`{"type": "object"}`)})
	for name, c := range map[string]struct{ body, problem string }{
		"no resources":       {body(nil), "invalid-document"},
		"other resources":    {body(map[string][]byte{"./schema.json": []byte("{}")}), "invalid-document"},
		"a resource of null": {body(map[string][]byte{"schema.json": nil}), "invalid-document"},
		"no JSON":            {text, "invalid-request"},
		"null":               {"null", "invalid-document"},
	} {
		t.Run(name, func(t *testing.T) {
			d.ask(t, "PUT", path, c.body, media...).isProblem(t, http.StatusUnprocessableEntity, c.problem)
			d.ask(t, "POST", path+"/check-runs", c.body, media...).isProblem(t, http.StatusUnprocessableEntity, c.problem)
		})
	}
	started := mustRead[api.Description](t, d.ask(t, "POST", "/v1/runs", `{"workflow": "demo/wait:1.0.0", "id": "a", "definition": `+whole+`}`), http.StatusCreated)
	if started.File != "wait.yaml" {
		t.Errorf("its file is %s", started.File)
	}
	mustRead[api.Description](t, d.ask(t, "POST", "/v1/runs", `{"workflow": "demo/wait:1.0.0", "id": "a", "definition": `+whole+`}`), http.StatusOK)
	for request, problem := range map[string]string{
		`{"workflow": "demo/wait:1.0.0", "id": "a", "input": {"other": true}, "definition": ` + whole + `}`: "run-exists",
		`{"workflow": "demo/wait:1.0.1", "definition": ` + whole + `}`:                                      "invalid-request",
		`{"workflow": "demo/wait:1.0.0", "definition": {"document": "a: ["}}`:                               "invalid-document",
		`{"workflow": "demo/wait:1.0.0"}`:                                                                   "not-deployed",
	} {
		a := d.ask(t, "POST", "/v1/runs", request)
		a.isProblem(t, a.StatusCode, problem)
	}
	if a := d.ask(t, "PUT", path, whole, media...); a.StatusCode != http.StatusCreated {
		t.Errorf("%s: %s", a.Status, a.body)
	}
}
