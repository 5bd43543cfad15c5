package server_test

import (
	"encoding/xml"
	"net/http"
	"strings"
	"testing"

	"github.com/swrun/swrun/internal/api"
)

// TestDrawings: the drawings of a run are well-formed and show its progress; so does the answer about a task.
func TestDrawings(t *testing.T) {
	d := mustDeployment(t)
	d.mustDeploy(t, "echo", echoes)
	location := d.mustStart(t, "echo", "one")
	d.ask(t, "GET", location+"/output?wait=30s", "")
	for path, says := range map[string]string{"/graph.svg": "echo (set): done", "/timeline.svg": "/do/0/echo completed after"} {
		a := d.ask(t, "GET", location+path, "")
		var any struct{}
		if err := xml.Unmarshal([]byte(a.body), &any); err != nil || a.Header.Get("Content-Type") != "image/svg+xml" || !strings.Contains(a.body, says) {
			t.Errorf("%s: %v: %s %s", path, err, a.Status, a.body)
		}
		d.ask(t, "GET", "/v1/runs/demo/nothing"+path, "").isProblem(t, http.StatusNotFound, "not-found")
	}
	task := mustRead[api.TaskRecord](t, d.ask(t, "GET", location+"/tasks/2", ""), http.StatusOK)
	if task.Pointer != "/do/0/echo" || task.Status != "completed" || task.Output == nil || len(task.Records) != 2 {
		t.Errorf("%+v", task)
	}
	d.ask(t, "GET", location+"/tasks/1", "").isProblem(t, http.StatusUnprocessableEntity, "invalid-request")
	d.ask(t, "GET", location+"/tasks/0", "").isProblem(t, http.StatusUnprocessableEntity, "invalid-request")
	d.ask(t, "GET", location+"/tasks/99", "").isProblem(t, http.StatusNotFound, "not-found")
	d.ask(t, "GET", location+"/tasks/odd", "").isProblem(t, http.StatusUnprocessableEntity, "invalid-request")
	for accept, begins := range map[string]string{
		"image/svg+xml": "<svg ", "text/vnd.mermaid": "flowchart", "text/vnd.graphviz": "digraph", "application/yaml": "document:", "*/*": "{", "": "{",
		"text/html, application/yaml;q=0.5": "document:", "image/*": "<svg ",
	} {
		if a := d.ask(t, "GET", "/v1/workflows/demo/echo", "", "Accept", accept); !strings.HasPrefix(a.body, begins) {
			t.Errorf("%s: %s %s", accept, a.Status, a.body)
		}
	}
	d.ask(t, "GET", "/v1/workflows/demo/echo", "", "Accept", "text/html").isProblem(t, http.StatusNotAcceptable, "not-acceptable")
}
