package expr_test

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/swrun/swrun/expr"
)

// TestEqualIsThatOfJQ compares all pairs of many values with the result of jq.
func TestEqualIsThatOfJQ(t *testing.T) {
	values := []any{
		nil, false, true, "", "1", "a", []any{}, []any{1}, []any{1.0, "a"}, []any{json.Number("1.0"), "a"}, map[string]any{}, map[string]any{"a": nil}, map[string]any{"b": nil},
		map[string]any{"a": 1, "b": []any{0.5}}, map[string]any{"a": json.Number("1"), "b": []any{json.Number("5e-1")}},
		math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), math.MaxInt, math.MinInt, float64(1 << 53), 1<<53 + 1, float64(1 << 63), math.MaxFloat64,
		new(big.Int).Lsh(big.NewInt(1), 63), new(big.Int).Lsh(big.NewInt(1), 64), big.NewInt(7), 7,
	}
	for _, whole := range []string{"0", "1", "9007199254740992", "9007199254740993", "9223372036854775807", "9223372036854775808", "9223372036854775809", "18446744073709551616",
		strings.Repeat("9", 308), strings.Repeat("9", 309), "1" + strings.Repeat("0", 308), "1" + strings.Repeat("0", 400)} {
		for _, tail := range []string{"", ".0", ".5", "." + strings.Repeat("3", 40), "e0", "E+1", "e-1", ".25e2", "e400", "e-400", "e99999999999999999999", "e-99999999999999999999"} {
			values = append(values, json.Number(whole+tail), json.Number("-"+whole+tail))
			if v := mustDecode(t, whole+tail); v != any(json.Number(whole+tail)) {
				values = append(values, v)
			}
		}
	}
	code := mustCompile(t, ".[0] == .[1]")
	for _, a := range values {
		for _, b := range values {
			want, err := code.Eval(env{}, []any{a, b})
			if got := expr.Equal(a, b); err != nil || got != want {
				t.Fatalf("%v and %v: got %v, jq has %v, %v", a, b, got, want, err)
			}
		}
	}
}

// TestEqualConvertsNoDigits: a conversion of a whole number from decimal allocates memory for its bits.
func TestEqualConvertsNoDigits(t *testing.T) {
	nines := strings.Repeat("9", 50_000)
	long, other, fraction := any(json.Number(nines)), any(json.Number(nines[1:]+"8")), any(json.Number(nines+".5"))
	for _, c := range []struct {
		a, b any
		want bool
	}{
		{long, any(json.Number(strings.Clone(nines))), true}, {long, other, false}, {long, 1, false}, {0.5, long, false}, {long, "9", false}, {math.Inf(1), long, true},
		{[]any{long}, []any{long}, true}, {map[string]any{"a": long}, map[string]any{"a": other}, false}, {fraction, fraction, true}, {json.Number("-" + nines), long, false},
	} {
		allocations := testing.AllocsPerRun(3, func() {
			if expr.Equal(c.a, c.b) != c.want {
				t.Errorf("%.10v and %.10v: want %v", c.a, c.b, c.want)
			}
		})
		if allocations > 10 { // the error of a number beyond all float64 takes six
			t.Errorf("%.10v and %.10v: %v allocations", c.a, c.b, allocations)
		}
	}
}
