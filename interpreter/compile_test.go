package interpreter_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/tasks"
)

// TestCompileRefuses: a caller that compiles a document without dsl.Check gets the diagnostic of Check, and no program that does something else than
// the document.
func TestCompileRefuses(t *testing.T) {
	for name, c := range map[string]struct{ document, want string }{
		"expressions in another language": {"evaluate: { language: javascript }\ndo: []", "SW801 /evaluate/language"},
		"a schema in another language":    {"input: { schema: { format: avro, document: {} } }\ndo: []", "SW803 /input/schema/format"},
		"a timeout that is not defined":   {"do: [{ a: { timeout: t, wait: PT1S } }]", "SW203 /do/0/a/timeout"},
		"a policy that is not defined":    {"do: [{ a: { try: [], catch: { retry: r } } }]", "SW203 /do/0/a/catch/retry"},
		"an error that is not defined":    {"do: [{ a: { raise: { error: e } } }]", "SW203 /do/0/a/raise/error"},
		"a function that is not defined":  {"do: [{ a: { call: f } }]", "SW203 /do/0/a/call"},
		"a credential that is not defined": {
			"do: [{ a: { call: http, with: { method: get, endpoint: { uri: 'https://x.test', authentication: { use: a } } } } }]",
			"SW203 /do/0/a/with/endpoint/authentication/use",
		},
		"a flow directive to nowhere": {"do: [{ a: { wait: PT1S, then: b } }]", "SW201 /do/0/a/then"},
		"a race without runners":      {"do: [{ a: { fork: { compete: true, branches: [] } } }]", "SW124 /do/0/a/fork/compete"},
	} {
		t.Run(name, func(t *testing.T) {
			w, found := dsl.Parse("test.yaml", []byte("document: { dsl: 1.0.3, namespace: n, name: n, version: 0.1.0 }\n"+c.document))
			if err := found.Err(); err != nil {
				t.Fatal(err)
			}
			program, compiled := interpreter.Compile(w, interpreter.Config{Kinds: tasks.All(tasks.Config{})})
			if program != nil {
				t.Error("there is a program")
			}
			got := describe(compiled)
			if diff := cmp.Diff(c.want, strings.Join(got, "; ")); diff != "" {
				t.Error(diff)
			}
			if checked := describe(interpreter.Check(w).Errors()); !cmp.Equal(checked, got) {
				t.Errorf("Check reports %q, Compile %q", checked, got)
			}
		})
	}
}

func describe(all dsl.Diagnostics) (codes []string) {
	for _, d := range all {
		codes = append(codes, d.Code+" "+string(d.Pointer))
	}
	return codes
}
