package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/store"
)

// TestEveryOperation calls every operation of /openapi.json by the document alone: it builds the paths, parameters and bodies from its examples and
// schemas, and checks requests and answers against it. An operation that cannot be carried out in this way fails the test.
func TestEveryOperation(t *testing.T) {
	d := mustDeployment(t)
	order := exampleWorkflow(t, d)
	described := d.mustDescribe(t, order)
	if len(described.Paths.Map()) < 25 {
		t.Errorf("only %d paths are described", len(described.Paths.Map()))
	}
	for path, item := range described.Paths.Map() {
		for method, o := range item.Operations() {
			t.Run(o.OperationID, func(t *testing.T) {
				t.Parallel()
				client := &describedClient{deployment: mustExample(t, order), document: described}
				client.carryOut(t, path, item, method)
			})
		}
	}
}

// mustDescribe deploys the workflow of the examples, and then reads the description of the API.
func (d *deployment) mustDescribe(t *testing.T, order string) *openapi3.T {
	t.Helper()
	d.mustPutExample(t, order)
	a := d.ask(t, "GET", "/openapi.json", "")
	loader := openapi3.NewLoader()
	described, err := loader.LoadFromData([]byte(a.body))
	if err != nil {
		t.Fatal(err)
	}
	if err := described.Validate(t.Context()); err != nil {
		t.Errorf("the description is not valid: %v", err)
	}
	for name, schema := range described.Components.Schemas { // members of answers that the description lacks are reported
		if schema.Value.Type.Is("object") && schema.Value.AdditionalProperties.Has == nil && schema.Value.AdditionalProperties.Schema == nil {
			t.Errorf("%s may have further members", name)
		}
	}
	return described
}

// mustExample returns a server with the objects that the description's examples name: the workflow order, a finished, a faulted and a continuing run
// of it, and a token.
func mustExample(t *testing.T, order string) *deployment {
	t.Helper()
	d := mustDeployment(t)
	d.mustPutExample(t, order)
	d.mustMakeExample(t, order)
	return d
}

// mustMakeExample fills a server that has the workflow order with the other objects of mustExample.
func (d *deployment) mustMakeExample(t *testing.T, order string) {
	t.Helper()
	d.mustDeploy(t, "echo", "schedule: {every: P1D}\n"+echoes)
	d.ask(t, "GET", d.mustStart(t, "echo", "ended")+"/output?wait=30s", "")
	d.mustDeploy(t, "fails", "do: [{a: {raise: {error: {type: https://example.com/broken, status: 500}}}}]")
	d.ask(t, "GET", d.mustStart(t, "fails", "failed")+"/output?wait=30s", "")
	d.follow(t, t.Context(), d.mustStart(t, "order", "waiting")+"/events", "", func(e sent) bool { return !strings.Contains(e.data, "task.started") })
	d.mustDeploy(t, "retries", "do: [{a: {try: [{b: {raise: {error: {type: https://example.com/broken, status: 500}}}}], catch: {retry: {delay: {hours: 1}}}}}]")
	d.follow(t, t.Context(), d.mustStart(t, "retries", "retrying")+"/events", "", func(e sent) bool { return !strings.Contains(e.data, "retry") })
	later := strings.Replace(order, "1.0.0", "2.0.0", 1) // runs continue with it
	if a := d.ask(t, "PUT", "/v1/workflows/demo/order/2.0.0", later); a.StatusCode != http.StatusCreated {
		t.Fatalf("%s: %s", a.Status, a.body)
	}
	if a := d.ask(t, "PUT", "/v1/functions/order/1.0.0", "set: {n: 1}"); a.StatusCode != http.StatusCreated {
		t.Fatalf("%s: %s", a.Status, a.body)
	}
	d.mustKeepDead(t, "orders", aliceEvent)
	d.ask(t, "POST", "/v1/tokens", `{"name": "order", "role": "viewer", "namespaces": ["demo"]}`)
	if _, err := d.store.Register(t.Context(), store.Registration{Kind: store.RegistrySinks, Key: "order", Value: []byte(`1 {"kind": "http"}`)}); err != nil {
		t.Fatal(err)
	}
}

func (d *deployment) mustPutExample(t *testing.T, order string) {
	t.Helper()
	if a := d.ask(t, "PUT", "/v1/workflows/demo/order/1.0.0", order); a.StatusCode != http.StatusCreated {
		t.Fatalf("%s: %s", a.Status, a.body)
	}
}

// exampleWorkflow returns the workflow of the description's examples.
func exampleWorkflow(t *testing.T, d *deployment) string {
	t.Helper()
	a := d.ask(t, "GET", "/openapi.json", "")
	var described struct {
		Paths map[string]struct {
			Put struct {
				RequestBody struct {
					Content map[string]struct{ Example string }
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(a.body), &described); err != nil {
		t.Fatal(err)
	}
	return described.Paths["/v1/workflows/{namespace}/{name}/{version}"].Put.RequestBody.Content["application/yaml"].Example
}

// describedClient sends the requests of a description.
type describedClient struct {
	*deployment
	document *openapi3.T
}

// mustToken returns the token of an activity that a worker has taken. Another activity waits.
func (c *describedClient) mustToken(t *testing.T) string {
	t.Helper()
	c.start(t, "do: [{work: {call: 'activity:1.0.0@default', with: {type: x}}}]")
	c.start(t, "do: [{work: {call: 'activity:1.0.0@default', with: {type: x, queue: taken}}}]")
	return c.polled(t, `{"queues": ["taken"], "wait": "20s"}`)[0].Token
}

// mustAcknowledge acknowledges the only group of trouble, and returns it.
func (c *describedClient) mustAcknowledge(t *testing.T) (group string) {
	t.Helper()
	for _, g := range mustRead[api.Trouble](t, c.ask(t, "GET", "/v1/trouble", ""), http.StatusOK).Groups {
		group = g.Group
		if a := c.ask(t, "POST", "/v1/trouble/acknowledge", `{"groups": ["`+group+`"]}`); a.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", a.Status, a.body)
		}
	}
	return group
}

// names are the values of the parameters in paths.
type names struct{ run, workflow string }

// carryOut calls an operation for each run and workflow until one call succeeds.
func (c *describedClient) carryOut(t *testing.T, path string, item *openapi3.PathItem, method string) {
	var answers []string
	for _, about := range []names{{"ended", "order"}, {"waiting", "order"}, {"ended", "echo"}, {"failed", "fails"}, {"retrying", "retries"}} {
		status, body := c.send(t, path, item, method, about)
		if status < 300 {
			return
		}
		answers = append(answers, fmt.Sprintf("%v: %d %s", about, status, body))
	}
	t.Errorf("%s %s: %s", method, path, strings.Join(answers, "\n"))
}

func (c *describedClient) send(t *testing.T, path string, item *openapi3.PathItem, method string, about names) (status int, body string) {
	t.Helper()
	o := item.Operations()[method]
	names := map[string]string{"namespace": "demo", "name": about.workflow, "version": "1.0.0", "id": about.run, "code": "SW401", "seq": "2"}
	parameters, filled := map[string]string{}, path
	query := url.Values{}
	for _, p := range o.Parameters {
		if p.Value.In == "query" && p.Value.Required {
			query.Set(p.Value.Name, fmt.Sprint(exampleOf(p.Value.Schema.Value)))
		}
		if p.Value.In == "path" {
			value, known := names[p.Value.Name]
			if !known {
				t.Errorf("nothing is known for the parameter %s", p.Value.Name)
			}
			parameters[p.Value.Name], filled = value, strings.ReplaceAll(filled, "{"+p.Value.Name+"}", value)
		}
	}
	if o.OperationID == "getDeadMessage" {
		query.Set("id", c.mustKeepDead(t, "orders", aliceEvent))
	}
	var sent []byte
	mediaType := ""
	if o.RequestBody != nil {
		sent, mediaType = exampleBody(t, o.RequestBody.Value)
		if o.OperationID == "importRun" {
			run := "/v1/runs/demo/ended"
			sent = []byte(c.ask(t, "GET", run+"/export", "").body)
			c.ask(t, "DELETE", run, "")
		}
		if group := regexp.MustCompile(`"groups":\["(.*)"\]`).FindSubmatch(sent); group != nil {
			sent = bytes.Replace(sent, group[1], []byte(c.mustAcknowledge(t)), 1)
		}
		if slices.Contains(o.Tags, "activities") {
			sent = bytes.Replace(sent, []byte(`"token":"x"`), []byte(`"token":"`+c.mustToken(t)+`"`), 1)
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), method, c.URL+filled+"?"+query.Encode(), bytes.NewReader(sent))
	if err != nil {
		t.Fatal(err)
	}
	if mediaType != "" {
		request.Header.Set("Content-Type", mediaType)
	}
	options := &openapi3filter.Options{MultiError: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, ExcludeRequestBody: mediaType != "application/json"}
	valid := &openapi3filter.RequestValidationInput{
		Request: request.Clone(t.Context()), PathParams: parameters, Options: options,
		Route: &routers.Route{Spec: c.document, Path: path, PathItem: item, Method: method, Operation: o},
	}
	valid.Request.Body = io.NopCloser(bytes.NewReader(sent))
	if err := openapi3filter.ValidateRequest(t.Context(), valid); err != nil {
		t.Errorf("%s %s: the request is not as described: %v", method, filled, err)
	}
	response, err := c.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var text []byte
	if o.OperationID != "followRuns" { // its answer does not end
		if text, err = io.ReadAll(response.Body); err != nil {
			t.Fatal(err)
		}
	}
	isJSON := strings.Contains(response.Header.Get("Content-Type"), "json")
	err = openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: valid, Status: response.StatusCode, Header: response.Header, Body: io.NopCloser(bytes.NewReader(text)),
		Options: &openapi3filter.Options{MultiError: true, IncludeResponseStatus: true, ExcludeResponseBody: !isJSON},
	})
	if err != nil {
		t.Errorf("%s %s: the answer %d is not as described: %v\n%s", method, filled, response.StatusCode, err, text)
	}
	return response.StatusCode, string(text)
}

// exampleBody builds a body from its description: an example, or the required members.
func exampleBody(t *testing.T, described *openapi3.RequestBody) (body []byte, mediaType string) {
	t.Helper()
	for name, m := range described.Content {
		if text, ok := m.Example.(string); ok {
			return []byte(text), name
		}
	}
	m := described.Content["application/json"]
	if m == nil {
		t.Fatalf("there is no JSON body: %v", described.Content)
	}
	body, err := json.Marshal(exampleOf(m.Schema.Value))
	if err != nil {
		t.Fatal(err)
	}
	return body, "application/json"
}

// exampleOf builds a value that fits a schema: its example or, for an object, the members that have an example or are required.
func exampleOf(s *openapi3.Schema) any {
	switch {
	case s.Example != nil:
		return s.Example
	case len(s.Examples) > 0:
		return s.Examples[0]
	case len(s.Enum) > 0:
		return s.Enum[0]
	case len(s.AllOf) > 0:
		all := map[string]any{}
		for _, part := range s.AllOf {
			if object, ok := exampleOf(part.Value).(map[string]any); ok {
				for name, value := range object {
					all[name] = value
				}
			}
		}
		return all
	case s.Type.Is("object"):
		object := map[string]any{}
		for name, member := range s.Properties {
			hasExample := member.Value.Example != nil || len(member.Value.Examples) > 0
			if !member.Value.Deprecated && (hasExample || slices.Contains(s.Required, name)) {
				object[name] = exampleOf(member.Value)
			}
		}
		return object
	case s.Type.Is("array"):
		return []any{}
	case s.Type.Is("integer"), s.Type.Is("number"):
		return 1
	case s.Type.Is("boolean"):
		return false
	}
	return "x"
}
