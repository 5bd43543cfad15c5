package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/tasks"
)

// testCase is one file of testdata.
type testCase struct {
	name  string
	files map[string]string
}

// mustCases reads every case.
func mustCases(t *testing.T) []testCase {
	t.Helper()
	paths, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no cases in testdata", err)
	}
	cases := make([]testCase, len(paths))
	for i, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		cases[i] = testCase{strings.TrimSuffix(strings.TrimPrefix(path, "testdata/"), ".txtar"), map[string]string{}}
		for _, f := range archive.Files {
			cases[i].files[f.Name] = string(f.Data)
		}
	}
	return cases
}

// input returns the case's input, or nil.
func (c testCase) input(t *testing.T) any {
	t.Helper()
	text, ok := c.files["input.json"]
	if !ok {
		return map[string]any{}
	}
	return mustDecode(t, text)
}

func mustDecode(t *testing.T, text string) any {
	t.Helper()
	v, err := expr.Decode([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// load parses, checks and compiles a document.
func load(file, text string, config interpreter.Config) (*interpreter.Program, dsl.Diagnostics) {
	w, diagnostics := dsl.Parse(file, []byte(text))
	if diagnostics.Err() == nil {
		diagnostics = append(diagnostics, interpreter.Check(w)...)
	}
	if diagnostics.Err() != nil {
		return nil, diagnostics.Errors()
	}
	p, found := interpreter.Compile(w, config)
	return p, found.Errors()
}

// config is what cases run with.
func config(t *testing.T) interpreter.Config {
	t.Helper()
	return interpreter.Config{
		Kinds: tasks.All(tasks.Config{Transport: standIn(t), Processes: true, Secrets: secrets}), Secrets: secrets,
		Runtime: map[string]any{"name": "swrun", "version": "test"},
	}
}

// secrets are the secrets that cases may use.
func secrets(name string) (any, bool) {
	v, ok := map[string]any{
		"api":   map[string]any{"username": "ada", "password": "lovelace", "token": "t0ken"},
		"plain": "s3cret",
	}[name]
	return v, ok
}

// mustProgram loads the case's document, which must have no errors.
func (c testCase) mustProgram(t *testing.T) *interpreter.Program {
	t.Helper()
	p, diagnostics := load("workflow.yaml", c.files["workflow.yaml"], config(t))
	if err := diagnostics.Err(); err != nil {
		t.Fatal(err)
	}
	return p
}

// workflows finds the other documents of the case: child-NAME.yaml.
func (c testCase) workflows(t *testing.T) func(namespace, name, version string) (*interpreter.Program, *errors.Error) {
	return func(_, name, _ string) (*interpreter.Program, *errors.Error) {
		text, ok := c.files["child-"+name+".yaml"]
		if !ok {
			return nil, errors.Configurationf("the workflow %s is not known here", name)
		}
		p, diagnostics := load("child-"+name+".yaml", text, config(t))
		if diagnostics.Err() != nil {
			return nil, errors.Configurationf("%s", diagnostics)
		}
		return p, nil
	}
}

// verify compares how a run ended with what the case wants.
func (c testCase) verify(t *testing.T, status interpreter.Status, output any, fault *errors.Error) {
	t.Helper()
	if want, ok := c.files["output.json"]; ok {
		if status != interpreter.StatusCompleted {
			t.Fatalf("the run is %s: %v", status, fault)
		}
		if diff := cmp.Diff(mustDecode(t, want), output); diff != "" {
			t.Errorf("output (-want +got):\n%s", diff)
		}
		return
	}
	want, ok := mustDecode(t, c.files["error.json"]).(map[string]any)
	if !ok || fault == nil {
		t.Fatalf("the run is %s with %v, want the error %v", status, output, c.files["error.json"])
	}
	got := fault.Value()
	got["type"] = errors.Name(fault.Type)
	for name, member := range want {
		if diff := cmp.Diff(member, got[name]); diff != "" {
			t.Errorf("error member %s (-want +got):\n%s\nin %v", name, diff, fault)
		}
	}
}

// verifyRecords checks that the wanted records appear in order.
func (c testCase) verifyRecords(t *testing.T, records []interpreter.Record) {
	t.Helper()
	var told []string
	for _, r := range records {
		told = append(told, strings.TrimSpace(fmt.Sprintf("%s %s", r.Type, r.Path)))
	}
	rest := told
	for _, want := range strings.Split(strings.TrimSpace(c.files["records.txt"]), "\n") {
		for want != "" && len(rest) > 0 && rest[0] != want {
			rest = rest[1:]
		}
		if want != "" && len(rest) == 0 {
			t.Fatalf("the record %q is missing or too early in:\n%s", want, strings.Join(told, "\n"))
		}
		if want != "" {
			rest = rest[1:]
		}
	}
}

// verifyDiagnostics compares codes and pointers.
func (c testCase) verifyDiagnostics(t *testing.T, diagnostics dsl.Diagnostics) {
	t.Helper()
	var got []string
	for _, d := range diagnostics {
		got = append(got, fmt.Sprintf("%s %s", d.Code, d.Pointer))
	}
	want := strings.Split(strings.TrimSpace(c.files["diagnostics.txt"]), "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("diagnostics (-want +got):\n%s\n%v", diff, diagnostics)
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func mustReadFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
