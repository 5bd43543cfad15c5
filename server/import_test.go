package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/swrun/swrun/internal/api"
)

// TestChangedExportsAreRefused: if a readable member of an export was changed, the import is refused with the name of the member, regardless of the
// numbers in the run. An export of an older version, without sums, is imported.
func TestChangedExportsAreRefused(t *testing.T) {
	d := mustDeployment(t)
	d.mustDeploy(t, "echo", echoes)
	mustRead[api.Description](t, d.ask(t, "POST", "/v1/runs", `{"workflow": "demo/echo", "id": "sum", "input": {"n": [12345678901234567890, 1.0, 1e3, 0.1, -0, 1e300], "<&>": "é\u2028 "}}`), http.StatusCreated)
	d.ask(t, "GET", "/v1/runs/demo/sum/output?wait=30s", "")
	export := d.ask(t, "GET", "/v1/runs/demo/sum/export", "").body
	d.ask(t, "DELETE", "/v1/runs/demo/sum", "")
	changed := func(change func(map[string]any)) string {
		var members map[string]any
		if err := json.Unmarshal([]byte(strings.ReplaceAll(export, "12345678901234567890", `"long"`)), &members); err != nil {
			t.Fatal(err)
		}
		change(members)
		text, err := json.Marshal(members)
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(text), `"long"`, "12345678901234567890")
	}
	for name, change := range map[string]func(map[string]any){
		"run":        func(m map[string]any) { m["run"].(map[string]any)["status"] = "faulted" },
		"definition": func(m map[string]any) { m["definition"].(map[string]any)["document"] = "do: []" },
		"records":    func(m map[string]any) { m["records"] = m["records"].([]any)[1:] },
		"state":      func(m map[string]any) { m["state"] = 7 },
	} {
		if p := d.ask(t, "POST", "/v1/import", changed(change)).isProblem(t, http.StatusUnprocessableEntity, "invalid-request"); !strings.Contains(p.Detail, name+": was changed or cut after the export") {
			t.Errorf("%s: %s", name, p.Detail)
		}
	}
	mustRead[api.Description](t, d.ask(t, "POST", "/v1/import", changed(func(m map[string]any) { delete(m, "sums"); delete(m, "records") })), http.StatusCreated)
	d.ask(t, "DELETE", "/v1/runs/demo/sum", "")
	printed := strings.ReplaceAll(changed(func(map[string]any) {}), "12345678901234567890", "12345678901234567000.0") // the output of jq
	mustRead[api.Description](t, d.ask(t, "POST", "/v1/import", strings.ReplaceAll(printed, ",-0,", ",0,")), http.StatusCreated)
	d.ask(t, "DELETE", "/v1/runs/demo/sum", "")
	mustRead[api.Description](t, d.ask(t, "POST", "/v1/import", export), http.StatusCreated)
}
