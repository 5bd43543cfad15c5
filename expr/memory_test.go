package expr

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"

	"github.com/swrun/swrun/errors"
)

// shapes make the inputs that functions multiply. Each takes about size bytes.
var shapes = map[string]func(size int) any{
	"text":          func(size int) any { return strings.Repeat("x", size) },
	"single quotes": func(size int) any { return strings.Repeat("'", size) },
	"double quotes": func(size int) any { return strings.Repeat(`"`, size) },
	"control":       func(size int) any { return strings.Repeat("\x01", size) },
	"zeros":         func(size int) any { return strings.Repeat("\x00", size) },
	"umlauts":       func(size int) any { return strings.Repeat("ä", size/2) },
	"invalid":       func(size int) any { return strings.Repeat("\xff", size) },
	"backslashes":   func(size int) any { return strings.Repeat(`\`, size) },
	"commas":        func(size int) any { return strings.Repeat(",", size) },
	"spaces":        func(size int) any { return strings.Repeat(" ", size) },
	"percents":      func(size int) any { return strings.Repeat("%41", size/3) },
	"base32":        func(size int) any { return strings.Repeat("A", size/8*8) },
	"letters":       func(size int) any { return strings.Repeat("aB", size/2) },
	"json numbers":  func(size int) any { return "[" + strings.Repeat("1,", size/2) + "1]" },
	"json arrays":   func(size int) any { return "[" + strings.Repeat("[],", size/3) + "1]" },
	"json objects":  func(size int) any { return "[" + strings.Repeat(`{"a":1},`, size/8) + "1]" },
	"json text":     func(size int) any { return `"` + strings.Repeat(`\n`, size/2) + `"` },
	"numbers":       func(size int) any { return repeated(size/16, 65) },
	"wide numbers":  func(size int) any { return repeated(size/16, 0x10ffff) },
	"fractions":     func(size int) any { return repeated(size/16, -1.2345678901234567e-300) },
	"nulls":         func(size int) any { return repeated(size/16, nil) },
	"short texts":   func(size int) any { return repeated(size/16, "'") },
	"quoted texts":  func(size int) any { return repeated(size/16, `"`) },
	"pairs":         func(size int) any { return repeated(size/16, []any{1, 2}) },
	"objects":       func(size int) any { return repeated(size/16, map[string]any{"a": 1}) },
	"entries":       func(size int) any { return repeated(size/16, map[string]any{"key": "a", "value": 1}) },
	"one text":      func(size int) any { return []any{strings.Repeat("'", size)} },
	"one quoted":    func(size int) any { return []any{strings.Repeat(`"`, size)} },
	"one control":   func(size int) any { return []any{strings.Repeat("\x01", size)} },
	"two texts":     func(size int) any { return []any{strings.Repeat("'", size/2), strings.Repeat("'", size/2)} },
	"two rows":      func(size int) any { return []any{repeated(size/16, 1), repeated(size/16, 1)} },
	"rows":          func(size int) any { return repeated(size/16, []any{}) },
	"one member":    func(size int) any { return map[string]any{strings.Repeat("\x01", size): 1} },
	"distinct numbers": func(size int) any {
		all := make([]any, size/16)
		for i := range all {
			all[i] = i
		}
		return all
	},
	"members": func(size int) any {
		object := make(map[string]any, size/64)
		for i := range size / 64 {
			object[fmt.Sprintf("m%d", i)] = 1
		}
		return object
	},
}

func repeated(n int, v any) []any {
	all := make([]any, n)
	for i := range all {
		all[i] = v
	}
	return all
}

// reserving are programs that call a native which multiplies text or arrays.
var reserving = []string{
	`@sh`, `@csv`, `@tsv`, `@html`, `@uri`, `@urid`, `@base64`, `@base64d`, `@base32`, `@base32d`, `@json`, `@text`, `"\(.)"`, `@sh "\(.)"`, `format("sh")`,
	`format("csv")`, `tojson`, `fromjson`, `tostring`, `ascii_downcase`, `ascii_upcase`, `explode`, `implode`, `split("")`, `split(",")`, `join("")`, `join(",")`,
	`. * 3`, `. + .`, `. / ","`, `reverse`, `flatten`, `transpose`, `keys`, `indices(",")`, `group_by(.)`, `unique_by(.)`, `sort`, `.[0] = 1`, `del(.[0])`,
}

// TestNativesReserveMemory: a native allocates at most twice the memory that its evaluation may use, also if it ends in an error, and a long enough input
// ends it in the error of the limit. All that it allocates is counted, and not only the peak, so that the time of a garbage collection does not matter.
func TestNativesReserveMemory(t *testing.T) {
	const limit = 2 << 20
	limited := map[string]bool{}
	for name, make := range shapes {
		t.Run(name, func(t *testing.T) {
			left := slices.Clone(reserving)
			for size := limit / 32; size <= 4*limit && len(left) > 0; size = size * 3 / 2 {
				input := make(size)
				left = slices.DeleteFunc(left, func(program string) bool {
					err := evaluateWithin(t, program, input, limit)
					limited[program] = limited[program] || err != nil && strings.HasPrefix(errors.AsError(err).Detail, "the expression builds more than")
					return err != nil
				})
			}
		})
	}
	for _, program := range reserving {
		if !limited[program] {
			t.Errorf("%s has no limit", program)
		}
	}
}

// loops are programs that build values in loops of the machine. Each has N rounds.
var loops = []string{
	`[range(N)]`, `[range(N) | . + 1000]`, `[range(N) | {a: .}]`, `[range(N) | [.]]`, `[range(N) | [{a: .}, {a: .}]]`, `[range(N) | {a: {b: {c: {d: {e: {f: {g: .}}}}}}}]`,
	`[range(N) | {a: ., b: ., c: ., d: ., e: ., f: ., g: ., h: ., i: .}]`, `[range(N)] | map([.])`, `[range(N)] | to_entries`, `[range(N)] | with_entries(.)`, `[range(N)] | group_by(. % 7)`,
	`[range(N) | {key: tostring, value: .}] | from_entries`, `[limit(N; repeat(1))]`, `[range(N)] | walk(.)`, `[range(N) | {a: [.]}] | [paths]`, `[range(N)] | [tostream] | fromstream(.[])`,
	`reduce range(N) as $i ([]; . + [$i])`, `reduce range(N) as $i ([]; .[$i] = $i)`, `reduce range(N) as $i ([]; [., $i])`, `reduce range(N) as $i ({}; .["k\($i)"] = $i)`, `reduce range(N) as $i (""; . + "x")`,
	`[foreach range(N) as $i ([]; [., $i])]`, `[foreach range(N) as $i ({}; {a: .})]`, `0 | [recurse(if . < N then . + 1 else empty end)]`, `def f: if . < N then [. + 1 | f] else . end; 0 | f`, `range(N)`,
	`[range(N)] | [.[] | ., ., .]`, `[range(N) | {a: .}] | .[].a |= . + 1`, `[range(N) | {a: .}] | map(.x = 1)`, `[range(N) | {a: .} + {b: .}]`, `[range(N) | {a: .} * {b: {c: .}}]`, `[range(N) | {(tostring): .}] | add`,
	`[range(N) | null | .a.b.c.d.e.f = 1]`, `[range(N) | null | setpath(["a", "b", "c", "d", "e", "f", "g", "h", "i"]; 1)]`, `[range(N) | null | setpath([0, 0, 0]; 1)]`, `[range(N) | {a: .} | del(.a)]`, `[range(N) | [.] | del(.[0])]`,
	`[range(N) | tojson]`, `[range(N) | tojson | tojson | tojson]`, `[range(N) | @base64]`, `[range(N) | "\(.)" as $x | {$x}]`, `[range(N) | tojson | fromjson]`, `[range(N) | "1" | fromjson]`, `[range(N) | "[]" | fromjson]`,
	`[range(N) | "{\"a\": {\"b\": {}}}" | fromjson]`, `[range(N) | "x" * 100]`, `[range(N) | "a,b" | split(",")]`, `[range(N) | "a,b" | splits(",")]`, `[range(N) | "abc" | [scan(".")]]`, `[range(N) | "abc" | gsub("b"; "x")]`,
	`("x" * N) | [scan("x")]`, `("x" * N) | [match("x"; "g")]`, `("xy" * N) | [capture("(?<a>x)(?<b>y)"; "g")]`, `("x " * N) | [splits(" ")]`, `[range(N) | tostring as $r | "abc" | test($r)]`,
	`[range(9) | [range(9)]] | [limit(N; combinations)]`, `[range(N) | [[1, 2], [3]] | transpose, flatten]`, `[[range(N)], [range(N)]] | transpose`, `[range(N) | [[.]]] | flatten`, `[range(N) | todate]`, `[range(N) | "2015" | strptime("%Y")]`,
	`[range(N) | .a?]`, `[range(N) | try .a catch .]`, `[range(N) | (1 / 0)?]`, `[range(N) | getpath(["a"])?]`, `[range(N) | try getpath(["a"]) catch .]`, `[range(N) | setpath(["a"]; 1)?]`, `[range(N) | "x" | fromjson?]`,
	`[range(N) | "x" | try strptime("%Y") catch .]`, `[range(N) | try error({a: .}) catch .a]`, `[range(N) | . * 100000000000000000000]`, `[range(N) | {a: .}] | sort`, `[range(N) | {a: ., b: .} == {a: ., b: 2}]`, `[range(N) | {a: ., b: .} < {a: ., b: 2}]`,
}

// TestLoopsReserveMemory: an evaluation that loops allocates at most twice the memory that it may use, regardless of the work of its rounds, even if
// each round is so small that no native reserves memory for it.
func TestLoopsReserveMemory(t *testing.T) {
	const limit = 2 << 20
	for _, program := range loops {
		var err error
		for _, rounds := range []string{"3000", "10000", "50000"} {
			if err = evaluateWithin(t, strings.ReplaceAll(program, "N", rounds), nil, limit); err != nil {
				break
			}
		}
		if err == nil || !strings.HasPrefix(errors.AsError(err).Detail, "the expression builds more than") {
			t.Errorf("%s has no limit: %v", program, err)
		}
	}
}

// evaluateWithin evaluates a program with a limit of memory.
func evaluateWithin(t *testing.T, program string, input any, limit int) error {
	t.Helper()
	code, err := compile(program+" | length", true)
	if err != nil {
		t.Fatal(err)
	}
	code.limits.alloc = limit
	used, most := uint64(0), uint64(2*limit+64<<10)
	for range 2 {
		before := allocated()
		_, err = code.Eval(testEnv{}, input)
		if used = allocated() - before; used <= most {
			return err
		}
		runtime.GC() // The runtime counts small objects late. A collection counts all objects, so that the second measurement has none of before.
	}
	t.Errorf("%s of %d bytes or items allocates %.2f times the limit: %v", program, length(input), float64(used)/float64(limit), err)
	return err
}

// allocated returns how many bytes this process has allocated.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
