package expr

import (
	"strings"
	"testing"
)

// TestChargesChangeNothing: programs with charges yield the same as without.
func TestChargesChangeNothing(t *testing.T) {
	inputs := []any{nil, 3, "text", []any{1, []any{2}}, map[string]any{"a": map[string]any{"b": []any{1}}, "c": "x"}}
	for _, program := range strings.Split(strings.TrimSpace(`
[[], {}, {"a": [], "b": [[1], {"c": {}}]}, null, "x"] | tostream
(1, [], {}, null) | tostream
[tostream] | fromstream(.[])
path(tostream?)
[..] | length
[[[1], {"a": [2]}] | paths, paths(type == "array"), paths(true, false)]
[{a: [1, {b: 2}]} | . as {a: [$x, {b: $y, $z}]} | $x, $y, $z]
[{a: [1]} | . as {a: {$b}} ?// {a: [$c]} | $b, $c]
[try (1 as [$a] | $a) catch ., try (null as [[$a]] | $a) catch .]
[try ({a: 1} as {a: {$b}} | $b) catch ., ({"a b": 1}."a b"?), ((1).a?)]
[{"k": 3} as {("k"): $v} | $v, try ({"k": 3} as {("k"): [$v]} | $v) catch .]
[try path(1 | .a) catch ., try path([1] | .[0]) catch ., try path(2) catch ., try path({a: 1} | .a) catch .]
try ({a: 1} |= 2) catch .
try del({a: 1}) catch .
[path(.a?, .b?[0]?), try pick({a: 1}) catch .]
.a.b?.c? //= 1
(.a?, .b?) |= 1
reduce ([[1, 2]], (3 | .[]?)) as [$x, $y] (0; . + $y)
[foreach ({a: 1}, {a: 2}, (3 | .x?)) as {$a} (0; . + $a; .)]
try {([1]): 2} catch .
def recurse: 1; [..]
def paths: "own"; [paths]
[.[]? as [$a, {b: $c}] | $a]
`), "\n") {
		t.Run(program, func(t *testing.T) {
			for _, input := range inputs {
				compareResults(t, program, nil, input)
			}
		})
	}
}
