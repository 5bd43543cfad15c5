package expr

import (
	"encoding/json"
	"math"
	"math/big"
	"slices"

	"github.com/swrun/swrun/internal/jsonvalue"
)

// checkResult checks a value that an expression built, and converts it to the types of Decode. The second result describes the mistake in the value,
// or is "".
func (l limits) checkResult(v any) (any, string) {
	switch scalar := v.(type) {
	case nil, bool, int, float64:
		return v, ""
	case *big.Int:
		return bigNumber(scalar), ""
	case json.Number:
		return jsonvalue.Number(scalar), ""
	case string:
		if len(scalar) <= l.size {
			return v, "" // v itself: scalar would be boxed again
		}
	}
	foreign, problem := l.measure(v)
	if problem != "" || !foreign {
		return v, problem
	}
	return convert(v), ""
}

// measure walks v. It reports whether v contains numbers that Decode would not make, and which limit it exceeds.
func (l limits) measure(v any) (foreign bool, problem string) {
	var e extent
	switch {
	case e.walk(v, l.depth, extent{nodes: math.MaxInt, bytes: l.size}):
		return hasUnconverted(v), ""
	case e.bytes > l.size:
		return false, "the result is larger than " + mebibytes(l.size)
	}
	return false, "the result is nested deeper than " + decimals(l.depth) + " levels"
}

// hasUnconverted reports whether v or a part of it needs conversion; v has passed measure, which bounds the recursion.
func hasUnconverted(v any) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, hasUnconverted)
	case map[string]any:
		for _, member := range v {
			if hasUnconverted(member) {
				return true
			}
		}
	}
	return needsConversion(v)
}

func needsConversion(v any) bool {
	switch v := v.(type) {
	case *big.Int:
		return true
	case json.Number:
		return jsonvalue.Number(v) != any(v)
	}
	return false
}

// convert copies v with the numbers that Decode would make; v has passed measure, which bounds the recursion.
func convert(v any) any {
	return jsonvalue.Map(v, func(leaf any) any {
		switch n := leaf.(type) {
		case *big.Int:
			return bigNumber(n)
		case json.Number:
			return jsonvalue.Number(n)
		}
		return leaf
	})
}
