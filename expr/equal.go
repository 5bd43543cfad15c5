package expr

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"

	"github.com/itchyny/gojq"
)

// Equal reports whether two values are equal as JSON data. It follows jq's ==, so that 1 equals 1.0. It takes time in proportion to the values, however
// many digits a number has: jq's == converts whole numbers from decimal, which takes quadratic time.
func Equal(a, b any) bool {
	switch l := a.(type) {
	case []any:
		r, ok := b.([]any)
		return ok && equalItems(l, r)
	case map[string]any:
		r, ok := b.(map[string]any)
		return ok && equalMembers(l, r)
	}
	l, r := numberOfJQ(a), numberOfJQ(b)
	left, large := l.(json.Number)
	right, also := r.(json.Number)
	switch {
	case large && also:
		return left == right
	case large:
		return equalFloat(left, r)
	case also:
		return equalFloat(right, l)
	}
	return gojq.Compare(l, r) == 0
}

func equalItems(l, r []any) bool {
	if len(l) != len(r) {
		return false
	}
	for i := range l {
		if !Equal(l[i], r[i]) {
			return false
		}
	}
	return true
}

func equalMembers(l, r map[string]any) bool {
	if len(l) != len(r) {
		return false
	}
	for name, member := range l {
		if other, ok := r[name]; !ok || !Equal(member, other) {
			return false
		}
	}
	return true
}

// numberOfJQ returns the number of jq for a number: an int, a float64 for a number with a fraction or an exponent, or the digits of a whole number that is
// not an int. Any other value is unchanged.
func numberOfJQ(v any) any {
	if n, ok := v.(*big.Int); ok {
		v = bigNumber(n)
	}
	n, ok := v.(json.Number)
	if !ok {
		return v
	}
	if strings.ContainsAny(string(n), ".eE") {
		return nearestFloat(n)
	}
	if len(n) <= len("-9223372036854775808") {
		if i, err := strconv.Atoi(string(n)); err == nil {
			return i
		}
	}
	return v
}

// equalFloat reports whether v is a float64, and the one that is nearest to n.
func equalFloat(n json.Number, v any) bool {
	f, ok := v.(float64)
	return ok && f == nearestFloat(n)
}

// nearestFloat returns an infinity if n is beyond all float64.
func nearestFloat(n json.Number) float64 {
	f, _ := strconv.ParseFloat(string(n), 64)
	return f
}
