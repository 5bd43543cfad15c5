package interpreter

import (
	"encoding/binary"
	"fmt"
	"hash"
	"hash/fnv"
	"math/big"
	"slices"
)

// distinguishable reports whether the items of each array in v can be compared within the given work. The validator compares two items if their
// parts, written one after the other, are the same bytes: [1, [2]] and [[1], 2].
func distinguishable(v any, work int) bool {
	todo := []any{v}
	for len(todo) > 0 {
		last := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		switch container := last.(type) {
		case []any:
			if work -= comparisonWork(container); work < 0 {
				return false
			}
			todo = append(todo, container...)
		case map[string]any:
			for _, member := range container {
				todo = append(todo, member)
			}
		}
	}
	return true
}

// comparisonWork returns the work of comparing the arrays and objects among items.
func comparisonWork(items []any) (work int) {
	const few = 20 // the validator compares this number of items in pairs, without marks
	alike := map[uint64]int{}
	for i, item := range items {
		if width(item) == 0 {
			continue
		}
		if len(items) <= few {
			work += i
			continue
		}
		digest := fnv.New64a()
		work += 1 + mark(digest, item)/8
		sum := digest.Sum64()
		work += alike[sum]
		alike[sum]++
	}
	return work
}

// mark writes v as the validator does to find similar items, and returns the number of its values.
func mark(to hash.Hash64, v any) (values int) {
	values = 1
	switch v := v.(type) {
	case []any:
		to.Write([]byte{4})
		for _, item := range v {
			values += mark(to, item)
		}
	case map[string]any:
		to.Write([]byte{5})
		all := names(v)
		for _, name := range all {
			values += 1 + mark(to, name) + mark(to, v[name])
		}
	case string:
		to.Write(append([]byte{3}, v...))
	case bool, nil:
		fmt.Fprint(to, v)
	case int:
		var whole [9]byte
		binary.BigEndian.PutUint64(whole[:], uint64(max(v, -v)))
		whole[8] = 1
		to.Write([]byte{2})
		to.Write(whole[firstSet(whole[:8]):])
	default:
		if number, ok := new(big.Rat).SetString(fmt.Sprint(v)); ok {
			to.Write([]byte{2})
			to.Write(number.Num().Bytes())
			to.Write(number.Denom().Bytes())
		}
	}
	return values
}

func firstSet(bytes []byte) int {
	if i := slices.IndexFunc(bytes, func(b byte) bool { return b != 0 }); i >= 0 {
		return i
	}
	return len(bytes)
}
