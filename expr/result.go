package expr

import (
	"encoding/json"
	"math/big"

	"github.com/swrun/swrun/internal/jsonvalue"
)

// finish checks what an expression has built before it leaves, and turns it into the types of Decode.
func (l limits) finish(v any) (any, string) {
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

// measure walks v without recursion. It reports whether v holds numbers that Decode would not make.
func (l limits) measure(v any) (foreign bool, problem string) {
	var few [16]visit
	var e extent
	todo := e.add(few[:0], v, 0)
	for depth := 0; len(todo) > 0 && e.bytes <= l.size; {
		foreign = foreign || holdsForeign(todo[len(todo)-1].container)
		if todo, depth = e.next(todo); depth > l.depth {
			return false, "the result is nested deeper than " + decimals(l.depth) + " levels"
		}
	}
	if e.bytes > l.size {
		return false, "the result is larger than " + mebibytes(l.size)
	}
	return foreign, ""
}

// holdsForeign reports whether a number right inside a container is not as Decode would make it.
func holdsForeign(container any) bool {
	switch v := container.(type) {
	case []any:
		for _, item := range v {
			if isForeign(item) {
				return true
			}
		}
	case map[string]any:
		for _, member := range v {
			if isForeign(member) {
				return true
			}
		}
	}
	return false
}

func isForeign(v any) bool {
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
