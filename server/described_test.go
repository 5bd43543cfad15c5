package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/swrun/swrun/errors"
)

// TestOperationsOfWorkflows: /openapi.json contains a start for each deployed workflow, whose body has the workflow's input.schema, regardless of its
// references to itself and of the names of other workflows.
func TestOperationsOfWorkflows(t *testing.T) {
	d := mustDeployment(t)
	for _, c := range []struct {
		namespace, name, schema string
		fits, wrong             string
	}{
		{"shop", "plain", `{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}`, `{"n": 1}`, `{}`},
		{"shop", "refers", `{"$defs": {"line": {"type": "string", "minLength": 2}}, "type": "array", "items": {"$ref": "#/$defs/line"}}`, `["ab"]`, `["a"]`},
		{"shop", "itself", `{"type": "object", "properties": {"child": {"$ref": "#"}}, "additionalProperties": false}`, `{"child": {"child": {}}}`, `{"child": {"x": 1}}`},
		{"shop", "anchored", `{"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": {"a": {"$anchor": "n", "type": "number"}}, "$ref": "#n"}`, `1`, `"1"`},
		{"shop", "named", `{"$id": "https://example.com/order", "$defs": {"a": {"type": "number"}}, "allOf": [{"$ref": "order#/$defs/a"}]}`, `1`, `"1"`},
		{"shop", "beside", `{"$ref": "#/definitions/a", "type": "string", "definitions": {"a": {"type": "number"}}}`, `1`, `"1"`},
		{"shop", "older", `{"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": {"type": "number"}}, "items": [{"$ref": "#/definitions/a"}], "additionalItems": false}`, `[1]`, `[1, 2]`},
		{"shop", "formats", `{"type": "object", "properties": {"at": {"type": "string", "format": "date-time"}, "x/y~z": {"const": null}}}`, `{"at": "2026-05-04T10:00:00Z", "x/y~z": null}`, `{"at": 1}`},
		{"shop", "never", `false`, ``, `1`},
		{"shop", "always", `true`, `1`, ``},
		{"shop-refers", "x", ``, `1`, ``},
		{"shop", "refers-x", ``, `1`, ``},
	} {
		body := document(c.name, "1.0.0", "do: [{a: {set: {x: 1}}}]\n")
		if c.schema != "" {
			body += "input: {schema: {document: " + c.schema + "}}\n"
		}
		path := "/v1/workflows/" + c.namespace + "/" + c.name + "/1.0.0"
		if a := d.ask(t, "PUT", path, strings.Replace(body, "namespace: demo", "namespace: "+c.namespace, 1)); a.StatusCode != 201 {
			t.Fatalf("%s: %s: %s", c.name, a.Status, a.body)
		}
		schema := d.mustDescribeStart(t, c.namespace, c.name)
		for input, want := range map[string]bool{c.fits: true, c.wrong: false} {
			if input == "" {
				continue
			}
			var value any
			if err := json.Unmarshal([]byte(input), &value); err != nil {
				t.Fatal(err)
			}
			err := schema.Validate(value)
			if err != nil && !errors.As(err, new(*jsonschema.ValidationError)) || (err == nil) != want {
				t.Errorf("%s: %s: %v", c.name, input, err)
			}
			a := d.ask(t, "POST", path+"/runs", `{"input": `+input+`}`, "Prefer", "wait=30")
			if got := strings.Contains(a.body, `"status":"completed"`); got != want && c.schema != "" {
				t.Errorf("%s: a run with %s: %s: %s", c.name, input, a.Status, a.body)
			}
		}
	}
	d.ask(t, "PUT", "/v1/workflows/work/flow/1.0.0", strings.Replace(document("flow", "1.0.0", waits), "demo", "work", 1)) // startWorkflow
	ids, operations := map[string]bool{}, 0
	for _, methods := range d.mustReadPaths(t) {
		for _, o := range methods {
			operations++
			id := strings.ToLower(strings.ReplaceAll(o.ID, "_", ""))
			if ids[id] || !regexp.MustCompile(`^[A-Za-z0-9_]+$`).MatchString(o.ID) {
				t.Errorf("the operation %s has a name that generators change, or another one has", o.ID)
			}
			ids[id] = true
		}
	}
	const workflows = 13
	if want := len(permissions()) + workflows; operations != want {
		t.Errorf("%d operations are described, want %d", operations, want)
	}
}

func (d *deployment) mustReadPaths(t *testing.T) map[string]map[string]described {
	t.Helper()
	return mustRead[struct {
		Paths map[string]map[string]described
	}](t, d.ask(t, "GET", "/openapi.json", ""), 200).Paths
}

// mustDescribeStart returns the schema of the input of a workflow's start. The schema is self-contained: a reader that knows its version of JSON
// Schema needs nothing of the document around it.
func (d *deployment) mustDescribeStart(t *testing.T, namespace, name string) *jsonschema.Schema {
	t.Helper()
	type described struct {
		RequestBody struct {
			Content map[string]struct {
				Schema struct {
					AllOf []struct{ Properties map[string]json.RawMessage }
				}
			}
		}
	}
	paths := mustRead[struct {
		Paths map[string]map[string]described
	}](t, d.ask(t, "GET", "/openapi.json", ""), 200).Paths
	schema := json.RawMessage(`true`)
	if parts := paths["/v1/workflows/"+namespace+"/"+name+"/1.0.0/runs"]["post"].RequestBody.Content["application/json"].Schema.AllOf; len(parts) == 2 {
		schema = parts[1].Properties["input"]
	}
	reader := jsonschema.NewCompiler()
	if err := reader.AddResource("input.json", bytes.NewReader(schema)); err != nil {
		t.Fatal(err)
	}
	compiled, err := reader.Compile("input.json")
	if err != nil {
		t.Fatalf("%s: %v: %s", name, err, schema)
	}
	return compiled
}

// TestManyWorkflows: the description stays readable with any number of workflows and any names of their schemas, and it names the omitted workflows.
func TestManyWorkflows(t *testing.T) {
	d := mustDeployment(t)
	for n := range 3 {
		d.mustDeploy(t, fmt.Sprintf("w-%d", n), `input: {schema: {document: {$id: "https://example.com/order", type: number}}}`+"\n"+echoes)
	}
	a := d.ask(t, "GET", "/openapi.json", "")
	if strings.Count(a.body, `"$id":"https://example.com/order"`) != 1 || strings.Count(a.body, `"operationId":"start_demo_w_`) != 3 {
		t.Errorf("%s: %.300s", a.Status, a.body)
	}
	large := mustDeployment(t)
	for n := range 25 {
		large.mustDeploy(t, fmt.Sprintf("w-%d", n), fmt.Sprintf("input: {schema: {document: {description: %q}}}\n%s", strings.Repeat("a", 200_000), echoes))
	}
	if a := large.ask(t, "GET", "/openapi.json", ""); a.StatusCode != 200 || len(a.body) > 6<<20 || !strings.Contains(a.body, "those that come after them in the order of their names") {
		t.Errorf("%s, %d bytes: %.300s", a.Status, len(a.body), a.body)
	}
}
