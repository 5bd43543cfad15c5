package server_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/internal/api"
)

// transforms is a workflow whose tasks transform their input, and change $context.
const transforms = `do:
- first: {set: {n: 1}, export: {as: '{seen: [.n], who: "ada", "a/b": {c: 1}}'}}
- second:
    input: {from: '{got: .n}'}
    set: {double: '${ .got * 2 }'}
    output: {as: .double}
    export: {as: '$context | .seen += [2] | del(.who) | ."a/b".c = 2 | .last = 3'}
- both: {fork: {branches: [{one: {set: {in: '${ . }'}, export: {as: '{branch: 1}'}}}, {two: {set: {z: 1}}}]}}
- loop: {for: {each: x, in: '[1, 2]'}, do: [{inner: {input: {from: '{x: $x}'}, set: {y: '${ .x }'}}}]}
- fails: {input: {from: '{a: 1}'}, set: {b: '${ .a }'}, output: {as: 'error("no")'}}
`

// TestWhatATaskSaw: the answer about an occurrence of a task contains its data before and after each transformation, and its changes.
func TestWhatATaskSaw(t *testing.T) {
	d := mustDeployment(t)
	d.mustDeploy(t, "transforms", transforms)
	location := d.mustStart(t, "transforms", "one")
	d.ask(t, "GET", location+"/output?wait=30s", "").isProblem(t, http.StatusInternalServerError, "run-faulted")
	for path, want := range map[string]string{
		"/do/0/first":                    `{"input":{},"transformedInput":{},"rawOutput":{"n":1},"output":{"n":1},"contextBefore":{},"contextAfter":{"a/b":{"c":1},"seen":[1],"who":"ada"},"contextChanges":[{"pointer":"/a~1b","after":{"c":1}},{"pointer":"/seen","after":[1]},{"pointer":"/who","after":"ada"}]}`,
		"/do/1/second":                   `{"input":{"n":1},"transformedInput":{"got":1},"rawOutput":{"double":2},"output":2,"contextBefore":{"a/b":{"c":1},"seen":[1],"who":"ada"},"contextAfter":{"a/b":{"c":2},"last":3,"seen":[1,2]},"contextChanges":[{"pointer":"/a~1b/c","before":1,"after":2},{"pointer":"/last","after":3},{"pointer":"/seen","before":[1],"after":[1,2]},{"pointer":"/who","before":"ada"}]}`,
		"/do/2/both/fork/branches/0/one": `{"input":2,"transformedInput":2,"rawOutput":{"in":2},"output":{"in":2},"contextBefore":{"a/b":{"c":2},"last":3,"seen":[1,2]},"contextAfter":{"branch":1},"contextChanges":[{"pointer":"/a~1b","before":{"c":2}},{"pointer":"/branch","after":1},{"pointer":"/last","before":3},{"pointer":"/seen","before":[1,2]}]}`,
		"/do/3/loop[1]/do/0/inner":       `{"input":{"y":1},"transformedInput":{"x":2},"rawOutput":{"y":2},"output":{"y":2},"contextBefore":{"branch":1},"contextAfter":{"branch":1}}`,
		"/do/4/fails":                    `{"input":{"y":2},"transformedInput":{"a":1},"rawOutput":{"b":1},"contextBefore":{"branch":1}}`,
	} {
		task := d.mustSee(t, location, path)
		if got, err := json.Marshal(task.TaskData); err != nil || cmp.Diff(want, string(got)) != "" {
			t.Errorf("%s: %v\n%s\nwant\n%s", path, err, got, want)
		}
	}
}

// mustSee returns the record of the last occurrence of a task with a path.
func (d *deployment) mustSee(t *testing.T, location, path string) (found api.TaskRecord) {
	t.Helper()
	for _, r := range mustRead[api.History](t, d.ask(t, "GET", location+"/history?limit=1000", ""), http.StatusOK).Records {
		if r.Type == "task.started" && (r.Path == path || r.Path == "" && r.Pointer == path) {
			found = mustRead[api.TaskRecord](t, d.ask(t, "GET", location+"/tasks/"+strconv.Itoa(r.Seq), ""), http.StatusOK)
		}
	}
	if found.Schema != api.SchemaTask {
		t.Fatalf("%s has not begun", path)
	}
	return found
}
