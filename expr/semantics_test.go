package expr_test

import (
	"encoding/json"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
)

func TestDelimiters(t *testing.T) { // 2.1
	for _, c := range []struct {
		name, text string
		want       bool
	}{
		{"an expression", "${ .a }", true},
		{"white space around it", " \n${ .a }\n", true},
		{"a block scalar's line end", "${ .a }\n", true},
		{"an object in it", "${{a: .x}}", true},
		{"two expressions are one bad one", "${ .a } and ${ .b }", true},
		{"text before it", "x ${ .a }", false},
		{"text after it", "${ .a } x", false},
		{"a bare expression", ".a", false},
		{"an open delimiter", "${ .a", false},
		{"nothing", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := expr.Delimited(c.text); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestEval(t *testing.T) {
	variables := env{
		"input": map[string]any{"x": 5}, "context": map[string]any{"a": map[string]any{"b": "deep"}}, "item": "loop",
		"secrets": map[string]any{"k": "s3cr3t"},
	}
	for _, c := range []struct{ name, program, input, want string }{
		{"2.1 delimited", "${ .a }", `{"a": 1}`, `1`},
		{"2.1 with white space around", "\n ${ .a }\n", `{"a": 1}`, `1`},
		{"2.1 an object keeps its type", "${{k: .x}}", `{"x": 1}`, `{"k": 1}`},
		{"2.1 an apostrophe stays", `${ "it's" }`, `null`, `"it's"`},
		{"2.3 bare", ".a.b", `{"a": {"b": [1]}}`, `[1]`},
		{"2.6 several outputs are an array", ".xs[]", `{"xs": [1, 2]}`, `[1, 2]`},
		{"2.6 one output that is an array stays one", "(.xs | .[1:])", `{"xs": [1, 2]}`, `[2]`},
		{"2.6 several arrays are not flattened", ".xs, .xs", `{"xs": [1]}`, `[[1], [1]]`},
		{"2.6 no output is null", "empty", `1`, `null`},
		{"2.9 input and variable", "[$input.x, .x]", `{"x": 1}`, `[5, 1]`},
		{"2.9 a deep variable", "$context.a.b", `null`, `"deep"`},
		{"2.8 an unknown variable is null", "$output", `1`, `null`},
		{"a loop variable", `"\($item)!"`, `null`, `"loop!"`},
		{"keys in no order", "keys_unsorted", `{"b": 1, "a": 2}`, `["a", "b"]`},
		{"an array of one", "[toarray, (1 | toarray)]", `[1]`, `[[1], [1]]`},
		{"what numbers are like", "[have_literal_numbers, have_decnum]", `null`, `[true, true]`},
		{"a character of ASCII", "[65, 127 | ascii]", `null`, `["A", "\u007f"]`},
		{"base32", `[@base32, (@base32 | @base32d), @base32 "<\(.)>", ("MZXW6" | @base32d), ([1] | @base32), format("base32")]`, `"foo"`, `["MZXW6===", "foo", "<MZXW6===>", "foo", "LMYV2===", "MZXW6==="]`},
		{"base32 that is none", `try ("1" | @base32d) catch .`, `null`, `"string (\"1\") is not valid base32 data"`},
		{"dates that are moved", `[dateadd("seconds"; 5), datesub("seconds"; 5), date]`, `1425599507`, `[1425599512, 1425599502, "2015-03-05T23:51:47Z"]`},
		{"a date with a fraction", "[.[] | fromdate]", `["2015-03-05T23:51:47.5Z", "2015-03-05T23:51:47Z", "2015-03-05t23:51:47z", "2015-03-06T01:51:47+02:00", "2015-03-05T23:51:47+0000"]`, `[1425599507.5, 1425599507, 1425599507, 1425599507, 1425599507]`},
		{"a date with a fraction, by its other name", "fromdateiso8601 | todate", `"2015-03-05T23:51:47.75Z"`, `"2015-03-05T23:51:47Z"`},
		{"a power of ten", "pow10", `3`, `1000`},
		{"what fails", "[isvalid(.a), isvalid(error)]", `{}`, `[true, false]`},
		{"a name of its own", "def toarray: 7; toarray", `1`, `7`},
		{"debug passes its input on", ".a | debug | . + 1", `{"a": 1}`, `2`},
		{"debug with a message passes its input on", `.a | debug("a is \(.)", .) | . + 1`, `{"a": 1}`, `2`},
		{"debug in a path", ".a |= (debug | . + 1)", `{"a": 1}`, `{"a": 2}`},
		{"debug of nothing", "empty | debug", `1`, `null`},
		{"stderr passes its input on", ".a | stderr", `{"a": 1}`, `1`},
		{"2.13 a large id is exact", ".id", `{"id": 9007199254740993}`, `9007199254740993`},
		{"2.13 a larger id is exact", ".id", `{"id": 123456789012345678901234567890}`, `123456789012345678901234567890`},
		{"2.13 a large id in a construction is exact", "{i: .id}", `{"id": 12345678901234567890}`, `{"i": 12345678901234567890}`},
		{"2.13 large numbers add up", ".id + 1", `{"id": 9223372036854775807}`, `9223372036854775808`},
		{"2.13 from JSON text", `.t | fromjson`, `{"t": "[1, 1.5, 12345678901234567890]"}`, `[1, 1.5, 12345678901234567890]`},
		{"2.13 the clock is the step's", "now", `null`, `1700000000.5`},
		{"2.13 the clock in a pipeline", "[now, now] | unique | length", `null`, `1`},
		{"2.13 local time is UTC", `0 | strflocaltime("%H %Z")`, `null`, `"00 UTC"`},
		{"2.13 local time parts are UTC's", `0 | localtime == (0 | gmtime)`, `null`, `true`},
		{"2.14 text from data is not evaluated", ".y", `{"y": "${ 1 + 1 }"}`, `"${ 1 + 1 }"`},
		{"2.14 nor is JSON text", ".y", `{"y": "{\"a\": 1}"}`, `"{\"a\": 1}"`},
		{"an empty object", "{}", `1`, `{}`},
		{"a comment", ".a # the a\n", `{"a": 2}`, `2`},
		{"a pipeline", ".items | map(.n * 2) | add", `{"items": [{"n": 1}, {"n": 2}]}`, `6`},
		{"a definition", "def twice: . * 2; .n | twice", `{"n": 4}`, `8`},
		{"not a number is null as JSON", "nan", `null`, `null`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := mustCompile(t, c.program).Eval(variables, mustDecode(t, c.input))
			if err != nil {
				t.Fatal(err)
			}
			text, err := expr.Encode(got)
			if err != nil {
				t.Fatal(err)
			}
			want, _ := expr.Encode(mustDecode(t, c.want))
			if string(text) != string(want) {
				t.Errorf("got %s, want %s", text, want)
			}
		})
	}
}

func TestResultTypes(t *testing.T) {
	for _, c := range []struct {
		program string
		want    any
	}{
		{"1 + 1", 2},
		{"1.5 * 2", 3.0},
		{"9223372036854775807 + 1", json.Number("9223372036854775808")},
		{"12345678901234567890", json.Number("12345678901234567890")},
		{"[12345678901234567890 - 12345678901234567889]", []any{1}},
		{`"[7]" | fromjson`, []any{7}},
		{`"1e2" | fromjson`, 100.0},
		{"infinite", math.Inf(1)},
	} {
		t.Run(c.program, func(t *testing.T) {
			got, err := evaluate(c.program, nil)
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("%v %s", err, diff)
			}
		})
	}
}

func TestConditions(t *testing.T) { // 2.7
	for _, c := range []struct {
		name, program string
		want, fails   bool
	}{
		{"true", "true", true, false},
		{"false", "${ false }", false, false},
		{"null is false", "null", false, false},
		{"no output is false", "empty", false, false},
		{"a comparison", ". == {}", true, false},
		{"a number is no condition", "1", false, true},
		{"text is no condition", `"true"`, false, true},
		{"an object is no condition", "{}", false, true},
		{"several outputs are no condition", "true, true", false, true},
		{"a large number is no condition", "12345678901234567890", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := mustCompile(t, c.program).EvalCondition(env{}, map[string]any{})
			if got != c.want || (err != nil) != c.fails {
				t.Errorf("got %v, %v", got, err)
			}
			if e := errors.AsError(err); c.fails && (e == nil || e.Type != errors.Expression) {
				t.Errorf("got %v, want an expression error", err)
			}
		})
	}
}

func TestFailures(t *testing.T) { // 2.15
	for _, c := range []struct {
		name, program string
		input         any
		want          string
	}{
		{"a type error", `.a + "x"`, map[string]any{"a": 1}, `cannot add: number (1) and string ("x")`},
		{"a path through a text", ".a.b", map[string]any{"a": "x"}, `expected an object but got: string ("x")`},
		{"an error with a text", `error("out of stock")`, nil, "out of stock"},
		{"an error with a value", "error({a: 1})", nil, `error: {"a":1}`},
		{"an error after a value", `1, error("late")`, nil, "late"},
		{"a division by zero", "1 / .", 0, "cannot divide number (1) by: number (0)"},
		{"a long value is cut", ".a", strings.Repeat("x", 1000), `expected an object but got: string ("xxxxxxxxxxxxxxxxxxxxxxxx ...")`},
		{"a long error is cut", `error("x" * 1000)`, nil, strings.Repeat("x", 500) + " ..."},
		{"a value that is not JSON", ". + 1", int64(3), "the expression meets a value that is not JSON"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := evaluate(c.program, c.input)
			e := errors.AsError(err)
			if e == nil {
				t.Fatalf("got %v, %v", v, err)
			}
			want := errors.Expressionf("%s", c.want)
			if diff := cmp.Diff(want, e); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSharedCode(t *testing.T) {
	code := mustCompile(t, `${ .items | map(select(.name | test("^\($prefix)"))) | map(.n) | add }`)
	input := mustDecode(t, `{"items": [{"name": "ab", "n": 1}, {"name": "bb", "n": 2}, {"name": "ac", "n": 4}]}`)
	var wait sync.WaitGroup
	for worker := range 8 {
		wait.Go(func() {
			prefix, want := "a", any(5)
			if worker%2 == 0 {
				prefix, want = "b", 2
			}
			for range 200 {
				if got, err := code.Eval(env{"prefix": prefix}, input); err != nil || got != want {
					t.Errorf("got %v, %v", got, err)
					return
				}
			}
		})
	}
	wait.Wait()
}

type counting struct {
	env
	asked map[string]int
}

func (c counting) Variable(name string) any { c.asked[name]++; return c.env[name] }

func TestVariablesAreAskedOnce(t *testing.T) {
	for _, program := range []string{"[$a, $a, $b]", "$a as $x | [$a, $x, $b]"} {
		c := counting{env{"a": 1, "b": 2}, map[string]int{}}
		code := mustCompile(t, program)
		if _, err := code.Eval(c, nil); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]int{"a": 1, "b": 1}, c.asked); diff != "" {
			t.Error(program, diff)
		}
		if diff := cmp.Diff([]string{"a", "b"}, code.Variables()); diff != "" {
			t.Error(program, diff)
		}
	}
}
