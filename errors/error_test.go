package errors_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/errors"
)

func TestSame(t *testing.T) {
	for _, c := range []struct {
		name, a, b string
		want       bool
	}{
		{"both bases", errors.Base + "timeout", errors.BaseOpenWorkflow + "timeout", true},
		{"the form that the conformance kit filters on", "https://open-workflow-specification.org/dsl/errors/types/communication", errors.Communication, true},
		{"another version of the specification", "https://serverlessworkflow.io/spec/1.0.3/errors/runtime", errors.Runtime, true},
		{"two standard types", errors.Timeout, errors.Runtime, false},
		{"a name that is not standard stays verbatim", "https://serverlessworkflow.io/errors/types/compliance", "https://serverlessworkflow.io/dsl/errors/types/compliance", false},
		{"a foreign host", "https://example.com/spec/1.0.0/errors/timeout", errors.Timeout, false},
		{"a foreign type equals itself", "https://example.com/e", "https://example.com/e", true},
		{"the short name is not a type", "timeout", errors.Timeout, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := errors.Same(c.a, c.b); got != c.want {
				t.Errorf("Same(%q, %q) = %v, want %v", c.a, c.b, got, c.want)
			}
		})
	}
}

func TestProblemJSON(t *testing.T) {
	e := errors.Timeoutf("took more than %s", "PT2S").At("/do/0/a").With("deadline", "2026-01-01T00:00:00Z")
	data, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"deadline":"2026-01-01T00:00:00Z","detail":"took more than PT2S","instance":"/do/0/a","status":408,"title":"Timeout","type":"https://serverlessworkflow.io/spec/1.0.0/errors/timeout"}`
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Error(diff)
	}
	var back errors.Error
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(e, &back); diff != "" {
		t.Error(diff)
	}
}

// TestNumbersStayAsTheyAre: an error that is stored and read back keeps its members.
func TestNumbersStayAsTheyAre(t *testing.T) {
	e := errors.Runtimef("x").With("value", 4).With("half", 0.5).With("large", 9007199254740993).
		With("larger", json.Number("123456789012345678901234567890")).With("inside", map[string]any{"list": []any{1, -2}})
	data, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var back errors.Error
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(e, &back); diff != "" {
		t.Error(diff)
	}
}

func TestExtensionsNeverReplaceMembers(t *testing.T) {
	e := errors.Runtimef("x").With("status", 1).With("title", "other")
	if v := e.Value(); v["status"] != 500 || v["title"] != "Runtime Failure" {
		t.Errorf("got %v", v)
	}
}

func TestFromValueRefuses(t *testing.T) {
	for _, c := range []struct {
		name  string
		value any
		want  string
	}{
		{"a text", "boom", `an error must be an object, got "boom"`},
		{"a list", []any{1, "<b>"}, `an error must be an object, got [1,"<b>"]`},
		{"a long text", strings.Repeat("x", 200), `an error must be an object, got "` + strings.Repeat("x", 99) + "…"},
		{"no status", map[string]any{"type": "x"}, "an error needs the members type and status"},
		{"no type", map[string]any{"status": 1}, "an error needs the members type and status"},
		{"a status in quotes", map[string]any{"type": "x", "status": "1"}, `an error's status must be a whole number, got "1"`},
		{"a number as title", map[string]any{"type": "x", "status": 1, "title": 3}, "an error's title must be text, got 3"},
		{"an object as title", map[string]any{"type": "x", "status": 1, "title": map[string]any{"a": nil}}, `an error's title must be text, got {"a":null}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := errors.FromValue(c.value); err == nil || err.Error() != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestAsError(t *testing.T) {
	if errors.AsError(io.EOF) != nil {
		t.Error("a host error is not a workflow error")
	}
	if errors.AsError(errors.Join(io.EOF, errors.Runtimef("x"))) == nil {
		t.Error("a wrapped workflow error was not found")
	}
}

func TestRebase(t *testing.T) {
	if got := errors.Rebase(errors.Timeoutf("x"), errors.BaseOpenWorkflow).Type; got != errors.BaseOpenWorkflow+"timeout" {
		t.Error(got)
	}
	own := &errors.Error{Type: "https://example.com/e", Status: 1}
	if got := errors.Rebase(own, errors.BaseOpenWorkflow); got != own {
		t.Error(got)
	}
}
