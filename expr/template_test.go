package expr_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
)

func TestTemplates(t *testing.T) {
	for _, c := range []struct {
		name, data, input string
		loose             bool
		want              string
	}{
		{"2.2 text around an expression is a literal", `{"m": "Hello ${ .n }"}`, `{"n": "Bob"}`, false, `{"m": "Hello ${ .n }"}`},
		{"2.4 only delimited strings", `{"y": "${ .x }", "z": ".x"}`, `{"x": 1}`, false, `{"y": 1, "z": ".x"}`},
		{"2.4 keys never", `{"${ .x }": 1, "a": "${ .x }"}`, `{"x": 1}`, false, `{"${ .x }": 1, "a": 1}`},
		{"2.4 deep inside", `[{"a": [1, "${ .x }"]}, "b"]`, `{"x": {"k": 2}}`, false, `[{"a": [1, {"k": 2}]}, "b"]`},
		{"2.4 the whole", `"${ .x }"`, `{"x": [1]}`, false, `[1]`},
		{"2.5 loose evaluates what compiles", `{"a": ".x", "b": "1 + 1"}`, `{"x": 7}`, true, `{"a": 7, "b": 2}`},
		{"2.5 loose keeps what does not compile", `{"a": "Hello, world!", "b": ""}`, `{}`, true, `{"a": "Hello, world!", "b": ""}`},
		{"2.5 loose keeps unknown functions", `["hello", "env"]`, `{}`, true, `["hello", "env"]`},
		{"2.5 loose keeps what fails", `{"a": ".x.y"}`, `{"x": 1}`, true, `{"a": ".x.y"}`},
		{"2.6 several outputs and none", `{"v": "${ .xs[] }", "w": "${ empty }"}`, `{"xs": [1, 2]}`, false, `{"v": [1, 2], "w": null}`},
		{"2.14 data is never code", `{"w": "${ .v }"}`, `{"v": "${ 1 + 1 }"}`, false, `{"w": "${ 1 + 1 }"}`},
		{"2.14 nor in loose mode", `{"w": ".v"}`, `{"v": "1 + 1"}`, true, `{"w": "1 + 1"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := mustDecode(t, c.data)
			template, err := expr.CompileTemplate(data, c.loose)
			if err != nil {
				t.Fatal(err)
			}
			got, err := template.Eval(env{}, mustDecode(t, c.input))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(mustDecode(t, c.want), got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(mustDecode(t, c.data), data); diff != "" {
				t.Error("the template's data has changed", diff)
			}
		})
	}
}

func TestTemplateSharing(t *testing.T) {
	still := map[string]any{"big": []any{1, 2}}
	literal, err := expr.CompileTemplate(still, false)
	if err != nil {
		t.Fatal(err)
	}
	if data, ok := literal.Literal(); !ok || !isSame(data, still) {
		t.Errorf("got %v, %v, want the data itself", data, ok)
	}
	if v, _ := literal.Eval(env{}, nil); !isSame(v, still) {
		t.Error("a template without expressions does not share its data")
	}
	template, err := expr.CompileTemplate(map[string]any{"still": still, "moving": "${ now | $a + . }"}, false)
	if err != nil {
		t.Fatal(err)
	}
	v, err := template.Eval(env{"a": 1}, nil)
	if err != nil || !isSame(v.(map[string]any)["still"], still) {
		t.Errorf("got %v, %v, want the part without expressions itself", v, err)
	}
	if _, ok := template.Literal(); ok || !template.Impure() || !cmp.Equal(template.Variables(), []string{"a"}) {
		t.Errorf("got %v, %v", template.Impure(), template.Variables())
	}
}

// isSame reports whether two maps are the same map, so that a change to one is a change to the other.
func isSame(a any, b map[string]any) bool {
	m, ok := a.(map[string]any)
	if !ok {
		return false
	}
	b["probe"] = true
	defer delete(b, "probe")
	return m["probe"] == true
}

func TestTemplateErrors(t *testing.T) {
	_, err := expr.CompileTemplate(mustDecode(t, `{"a": ["x", "${ .b + }"], "c": "${ lenght }", "d": "${ .ok }"}`), true)
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("got %v, want joined errors", err)
	}
	var got []string
	for _, e := range joined.Unwrap() {
		var template *expr.TemplateError
		var syntax *expr.SyntaxError
		if !errors.As(e, &template) || !errors.As(e, &syntax) {
			t.Fatalf("got %v, want a template error", e)
		}
		got = append(got, e.Error())
	}
	want := []string{`.a[1]: expected a value after "+"`, `.c: unknown function lenght, did you mean length?`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTemplateFailures(t *testing.T) {
	for name, data := range map[string]string{
		"2.5 a delimited failure is loud": `{"a": "${ .x.y }"}`,
		"the first of several":            `{"a": "${ error(\"first\") }", "b": "${ error(\"second\") }"}`,
		"the whole is too large":          `{"a": "${ \"x\" * 3000000 }", "b": "${ \"x\" * 3000000 }"}`,
	} {
		t.Run(name, func(t *testing.T) {
			template, err := expr.CompileTemplate(mustDecode(t, data), true)
			if err != nil {
				t.Fatal(err)
			}
			v, err := template.Eval(env{}, map[string]any{"x": 1})
			if e := errors.AsError(err); e == nil || e.Type != errors.Expression || e.Detail == "second" {
				t.Errorf("got %.50v, %v", v, err)
			}
		})
	}
}

// TestTemplateWork: the expressions of one value share one budget of work, so that many of them cannot delay a deadline.
func TestTemplateWork(t *testing.T) {
	const heavy = "${ reduce range(30000) as $i (0; . + $i) }"
	for _, loose := range []bool{false, true} {
		for n, fits := range map[int]bool{3: true, 300: false} {
			data := make([]any, n)
			for i := range data {
				data[i] = heavy
			}
			template, err := expr.CompileTemplate(map[string]any{"a": data}, loose)
			if err != nil {
				t.Fatal(err)
			}
			v, err := template.Eval(env{}, nil)
			if fits && err != nil || !fits && (err == nil || !strings.Contains(err.Error(), "together")) {
				t.Errorf("%d expressions: got %v, %v", n, v, err)
			}
		}
	}
}
