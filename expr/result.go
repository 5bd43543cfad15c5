package expr

import (
	"encoding/json"
	"math/big"

	"github.com/swrun/swrun/internal/jsonvalue"
)

// checkResult checks a value that an expression has built, and converts it to the types of Decode. The second result is what
// is wrong with the value, or "".
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

// measure walks v without recursion. It reports whether v contains numbers that Decode would not make, and which limit it exceeds.
func (l limits) measure(v any) (foreign bool, problem string) {
	var few [16]visit
	var e extent
	todo := e.add(few[:0], v, 0)
	for depth := 0; len(todo) > 0 && e.bytes <= l.size; {
		foreign = foreign || hasUnconverted(todo[len(todo)-1].container)
		if todo, depth = e.next(todo); depth > l.depth {
			return false, "the result is nested deeper than " + decimals(l.depth) + " levels"
		}
	}
	if e.bytes > l.size {
		return false, "the result is larger than " + mebibytes(l.size)
	}
	return foreign, ""
}

// hasUnconverted reports whether a direct item or member of a container needs conversion.
func hasUnconverted(container any) bool {
	switch v := container.(type) {
	case []any:
		for _, item := range v {
			if needsConversion(item) {
				return true
			}
		}
	case map[string]any:
		for _, member := range v {
			if needsConversion(member) {
				return true
			}
		}
	}
	return false
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
