package expr

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/itchyny/gojq"

	"github.com/swrun/swrun/errors"
)

type testEnv map[string]any

func (e testEnv) Variable(name string) any { return e[name] }
func (e testEnv) Now() time.Time           { return time.Unix(1_700_000_000, 0) }

// engineResult returns the result of a program in plain gojq: its outputs joined as Eval joins them, or its error.
func engineResult(t *testing.T, program string, variables testEnv, input any) (any, string) {
	t.Helper()
	query, err := gojq.Parse(program)
	if err != nil {
		t.Fatalf("%s: %v", program, err)
	}
	names, values := []string{}, []any{}
	for name, value := range variables {
		names, values = append(names, "$"+name), append(values, value)
	}
	code, err := gojq.Compile(query, gojq.WithVariables(names))
	if err != nil {
		t.Fatalf("%s: %v", program, err)
	}
	iter := code.Run(duplicate(input), values...)
	var outputs []any
	for v, ok := iter.Next(); ok; v, ok = iter.Next() {
		if err, failed := v.(error); failed {
			return nil, errors.AsError(reportedError(err)).Detail
		}
		outputs = append(outputs, v)
	}
	switch len(outputs) {
	case 0:
		return nil, ""
	case 1:
		return convert(outputs[0]), ""
	}
	return convert(outputs), ""
}

func ownResult(t *testing.T, program string, direct bool, variables testEnv, input any) (any, string) {
	t.Helper()
	code, err := compile(program, direct)
	if err != nil {
		t.Fatalf("%s: %v", program, err)
	}
	v, err := code.Eval(variables, input)
	if err != nil {
		return nil, errors.AsError(err).Detail
	}
	return v, ""
}

func compareResults(t *testing.T, program string, variables testEnv, input any) {
	t.Helper()
	before := mustEncode(t, input)
	want, wantErr := engineResult(t, program, variables, input)
	for _, direct := range []bool{true, false} {
		got, gotErr := ownResult(t, program, direct, variables, input)
		if strings.HasPrefix(gotErr, "the expression builds more than") && strings.HasPrefix(wantErr, "repeat string result too large") {
			continue // the budget is tighter than gojq's own limit
		}
		if mustEncode(t, want) != mustEncode(t, got) || fmt.Sprintf("%T", want) != fmt.Sprintf("%T", got) || wantErr != gotErr {
			t.Errorf("%s of %s, direct %v:\n got %s %T %q\nwant %s %T %q", program, before, direct,
				mustEncode(t, got), got, gotErr, mustEncode(t, want), want, wantErr)
		}
	}
	if after := mustEncode(t, input); after != before {
		t.Errorf("%s has changed its input %s to %s", program, before, after)
	}
}

func mustEncode(t *testing.T, v any) string {
	t.Helper()
	data, err := Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestSameAsEngine compares programs with plain gojq: several outputs, paths and every guarded operation.
func TestSameAsEngine(t *testing.T) {
	inputs := []any{
		nil, 3, "a,b", []any{3, 1, 2}, []any{"b", "a", nil}, []any{[]any{1, 2}, []any{3}},
		map[string]any{"a": 1, "b": []any{1, 2, map[string]any{"c": "x"}}, "k": "b"},
		[]any{map[string]any{"k": 1, "v": "x"}, map[string]any{"k": 2, "v": "y"}, map[string]any{"k": 1, "v": "z"}},
	}
	for _, program := range strings.Split(strings.TrimSpace(programs), "\n") {
		t.Run(program, func(t *testing.T) {
			for _, input := range inputs {
				compareResults(t, program, testEnv{"x": []any{1, 2}, "o": map[string]any{"a": map[string]any{"b": 5}}}, input)
			}
		})
	}
}

const programs = `
(1, 2) + (10, 20)
[(1, 2) * (3, 4), (1, 2) - (3, 4)]
(1, 2) as $a | (3, 4) as $b | [$a, $b]
[.[]?]
.[]
[.[] | tostring]
[.. | numbers]
[paths]
[paths(type == "number")]
path(..)
[path(.[]?)]
path(.a[]?, .b?)
map(.)
map(. + 1)
map_values(. + 1)?
to_entries
with_entries(.value |= tostring)
[.[] as [$p, $q] | {p: $p, q: $q}]
. as {a: $a, b: [$b]} | [$a, $b]
. as [$a] ?// $a | [$a]
reduce .[] as $i (0; . + ($i | length))
foreach .[] as $i (0; . + 1; [$i, .])
(.a, .b) = 1
.a += 1
.b[0] |= . + 5
.[0] = 9
.[-1] = 9
.[2:4] = ["x"]
.b[1:] |= map(tostring)
del(.a)
del(.[0, 1])
del(.b[0], .b[1])
delpaths([["b", 2, "c"], ["a"]])
.[] |= empty
to_entries | from_entries
setpath(["b", 1]; 7)
getpath(["b", 2, "c"])
try error("x") catch .
try error({a: 1}) catch .a
error("plain")
error({a: 1})
error(null)
.a.b.c
.b.c?
[.[]?.c?]
.[1.7]
.["a", "b"]
.[[1]]
$x[] + 1
$o.a.b
{a: (1, 2), b: (3, 4)}
{(.k // "n"): 1}
{"a b": 1, $x, "x\(1)": 2}
{a: 1, a: 2}
{(1, "a"): 2}
"v: \(.a) \(.b)"
"\(1, 2) \(3, 4)"
@json "x\(.)"
@csv
@sh
@html "<\(.)>"
@base64
tojson | fromjson
[limit(2; .[]?)]
first(.[]?), [last(range(5))]
[range(0; 10; 3)]
[range(3, 5)]
[splits(", *"; null)]
[.[]? | strings | test("A"; "i")]
[match("a|b|$"; "g") | [.offset, .length, .string]]
[match("(?<n>b)|(a)"; "g") | .captures]
[match(""; "g").offset]
[match("^|\\b|,"; "g").offset]
gsub("(?<l>[a-z])"; "<\(.l)>")
gsub("^"; ">")
gsub("$"; "<")
gsub("x*"; "-")
sub("a"; "1", "2")
[scan("[ab]")]
[scan("(a)(,)?")]
split(","; null)
split(",")
test("a"; "q")
test("(")
capture("(?<x>a)")
ascii_downcase
ascii_upcase
ltrimstr("a")
tostring
tonumber
length
utf8bytelength
not
keys
has("a")
has(0)
contains("a")
contains({a: 1})
contains([1])
inside([1, 2, 3])
index(",")
indices(1)
indices([1, 2])
sort
sort_by(.k)
group_by(.k)
unique_by(.k)
min, max
min_by(.k), max_by(.k)
add
add(.[]?)
any, all
flatten
flatten(1)
flatten(-1)
reverse
join(",")
join(1)
transpose
implode
explode
combinations
walk(if type == "number" then . + 1 end)
[recurse(if . < 3 then . + 1 else empty end)]
[while(. < 3; . + 1)]
until(. > 100; . * 2)
INDEX(.k)
[IN(1, 2)]
tostream
fromstream(tostream)
[.[] | select(.k == 1)]
label $f | 1, break $f, 2
def f(x): x * 2; f(3, 4)
def f($a; g): $a + g; f(1; 2)
def fac: if . <= 1 then 1 else . * (. - 1 | fac) end; 10 | fac
1 / 0
1 % 0
. / "x"
. - 1
. * 2
-.
-(1, 2)
. and true, (. or false)
.a // "d"
(false, null, 1, 2) // 3
empty // 2
(error("x")) // 1
if . then 1 elif .a then 2 else 3 end
if (true, false) then 1 else 2 end
9007199254740993 + 0
9223372036854775807 + 1
-9223372036854775808
100000000000000000000
1e1000
nan | [., isnan]
infinite
[1, 2] - [2]
{} + {a: 1} * {a: {b: 2}}
gmtime | mktime
strftime("%Y-%m-%d")
1425599507 | todate
"10:20" | strptime("%H:%M")
ltrimstr(1)
splits("a")
tojson
@text
@uri
getpath(["a", "b"])?
pick(.a)
[.[]?] | bsearch(2)
abs
trim
significand
[.[]? | floor?]
error
`

// TestDirectSameAsMachine compares random programs that are evaluated directly with gojq over random values.
func TestDirectSameAsMachine(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	n := 0
	for range 20_000 {
		g := generator{random}
		program := g.program(3)
		variables := testEnv{"x": g.value(2), "o": g.value(3)}
		code, err := compile(program, true)
		if err != nil {
			t.Fatalf("%s: %v", program, err)
		}
		if code.direct != nil {
			n++
		}
		compareResults(t, program, variables, g.value(3))
		if t.Failed() {
			return
		}
	}
	if n < 15_000 {
		t.Errorf("only %d programs were direct", n)
	}
}

type generator struct{ *rand.Rand }

func (g generator) pick(choices ...string) string { return choices[g.IntN(len(choices))] }

func (g generator) program(depth int) string {
	if depth == 0 || g.IntN(4) == 0 {
		return g.pick(g.path(), g.path(), "1", "-2", "0", "1.5", "null", "true", "false", `"a"`, `""`, "[]", "{}", "$x", "$o.a", `$o["b"].c`, "2147483648", "9223372036854775807")
	}
	a, b, c := g.program(depth-1), g.program(depth-1), g.program(depth-1)
	switch g.IntN(12) {
	case 0, 1, 2:
		return fmt.Sprintf("(%s) %s (%s)", a, g.pick("+", "-", "*", "/", "%"), b)
	case 3, 4:
		return fmt.Sprintf("(%s) %s (%s)", a, g.pick("==", "!=", "<", "<=", ">", ">="), b)
	case 5:
		return fmt.Sprintf("(%s) %s (%s)", a, g.pick("and", "or", "//"), b)
	case 6:
		return fmt.Sprintf("{a: (%s), %q: (%s), b}", a, g.pick("b c", "c"), b)
	case 7:
		return fmt.Sprintf("[%s, (%s)]", a, b)
	case 8:
		return fmt.Sprintf("if %s then %s else %s end", a, b, c)
	case 9:
		return fmt.Sprintf(`"x\(%s)y\(%s)"`, a, b)
	case 10:
		return fmt.Sprintf("%s | %s", g.path(), a)
	}
	return fmt.Sprintf("%s | %s", g.path(), g.pick("length", "not", "tostring", "type", "keys", `has("a")`, "add", "tojson",
		"sort", `join(",")`, "floor", "contains(1)", `startswith("a")`, "tonumber", "reverse", "unique"))
}

func (g generator) path() string {
	p := g.pick(".", ".a", ".b", ".[0]", ".[-1]", `.["a"]`, `."b"`)
	for range g.IntN(3) {
		p += g.pick(".a", ".b", "[0]", "[1]", `["c"]`, "[-1]")
	}
	return strings.ReplaceAll(p, "..", ".")
}

func (g generator) value(depth int) any {
	if depth == 0 || g.IntN(3) == 0 {
		scalars := []any{nil, true, false, 0, 1, -7, 1.5, 300, "", "a", "b,c", "ü", 1 << 40, json.Number("12345678901234567890"), 1e300}
		return scalars[g.IntN(len(scalars))]
	}
	if g.IntN(2) == 0 {
		items := make([]any, g.IntN(4))
		for i := range items {
			items[i] = g.value(depth - 1)
		}
		return items
	}
	members := map[string]any{}
	for _, name := range []string{"a", "b", "c"}[:g.IntN(4)] {
		members[name] = g.value(depth - 1)
	}
	return members
}

func TestDeletionLeavesSharedValues(t *testing.T) {
	shared := map[string]any{"a": 1, "b": map[string]any{"c": []any{1, 2}}}
	code, err := Compile("del(.a)")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan any)
	for range 4 {
		go func() {
			var v any
			for range 500 {
				v, _ = code.Eval(testEnv{}, shared)
			}
			done <- v
		}()
	}
	for range 4 {
		if diff := cmp.Diff(any(map[string]any{"b": map[string]any{"c": []any{1, 2}}}), <-done); diff != "" {
			t.Error(diff)
		}
	}
}
