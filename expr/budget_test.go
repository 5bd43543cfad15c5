package expr_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
)

// bombs are programs that would take a process down, or keep it busy for minutes.
var bombs = map[string]string{
	"endless recursion":                  `def f: f; f`,
	"recursion that keeps its stack":     `def f: [f]; f`,
	"recursion with an argument":         `def f(x): f(x | .); f(1)`,
	"recursion through a binding":        `def f: . as $x | f | $x; f`,
	"a huge range":                       `[range(1e9)]`,
	"endless repeat":                     `[limit(1e9; repeat(1))]`,
	"combinations":                       `[[range(50)] | combinations(9)]`,
	"an index far behind the end":        `.[536870911] = 1`,
	"an index in an update":              `[] | .[50000000] |= 1`,
	"many arrays by index":               `[range(100000) | null | .[900000] = .]`,
	"setpath with a huge index":          `null | setpath(["a", 500000000]; 1)`,
	"pick with a huge index":             `pick(.[500000000])`,
	"fromstream with a huge index":       `fromstream([[536870911], 1], [[536870911]])`,
	"text times a number":                `"x" * 1e9`,
	"text times a number, kept":          `[range(100000) | "x" * 1e6]`,
	"text doubling":                      `reduce range(60) as $i ("x"; . + .)`,
	"text doubling by interpolation":     `reduce range(60) as $i ("x"; "\(.)\(.)")`,
	"array doubling":                     `reduce range(60) as $i ([1]; . + .)`,
	"array doubling without a copy":      `reduce range(60) as $i ([1]; [., .]) | tojson`,
	"object doubling as text":            `reduce range(60) as $i (1; {a: ., b: .}) | tostring`,
	"shared values compared":             `reduce range(40) as $i (1; [., .]) | . == .`,
	"shared values sorted":               `[reduce range(40) as $i (1; [., .])] | [.[], .[]] | sort`,
	"shared values sorted by":            `[reduce range(40) as $i (1; [., .])] | [.[], .[]] | sort_by(.)`,
	"shared values flattened":            `reduce range(40) as $i (1; [., .]) | flatten`,
	"shared values searched":             `reduce range(40) as $i (1; [., .]) | contains([[2]])`,
	"shared values as JSON format":       `reduce range(40) as $i (1; [., .]) | @json`,
	"shared values in a text":            `reduce range(40) as $i (1; [., .]) | "\(.)"`,
	"shared values with a deletion":      `reduce range(40) as $i (1; [., .]) | del(.[0])`,
	"shared values as the result":        `reduce range(40) as $i (1; [., .])`,
	"whole number squaring":              `reduce range(40) as $i (3; . * .)`,
	"whole number by text":               `("9" * 100000 | tonumber) * 2`,
	"deep nesting as text":               `reduce range(1e6) as $i (0; [.]) | tojson`,
	"deep nesting compared":              `reduce range(30000) as $i (0; [.]) | . == .`,
	"deep nesting as the result":         `reduce range(30000) as $i (0; [.])`,
	"a deep path":                        `setpath([range(50000) | "a"]; 1)`,
	"a regular expression too large":     `"a" * 1e6 | test("(a{1000}){1000}")`,
	"a regular expression too long":      `"a" | test("a" * 5000)`,
	"a regular expression on much text":  `"a" * 1e6 | test("(a?){500}b")`,
	"a search in the square of the text": `"x" * 50000 | [match("x*y|x"; "g")] | length`,
	"many regular expressions":           `[range(1e6) | tostring as $r | "abc" | test($r)]`,
	"many substitutions":                 `("ab" * 50000) as $s | "x" * 20000 | gsub("x"; $s)`,
	"join with a long separator":         `("s" * 1000000) as $s | [range(10000)] | join($s)`,
	"a long join":                        `[range(1e6)] | join(",")`,
	"adding long texts":                  `("s" * 1000000) as $s | [range(10000) | $s] | add`,
	"adding arrays":                      `[range(1000)] as $a | [range(1000) | $a] | add | [., ., ., .] | add | tojson`,
	"implode":                            `[range(1e6) | 65] | implode`,
	"explode":                            `"x" * 20000000 | explode`,
	"splitting into letters":             `"x" * 20000000 | split("")`,
	"URI encoding":                       `"ä" * 40000000 | @uri`,
	"array minus array":                  `[range(20000)] as $a | $a - $a`,
	"indices of an array":                `[range(20000)] as $a | $a | indices($a[:10000])`,
	"index in a long text":               `"x" * 1000000 | index("x" * 1000 + "y")`,
	"transposing":                        `[[range(50000)]] + [range(50000) | []] | transpose`,
	"an unread iteration":                `[range(100000)] as $a | [range(10000) | first($a[])]`,
	"iterations that stay open":          `[range(50000)] as $a | def f: $a[] | f; f`,
	"endless while":                      `[.[]?] | until(false; . + [1])`,
	"endless recurse":                    `last(recurse([.]))`,
	"trimming in a loop":                 `reduce range(1e6) as $i ("x" * 1e6; ltrimstr("x"))`,
	"Bessel functions":                   `jn(1e9; 1e9)`,
	"time format with padding":           `now | strftime("%1024Y" * 1000000)`,
	"a loop that catches its errors":     `def f: try ("x" * 1e9) catch 0, f; [f]`,
	"shell quoting of quotes":            `reduce range(25) as $i ("'"; @sh)`,
	"JSON of quotes":                     `reduce range(25) as $i ("\""; tojson)`,
	"HTML of quotes":                     `reduce range(25) as $i ("'"; . + . | @html)`,
	"a list of numbers as a row":         `[range(200000)] | [range(100) as $i | @csv]`,
	"groups of many items":               `[range(100000)] | [range(100) as $i | group_by(.)]`,
	"an error with a long text":          `error("x" * 200000000)`,
}

// burdens are programs that are dangerous on large data: half a million items, and a text of eight megabytes.
var burdens = map[string]string{
	"iterations that stay open":    `.items as $a | def f: $a[] | f; f`,
	"an unread iteration":          `.items as $a | [range(100000) | first($a[])]`,
	"an update in a loop":          `reduce range(100000) as $i (.items; .[0] = $i)`,
	"a modification in a loop":     `reduce range(100000) as $i (.items; .[0] |= $i)`,
	"updates in shared parts":      `.items as $a | [range(1000) | $a] | .[][0] = 1`,
	"deletions in a loop":          `reduce range(100000) as $i (.; del(.text))`,
	"comparisons in a loop":        `.items as $a | [range(100000) | $a == $a]`,
	"sorting in a loop":            `.items as $a | [range(1000) | $a | sort | length]`,
	"a letter of a text in a loop": `.text as $s | reduce range(1000000) as $i (0; $s[5:6] | length)`,
	"an indexed letter in a loop":  `.text as $s | reduce range(1000000) as $i (0; $s[7])`,
	"text as JSON in a loop":       `.text as $s | [range(1000) | $s | tojson]`,
	"text parts kept":              `.text as $s | [range(100000) | $s + "x"]`,
	"a match on the whole text":    `.text | test("(x+x+)+y")`,
	"matches in the whole text":    `.text | gsub("x"; "y")`,
	"letter by letter":             `.text | [splits("")] | length`,
	"upper case in a loop":         `.text as $s | [range(100000) | $s | ascii_upcase]`,
	"reversed in a loop":           `.items as $a | [range(100000) | $a | reverse]`,
	"keys in a loop":               `.items as $a | [range(100000) | $a | keys]`,
	"all pairs":                    `.items as $a | $a[] as $x | $a[] as $y | [$x, $y]`,
	"a letter, directly":           `[` + strings.Repeat(`(.text * 3), `, 40) + `1]`,
	"the result is too large":      `{text}`,

	"texts compared in a loop":        `.text as $s | ($s + "y") as $t | ($s + "z") as $u | [range(200000) | $t == $u]`,
	"texts ordered in a loop":         `.text as $s | ($s + "y") as $t | ($s + "z") as $u | [range(200000) | $t < $u]`,
	"a text searched in a loop":       `.text as $s | [range(200000) | $s | contains("xy")]`,
	"a text as a key in a loop":       `.text as $s | [range(200000) | {($s): 1} | length]`,
	"a text sought as a key":          `.text as $s | {} as $o | [range(200000) | $o | has($s)]`,
	"a text as an index":              `.text as $s | {} as $o | [range(200000) | $o[$s]]`,
	"a part of a text in a loop":      `.text as $s | [range(200000) | $s[:-1] | length]`,
	"the first letter in a loop":      `.text as $s | [range(200000) | try ($s | first) catch 0]`,
	"the end of a text in a loop":     `.text as $s | [range(200000) | $s | endswith("y")]`,
	"errors about a text":             `.text as $s | [range(200000) | try ($s - 1) catch 0]`,
	"errors about an object":          `.members as $o | [range(200000) | try ($o - 1) catch 0]`,
	"errors about an object's item":   `.members as $o | [range(200000) | try $o[0] catch 0]`,
	"errors about an object's letter": `.members as $o | [range(200000) | try ($o | ltrimstr(1) | floor) catch 0]`,
	"members in a loop":               `.members as $o | [range(200000) | first($o[])]`,
	"a member of a text":              `.text as $s | [range(200000) | try $s.a catch .]`,
	"a member of a text, ignored":     `.text as $s | [range(200000) | $s.a?]`,
	"a member by a quoted name":       `.text as $s | [range(200000) | $s."a b"?]`,
	"a member of a text in a list":    `[.text] as $s | [range(200000) | try $s.a catch .]`,
	"an object in a list":             `[.members] as $s | [range(200000) | try $s.a catch .]`,
	"an object in an object":          `{"": .members} as $s | [range(200000) | try $s[0] catch .]`,
	"an object with long names":       `{(.text + "a"): 1, (.text + "b"): 1} as $s | [range(200000) | $s[0]?]`,
	"a list that is none":             `.members as $o | [range(200000) | try ($o as [$a] | $a) catch .]`,
	"an object that is none":          `.text as $s | [range(200000) | try ($s as {a: $x} | $x) catch .]`,
	"an object that is none, inside":  `{a: [.text]} as $s | [range(200000) | try ($s as {a: [{$x}]} | $x) catch .]`,
	"an object that is none, by name": `{a: [.text]} as $s | [range(200000) | try ($s as {("a"): [{$x}]} | $x) catch .]`,
	"an object that is none, at last": `.text as $s | [range(200000) | try ($s as [$x] ?// {$x} | $x) catch .]`,
	"items that are no objects":       `.text as $s | [range(200000) | try reduce $s as {$x} (0; 1) catch .]`,
	"items that are no lists":         `.text as $s | [range(200000) | try foreach $s as [$x] (0; 1) catch .]`,
	"a key that is an object":         `.members as $o | [range(200000) | try {([$o]): 1} catch .]`,
	"a text without items":            `.text as $s | [range(200000) | $s[]?]`,
	"a path that is none":             `.members as $o | [range(200000) | try path($o) catch .]`,
	"a path from elsewhere":           `.members as $o | [range(200000) | try path($o | .a) catch .]`,
	"a path from elsewhere, by key":   `.members as $o | [range(200000) | try path($o | .["a", "b"]) catch .]`,
	"a path through items elsewhere":  `[.members] as $o | [range(200000) | try path($o | .[]) catch .]`,
	"a path to a part elsewhere":      `[.members] as $o | [range(200000) | try path($o | .[0:1]) catch .]`,
	"a path by path from elsewhere":   `.members as $o | [range(200000) | try path($o | getpath(["a"])) catch .]`,
	"an update of something else":     `.members as $o | [range(200000) | try ($o |= 1) catch .]`,
	"an addition to something else":   `.members as $o | [range(200000) | try (($o | .a) += 1) catch .]`,
	"a deletion of something else":    `.members as $o | [range(200000) | try del($o) catch .]`,
	"a place in an object":            `.members as $o | [range(200000) | try ($o | setpath([0]; 1)) catch .]`,
	"parts of something else":         `[.members] as $o | [range(200000) | try path($o | reduce . as [$x] (0; 1)) catch .]`,
	"an object that is searched":      `.members as $o | [range(200000) | try ($o | test("x")) catch .]`,
	"texts, recursively":              `.text as $s | [range(2000) | $s] | [.. | numbers]`,
	"paths to texts":                  `.text as $s | [range(2000) | $s] | [paths]`,
	"texts as a stream":               `.text as $s | [range(2000) | $s] | [tostream[0]]`,
	"dates that are none":             `.text as $s | [range(200000) | try ($s | strptime("%Y")) catch 0]`,
	"texts sorted":                    `.text as $s | [range(400) | $s[:20000] + tostring] | [range(1000) as $i | sort | length]`,
	"many letters, directly":          "[" + strings.Repeat(".text[7], ", 1500) + "1]",
	"many texts, directly":            "[" + strings.Repeat(`"\(.short)!", `, 1200) + "1]",
	"a search to the end":             `.text[:100000] | [match("x*y|x"; "g")] | length`,
	"a search for letters":            `.text[:100000] | gsub("(?<l>x|xy*z)"; "\(.l)")`,
	"long numbers in a loop":          `("9" * 1200 | tonumber) as $n | [range(200000) | $n + 1]`,
	"long numbers compared":           `("9" * 1200 | tonumber) as $n | [range(200000) | $n < 1]`,
	"long numbers sorted":             `("9" * 1200 | tonumber) as $n | [range(5000) | $n] | sort`,
	"wide numbers multiplied":         `reduce range(200000) as $i (1; . * 7 % 170141183460469231731687303715884105728)`,
}

func TestBudget(t *testing.T) {
	for name, program := range someOf(bombs) {
		t.Run(name, func(t *testing.T) { explode(t, program, nil) })
	}
	items := make([]any, 500_000)
	for i := range items {
		items[i] = i
	}
	members := map[string]any{}
	for i := range 100_000 {
		members[fmt.Sprint("member", i)] = i
	}
	large := map[string]any{"items": items, "members": members, "text": strings.Repeat("x", 8<<20), "short": strings.Repeat("x", 60_000)}
	for name, program := range someOf(burdens) {
		t.Run("large data: "+name, func(t *testing.T) { explode(t, program, large) })
	}
}

// someOf yields one program of everyNth.
func someOf(programs map[string]string) iter.Seq2[string, string] {
	return func(yield func(name, program string) bool) {
		for n, name := range slices.Sorted(maps.Keys(programs)) {
			if n%everyNth == 0 && !yield(name, programs[name]) {
				return
			}
		}
	}
}

// explode evaluates a program that must fail soon, with little memory, and as an expression error.
func explode(t *testing.T, program string, input any) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := time.Now()
	v, err := evaluate(program, input)
	took := time.Since(began)
	runtime.ReadMemStats(&after)
	if e := errors.AsError(err); e == nil || e.Type != errors.Expression || e.Status != 400 || len(e.Detail) > 600 {
		t.Errorf("got %.80v, %v, want an expression error", fmt.Sprint(v), err)
	}
	if took > longest {
		t.Errorf("took %v", took)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > largest {
		t.Errorf("allocated %d MiB", grown>>20)
	}
	t.Logf("%v, %d MiB, %v", took, (after.TotalAlloc-before.TotalAlloc)>>20, err)
}

// TestBusyMachine: only the work of an expression counts, and not the time that it takes on a busy machine. On one processor,
// each of these waits for much longer than it runs.
func TestBusyMachine(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	programs := []string{
		`[range(60000) | . * 2] | add`,
		`[range(5000) | {k: (. % 10), v: tostring}] | group_by(.k) | map(length) | add`,
		`"word " * 2000 | gsub("o"; "0") | length`,
		`[range(50000) | tostring] | sort | unique | length`,
		`[range(20000)] | tojson | fromjson | length`,
		`reduce range(30000) as $i (1; . * 3 % 1000000007)`,
	}
	failures := make(chan error, 10*len(programs))
	for range 10 {
		for _, program := range programs {
			go func() {
				_, err := evaluate(program, nil)
				if err != nil {
					err = fmt.Errorf("%s: %w", program, err)
				}
				failures <- err
			}()
		}
	}
	for range cap(failures) {
		if err := <-failures; err != nil {
			t.Error(err)
		}
	}
}

func TestBudgetIsNotCaught(t *testing.T) {
	for name, program := range map[string]string{
		"by try":             `try ("x" * 1e9) catch "caught"`,
		"by a question mark": `[("x" * 1e9)?]`,
		"by an alternative":  `("x" * 1e9) // "other"`,
		"by first":           `first(("x" * 1e9), 1)`,
		"by a label":         `label $out | ("x" * 1e9), break $out`,
		"steps by try":       `try (def f: f; f) catch "caught"`,
	} {
		t.Run(name, func(t *testing.T) {
			if v, err := evaluate(program, nil); err == nil {
				t.Errorf("got %v, want an error", v)
			}
		})
	}
}

// TestLongNumbersAreNotCompared: a comparison fails if a part of a value is a number with too many digits, because it parses the number.
func TestLongNumbersAreNotCompared(t *testing.T) {
	input := map[string]any{"n": json.Number(strings.Repeat("9", 20_000))}
	for _, program := range []string{
		"[.n, .n, 1] | sort", "[.n, 1] | min", "[.n, 1] | max", "[.n, 1] | unique", "[[.n], [1]] | sort_by(.)", "[.n, 1] | group_by(.)", "[.n] == [.n]", "{a: .n} < {a: 1}",
		"[1, .n] - [.n]", "[.n] | contains([1])", ".n as $n | [1, $n] | index([$n])", ".n as $n | [1, $n] | indices([$n])", ". as $all | [[1]] | bsearch([$all.n])",
		".n | todate", "[.n, 1] | mktime", "[2000, .n] | strftime(\"%Y\")", "[.n] | gmtime", "[65, .n] | implode", ".n as $n | [1] | flatten($n)", ".n as $n | [1] | has($n)",
		".n | in([1])", "jn(.n; 1)", `.n as $n | ["a", 1] | join($n)`, "yn(1; .n)", ".n as $n | [1] | getpath([$n])", ".n as $n | [1] | getpath([[$n]])", ".n as $n | [1] | getpath([{start: 0, end: $n}])",
		".n as $n | [1] | setpath([$n]; 1)", ".n as $n | [1] | setpath([{start: $n, end: null}]; [1])", ".n as $n | [1] | delpaths([[{start: $n, end: null}]])",
		".n as $n | [1] | .[$n]", ".n as $n | [1] | .[$n:]", ".n as $n | [1] | .[:$n]", ".n as $n | [1] | .[{start: 0, end: $n}]", ".n as $n | [1] | .[$n:] = [2]",
		"[.n] | bsearch(1)", `"x" == .n`, `.n > "x"`, ".n as $n | $n | contains($n)", ".n as $n | $n | inside($n)",
	} {
		if v, err := evaluate(program, input); err == nil || !strings.Contains(err.Error(), "1300 digits") {
			t.Errorf("%s: got %.40v, %v", program, v, err)
		}
	}
	for program, want := range map[string]string{
		"[.n, [.n]] | tojson | length": "40005", `[.n, [.n]] | flatten(1) | length`: "2", `"start" as $s | {start: .n} | .[$s] | tojson | length`: "20000", `{start: .n} | has("start")`: "true",
		`[{start: .n}] | getpath([0, "start"]) | tojson | length`: "20000", `{start: .n} | setpath(["end"]; 1) | length`: "2",
	} {
		if v, err := evaluate(program, input); err != nil || fmt.Sprint(v) != want {
			t.Errorf("%s, without a conversion: %v, %v", program, v, err)
		}
	}
}

// TestPathsThatSearch: getpath searches for an array on the path in the value that the path has reached, as .[$array] does.
func TestPathsThatSearch(t *testing.T) {
	for _, path := range []string{"[$part]", "[{start: 0, end: 30000}, $part]", "[{start: 1, end: null}, $part]"} {
		program := "[range(40000) | 0] as $all | $all[:20000] as $part | $all | getpath(" + path + ") | length"
		if v, err := evaluate(program, nil); err == nil || !strings.Contains(err.Error(), "too much work") {
			t.Errorf("%s: got %v, %v", program, v, err)
		}
	}
	if v, err := evaluate("[range(9)] | getpath([{start: 2, end: null}, [4], 0])", nil); err != nil || fmt.Sprint(v) != "2" {
		t.Errorf("a short search: %v, %v", v, err)
	}
}

func TestTextLimits(t *testing.T) {
	for name, program := range map[string]string{
		"half a megabyte":      strings.Repeat("1 + ", 125_000) + "1",
		"nested parentheses":   strings.Repeat("(", 10_000) + "1" + strings.Repeat(")", 10_000),
		"nested arrays":        strings.Repeat("[", 500) + strings.Repeat("]", 500),
		"nested texts":         strings.Repeat(`"\(`, 1000) + "1" + strings.Repeat(`)"`, 1000),
		"many words":           strings.Repeat("1+", 15_000) + "1",
		"many signs":           strings.Repeat("- ", 30_000) + "1",
		"many tries":           strings.Repeat("try ", 15_000) + "1",
		"a very long name":     strings.Repeat("x", 60_000),
		"half a megabyte open": "${" + strings.Repeat("[", 500_000) + "}",
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			_, err := expr.Compile(program)
			var syntax *expr.SyntaxError
			if !errors.As(err, &syntax) || len(syntax.Msg) > 200 {
				t.Errorf("got %v, want a syntax error", err)
			}
			if took := time.Since(began); took > longest {
				t.Errorf("took %v", took)
			}
		})
	}
}

// TestOrdinaryWork: ordinary expressions on ordinary data stay within the budget.
func TestOrdinaryWork(t *testing.T) {
	for name, program := range map[string]string{
		"summing ten thousand":   `reduce range(10000) as $i (0; . + $i)`,
		"mapping ten thousand":   `[range(10000)] | map({id: ., name: "n\(.)"}) | map(select(.id % 2 == 0)) | length`,
		"grouping":               `[range(5000) | {k: (. % 10), v: .}] | group_by(.k) | map({k: .[0].k, n: length}) | length`,
		"sorting":                `[range(10000)] | reverse | sort | sort_by(-.) | unique | length`,
		"appending two thousand": `reduce range(2000) as $i ([]; . + [$i]) | length`,
		"updating each":          `[range(5000) | {n: .}] | map(.n += 1) | .[].n |= . * 2 | length`,
		"a long substitution":    `"word " * ` + words + ` | gsub("o"; "0") | length`,
		"a fifty kilobyte text":  `"x" * 50000 | ascii_upcase | length`,
		"objects from entries":   `[range(5000) | {key: tostring, value: .}] | from_entries | to_entries | length`,
		"large but allowed JSON": `[range(20000)] | tojson | fromjson | length`,
		"a walk":                 `[range(2000) | {a: [.]}] | walk(if type == "number" then . + 1 end) | length`,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := evaluate(program, nil); err != nil {
				t.Error(err)
			}
		})
	}
}
