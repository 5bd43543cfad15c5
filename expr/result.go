package expr

import (
	"encoding/json"
	"math/big"
)

// finish checks what an expression has built before it leaves, and turns it into the types of Decode.
func (l limits) finish(v any) (any, string) {
	switch v := v.(type) {
	case nil, bool, int, float64:
		return v, ""
	case *big.Int:
		return bigNumber(v), ""
	case json.Number:
		return number(v), ""
	}
	foreign, problem := l.measure(v)
	if problem != "" || !foreign {
		return v, problem
	}
	return convert(v), ""
}

// measure walks v without recursion. It reports whether v holds numbers that Decode would not make.
func (l limits) measure(v any) (foreign bool, problem string) {
	var few [32]visit
	stack, size := append(few[:0], visit{v, 0}), 0
	for len(stack) > 0 {
		top := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		switch v := top.v.(type) {
		case string:
			size += len(v) + 2
		case []any:
			size += 2 + len(v)
			for _, item := range v {
				stack = append(stack, visit{item, top.depth + 1})
			}
		case map[string]any:
			size += 2
			for name, member := range v {
				size += len(name) + 4
				stack = append(stack, visit{member, top.depth + 1})
			}
		case *big.Int:
			foreign = true
			size += weight(v)
		case json.Number:
			foreign = foreign || number(v) != any(v)
			size += len(v)
		default:
			size += 4
		}
		if size > l.size || len(stack) > l.size {
			return false, "the result is larger than " + mebibytes(l.size)
		}
		if top.depth > l.depth {
			return false, "the result is nested deeper than " + decimals(l.depth) + " levels"
		}
	}
	return foreign, ""
}

// convert copies v with the numbers that Decode would make; v has passed measure, which bounds the recursion.
func convert(v any) any {
	switch v := v.(type) {
	case *big.Int:
		return bigNumber(v)
	case json.Number:
		return number(v)
	case []any:
		items := make([]any, len(v))
		for i, item := range v {
			items[i] = convert(item)
		}
		return items
	case map[string]any:
		members := make(map[string]any, len(v))
		for name, member := range v {
			members[name] = convert(member)
		}
		return members
	}
	return v
}
