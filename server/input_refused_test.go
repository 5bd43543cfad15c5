package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/swrun/swrun/internal/api"
)

// TestStartRefusesInputs: an input that the workflow's input.schema refuses is a 422 with the places, and no run is started.
func TestStartRefusesInputs(t *testing.T) {
	d := mustDeployment(t)
	d.mustDeploy(t, "order", "input: {schema: {document: {type: object, required: [n, items], properties: {n: {type: integer}, items: {type: array, items: {type: string}}}}}}\n"+echoes)
	for _, c := range []struct {
		input, places string // places in their order
	}{
		{`{"n": "two", "items": ["a", 1]}`, `body.input/items/1: expected string, but got number; body.input/n: expected integer, but got string`},
		{`{}`, `body.input: missing properties: 'n', 'items'`},
		{`null`, `body.input: missing properties: 'n', 'items'`},
		{`7`, `body.input: expected object, but got number`},
		{`""`, `body.input: expected object, but got string`},
		{`{"n": 1e400, "items": [null]}`, `body.input/items/0: expected string, but got null`},
		{`{"n": 1, "items": ["` + strings.Repeat("é", 100_000) + `", {}]}`, `body.input/items/1: expected string, but got object`},
	} {
		for _, start := range []struct{ path, body string }{
			{"/v1/runs", `{"workflow": "demo/order", "id": "a", "input": %s}`},
			{"/v1/workflows/demo/order/1.0.0/runs", `{"id": "a", "input": %s}`},
		} {
			a := d.ask(t, "POST", start.path, fmt.Sprintf(start.body, c.input))
			a.isProblem(t, http.StatusUnprocessableEntity, "input-refused")
			p := mustRead[api.Problem](t, a, http.StatusUnprocessableEntity)
			var places []string
			for _, e := range p.Errors {
				places = append(places, e.Location+": "+e.Message)
			}
			if got := strings.Join(places, "; "); got != c.places || p.Field != "input" {
				t.Errorf("%s: got %q (%s)", c.input[:min(60, len(c.input))], got, p.Field)
			}
		}
	}
	if a := d.ask(t, "GET", "/v1/runs", ""); strings.TrimSpace(a.body) != "[]" {
		t.Errorf("something was started: %s", a.body)
	}
	const start = `{"workflow": "demo/order", "id": "a", "onDuplicate": %q, "input": {"n": %s, "items": []}}`
	mustRead[api.Description](t, d.ask(t, "POST", "/v1/runs", fmt.Sprintf(start, "reject", "1")), http.StatusCreated)
	d.ask(t, "POST", "/v1/runs", fmt.Sprintf(start, "reject", `"one"`)).isProblem(t, http.StatusConflict, "run-exists")
	mustRead[api.Description](t, d.ask(t, "POST", "/v1/runs", fmt.Sprintf(start, "return-existing", `"one"`)), http.StatusOK)
}
