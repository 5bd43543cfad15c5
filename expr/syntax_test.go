package expr_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
)

func TestSyntaxErrors(t *testing.T) {
	// The caret is where the error is.
	for _, c := range []struct{ name, marked, token, want string }{
		{"a missing value at the end", "${ .a +‸ }", "", `expected a value after "+"`},
		{"a missing value, bare", "  .a +‸  ", "", `expected a value after "+"`},
		{"a missing value before a bracket", "${ (.a + ‸) }", ")", `expected a value after "+", got ")"`},
		{"two values", "${ .a ‸.b c }", "", ""},
		{"a number after a path", "${ .a ‸1 }", "1", `unexpected "1" after ".a"`},
		{"an open bracket", "${ [.a, .b‸ }", "", `missing "]" for "["`},
		{"an open parenthesis", "${ map(.a‸ }", "", `missing ")" for "("`},
		{"an open text", `${ .a + ‸"x }`, `"`, `missing " at the end of the text`},
		{"a bad escape", `${ "a‸\q" }`, `\q`, `unknown escape \q in a text: write \\ for a backslash`},
		{"single quotes", "${ .a == ‸'x' }", "'", "unexpected ': put text in double quotes"},
		{"a missing end", "${ if .a then 1‸ }", "", `missing "end" for "if"`},
		{"C's and", "${ .a ‸&& .b }", "&&", `unexpected &&: write "and"`},
		{"C's or", "${ .a |‸| .b }", "", ""},
		{"two expressions", "${ .a ‸} and ${ .b }", "}", `unexpected "}" after ".a"`},
		{"nothing", "${‸}", "", "the expression is empty: write . for the input itself"},
		{"an unknown function", "${ .a | ‸lenght }", "lenght", "unknown function lenght, did you mean length?"},
		{"an unknown function after its name as a field and key", `${ .lenght | {lenght: 1} | "lenght" | ‸lenght }`, "lenght", "unknown function lenght, did you mean length?"},
		{"an unknown function inside a text", `${ "a \(‸frobnicate(1)) b" }`, "frobnicate", "unknown function frobnicate"},
		{"a wrong number of arguments", "${ .a | ‸join }", "join", "join takes 1 argument, got 0"},
		{"a function of the machine", "${ ‸_add(1; 2) }", "_add", "unknown function _add, did you mean add?"},
		{"2.13 env", "${ ‸env.HOME }", "env", "env is not available: expressions cannot use the environment"},
		{"2.13 $ENV", "${ .a + ‸$ENV.REDIS_PASSWORD }", "$ENV", "$ENV is not available: expressions cannot use the environment"},
		{"2.13 input", "${ [.input, ‸input] }", "input", "input is not available: expressions cannot use further input"},
		{"2.13 inputs", "${ [‸inputs] }", "inputs", "inputs is not available: expressions cannot use further input"},
		{"2.13 input_filename", "${ ‸input_filename }", "input_filename", "input_filename is not available: expressions cannot use further input"},
		{"2.13 halt", "${ ‸halt }", "halt", "halt is not available: expressions cannot use the host's process"},
		{"2.13 halt_error", `${ "x" | ‸halt_error(1) }`, "halt_error", "halt_error is not available: expressions cannot use the host's process"},
		{"2.13 import", `${ ‸import "/etc/x" as x; . }`, "import", "import is not available: expressions cannot use modules"},
		{"2.13 include", `${ ‸include "x"; . }`, "include", "include is not available: expressions cannot use modules"},
		{"2.13 modulemeta", `${ "x" | ‸modulemeta }`, "modulemeta", "modulemeta is not available: expressions cannot use modules"},
		{"2.13 get_search_list", `${ ‸get_search_list }`, "get_search_list", "get_search_list is not available: expressions cannot use modules"},
		{"2.13 $__loc__", `${ ‸$__loc__ }`, "$__loc__", "$__loc__ is not available: expressions cannot use the place in the source"},
		{"a module's function", `${ ‸m::f }`, "m::f", "m::f is not available: expressions cannot use modules"},
		{"a break without its label", `${ 1 | ‸break $out }`, "break", "break $out stands outside of label $out"},
		{"a name with a dash", "${ .foo-‸bar }", "bar", `unknown function bar; put a name with a dash in quotes: ."a-b"`},
		{"an unknown format", "${ .a | ‸@base46 }", "@base46", "unknown format @base46"},
		{"a name that begins with a digit", "${ ‸1a }", "1a", `"1a" is neither a number nor a name`},
		{"an open interpolation", `${ "a \(‸ }`, "", `expected a value after \(`},
		{"a definition alone", "${ def f: 1;‸ }", "", "expected a value at the end of the expression"},
		{"a non-Latin letter", "${ .a + ‸é }", "é", `expected a value after "+", got "é"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			source := strings.Replace(c.marked, "‸", "", 1)
			_, err := expr.Compile(source)
			var got *expr.SyntaxError
			if !errors.As(err, &got) {
				t.Fatalf("got %v, want a syntax error", err)
			}
			if c.want == "" { // only the kind of the error is certain
				return
			}
			want := &expr.SyntaxError{Offset: strings.Index(c.marked, "‸"), Token: c.token, Msg: c.want}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNamesThatAreNoFunctions(t *testing.T) {
	for name, program := range map[string]string{
		"a field":                 ".input.env",
		"a key":                   "{input: 1, env: .debug, halt}",
		"a text":                  `"env \("input")"`,
		"a comment":               ". # env input",
		"the program's own":       "def env: 1; env",
		"the program's parameter": "def f(input): input; f(1)",
		"the program's variable":  "1 as $ENV | $ENV",
		"a keyword as a key":      "{if: 1, and: 2}.if",
	} {
		t.Run(name, func(t *testing.T) { mustCompile(t, program) })
	}
}

func TestAnalyze(t *testing.T) {
	for _, c := range []struct {
		name, program string
		want          expr.Facts
	}{
		{"variables with paths", "${ $secrets.db.password + $context[\"a\"].b[0].c }", expr.Facts{
			Variables: []expr.Ref{{Name: "secrets", Offset: 3, Path: []string{"db", "password"}}, {Name: "context", Offset: 26, Path: []string{"a", "b"}}},
		}},
		{"bound variables are not its own", ". as $x | [$x, $y] | . as {a: $z, $w} | $z + $w + $v", expr.Facts{
			Variables: []expr.Ref{{Name: "y", Offset: 15}, {Name: "v", Offset: 50}},
		}},
		{"a binding ends", "(. as $x | $x) + $x", expr.Facts{Variables: []expr.Ref{{Name: "x", Offset: 17}}}},
		{"a loop binds in its body only", "reduce .[] as $x ($x; $x)", expr.Facts{Variables: []expr.Ref{{Name: "x", Offset: 18}}}},
		{"parameters bind", "def f($a): $a + $b; f(1)", expr.Facts{Variables: []expr.Ref{{Name: "b", Offset: 16}}}},
		{"a key reads a variable", "{$input, a: 1}", expr.Facts{Yields: "an object", Variables: []expr.Ref{{Name: "input", Offset: 1}}}},
		{"functions", `.a | frob(1; 2) | length`, expr.Facts{
			Yields:    "a number",
			Functions: []expr.Ref{{Name: "frob", Arity: 2, Offset: 5}, {Name: "length", Offset: 18, Known: true}},
			Fields:    [][]string{{"a"}},
		}},
		{"functions in a text, not in a text's letters", `"now \(now) now"`, expr.Facts{
			Functions: []expr.Ref{{Name: "now", Offset: 7, Known: true}}, Impure: true, Yields: "text",
		}},
		{"fields", "{x: .a.b, y: [.c[0].d, .\"e f\"], z, w: (.g | .h)}", expr.Facts{
			Yields: "an object", Fields: [][]string{{"a", "b"}, {"c"}, {"e f"}, {"z"}, {"g"}},
		}},
		{"fields of something else", "map(.a) | .b", expr.Facts{Functions: []expr.Ref{{Name: "map", Arity: 1, Offset: 0, Known: true}}}},
		{"fields after a binding", ".a as $x | .b", expr.Facts{Fields: [][]string{{"a"}, {"b"}}}},
		{"an own definition hides the clock", "def now: 1; now", expr.Facts{}},
		{"an assignment", "${ .a = 1 and .b }", expr.Facts{Yields: "the changed input", Assigns: 6, Fields: [][]string{{"a"}, {"b"}}}},
		{"an update", ".a += 1", expr.Facts{Yields: "the changed input", Fields: [][]string{{"a"}}}},
		{"a choice of texts", `if .a then "x" else "y" end`, expr.Facts{Yields: "text", Fields: [][]string{{"a"}}}},
		{"a choice of text and truth", `if .a then "x" else true end`, expr.Facts{Fields: [][]string{{"a"}}}},
		{"a comment", "# $a now\n.b", expr.Facts{Fields: [][]string{{"b"}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := expr.Analyze(c.program)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFunctions(t *testing.T) {
	known := strings.Join(expr.Functions(), " ") + " "
	for _, name := range []string{"map ", "select ", "now ", "test ", "add "} {
		if !strings.Contains(known, name) {
			t.Errorf("%sis missing", name)
		}
	}
	for _, name := range []string{" env ", " input ", " halt ", " _add ", " %reach ", " _seconds "} {
		if strings.Contains(known, name) {
			t.Errorf("%sis offered", name)
		}
	}
}
