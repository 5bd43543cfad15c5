package expr

import (
	"slices"
	"sort"

	"github.com/itchyny/gojq"

	"github.com/swrun/swrun/internal/jsonvalue"
)

// collectionGuard returns the guard of a native that reads or builds arrays and objects, or nil.
func collectionGuard(name string) guard {
	switch name {
	case "add":
		return func(m *meter, v any, _ []any) bool { return m.chargeAdd(v) }
	case "keys":
		return func(m *meter, v any, _ []any) bool { return m.chargeBytes(2*itemSize*length(v)) && m.chargeMembers(v) }
	case "reverse", "has", "_captures":
		return func(*meter, any, []any) bool { return true }
	case "flatten":
		return func(m *meter, v any, _ []any) bool {
			e, ok := m.chargeWalk(v)
			return ok && m.chargeBytes(product(e.nodes, 3*itemSize))
		}
	case "contains", "inside":
		return func(m *meter, v any, args []any) bool {
			return m.chargeContains(v, args[0])
		}
	case "indices", "index", "rindex":
		return func(m *meter, v any, args []any) bool { return m.chargeSearch(v, args[0]) }
	case "_group_by":
		return func(m *meter, _ any, args []any) bool {
			return m.chargeSort(args[0]) && m.chargeBytes(product(length(args[0]), groupSize))
		}
	case "min", "max", "sort", "unique":
		return func(m *meter, v any, _ []any) bool { return m.chargeSort(v) }
	case "_min_by", "_max_by", "_sort_by", "_unique_by":
		return func(m *meter, _ any, args []any) bool { return m.chargeSort(args[0]) }
	case "transpose":
		return chargeTranspose
	case "bsearch":
		return func(m *meter, v any, args []any) bool { return m.chargeBinarySearch(v, args[0]) }
	}
	return nil
}

// groupSize is the size of a group of one item beside the item, in a list that grows.
const groupSize = 80

// chargeAdd charges for the sum of the parts of v, which is built with spare capacity.
func (m *meter) chargeAdd(v any) bool {
	size, ok := 0, m.chargeWork(length(v))
	each(v, func(item any) {
		size += shallow(item)
		ok = ok && m.chargeScalar(item)
	})
	return ok && m.chargeBytes(2*size)
}

// chargeMembers charges for visiting the items of an array, or the members of an object in order.
func (m *meter) chargeMembers(v any) bool {
	n := length(v)
	object, ok := v.(map[string]any)
	if !ok {
		return m.chargeWork(n)
	}
	if !m.chargeWork(n) {
		return false
	}
	names := 0
	for name := range object {
		names += len(name)
	}
	return m.chargeWork(product(n+names/bytesPerMatch, sortDepth(n)))
}

// chargeSort charges for a sort by the given keys.
func (m *meter) chargeSort(keys any) bool {
	e, ok := m.chargeCompared(keys)
	rounds := sortDepth(length(keys))
	return ok && m.chargeWork(product(e.work(), rounds)) && m.chargeBytes(product(length(keys), 64)+product(e.lists, rounds))
}

// chargeContains charges for a test of containment, of a text in a text or of each part in each part.
func (m *meter) chargeContains(v, part any) bool {
	if isContainer(v) && isContainer(part) {
		return m.chargePairs(v, part)
	}
	return m.chargeScalar(v) && m.chargeScalar(part) && m.chargeWork((length(v)+length(part))/bytesPerWork)
}

// chargeSearch charges for a search for part in v, which tries every position.
func (m *meter) chargeSearch(v, part any) bool {
	if s, ok := v.(string); ok {
		n, k := len(s), max(length(part), 1)
		return m.chargeWork(product(n, k)) && m.chargeBytes(product(n, 72)+product(k, 24))
	}
	return !isContainer(v) || m.chargeBytes(product(length(v), 48)) && m.chargePairs(v, part)
}

// chargeBinarySearch charges for the comparisons of a binary search. It compares the same items in the same order.
func (m *meter) chargeBinarySearch(v, key any) bool {
	items, _ := v.([]any)
	ok := true
	sort.Search(len(items), func(i int) bool {
		ok = ok && m.chargeComparison(items[i], key)
		return ok && gojq.Compare(items[i], key) >= 0
	})
	return ok
}

func chargeTranspose(m *meter, v any, _ []any) bool {
	rows, longest := 0, 0
	each(v, func(row any) {
		rows++
		longest = max(longest, length(row))
	})
	return m.chargeBytes(product(rows, product(longest, itemSize)) + product(longest, 2*itemSize))
}

// getPath guards getpath: an array on the path is searched for in the value that the path has reached.
func getPath(f native, input any, args []any) any {
	m := meterOf(args)
	path, _ := args[0].([]any)
	if !m.chargeWork(len(path)) || !m.chargeNumbers(path) || !m.chargePathError(input) || !m.chargeSearches(f, input, args) {
		return haltError()
	}
	v := f(input, args)
	if !m.chargeResult(v) {
		return haltError()
	}
	return v
}

// chargeSearches charges for the arrays and slices on the path in args. It follows the path with get, which is getpath.
func (m *meter) chargeSearches(get native, v any, args []any) bool {
	path, _ := args[0].([]any)
	if !slices.ContainsFunc(path, isContainer) {
		return true
	}
	for _, step := range path {
		if isContainer(step) && !m.chargeIndex(v, step) {
			return false
		}
		v = get(v, append([]any{[]any{step}}, args[1:]...)) // jq adds an argument in an assignment
		if _, failed := v.(error); failed {
			return true
		}
		if isContainer(step) && !m.chargeResult(v) {
			return false
		}
	}
	return true
}

// setPath guards setpath: an index far beyond the end of an array would build all items up to it, and each
// container on the path is copied unless the machine has just built it.
func setPath(f native, input any, args []any) any {
	m := meterOf(args)
	path, _ := args[0].([]any)
	if len(path) > maxDepth {
		m.exceed("a path has more than %d steps", maxDepth)
		return haltError()
	}
	if !m.chargeNumbers(path) {
		return haltError()
	}
	for _, step := range path {
		if i, ok := gojq.ToInt(step); ok && i >= maxItems {
			m.exceed("an array has more than %d items", maxItems)
			return haltError()
		}
	}
	if !m.chargeGrowth(input, path) {
		return haltError()
	}
	var few [8]any
	before := valuesAlong(few[:0], input, path)
	v := f(input, args)
	if !m.chargeCopies(before, v, path) {
		return haltError()
	}
	return v
}

// chargeGrowth charges for the items that an index beyond the end of an array adds.
func (m *meter) chargeGrowth(v any, path []any) bool {
	for _, step := range path {
		if _, slice := step.(map[string]any); slice {
			return true
		}
		if i, ok := gojq.ToInt(step); ok {
			array, _ := v.([]any)
			if i >= len(array) && !m.chargeBytes(itemSize*(i+1-len(array))) {
				return false
			}
		}
		v = child(v, step)
	}
	return true
}

// valuesAlong appends v and the values inside it along the path.
func valuesAlong(to []any, v any, path []any) []any {
	for _, step := range path {
		to = append(to, v)
		v = child(v, step)
	}
	return to
}

// chargeCopies charges for the containers along the path that were not there before.
func (m *meter) chargeCopies(before []any, after any, path []any) bool {
	for i, step := range path {
		if !isContainer(after) {
			return true
		}
		if made := !isContainer(before[i]) || !same(before[i], after); made && !m.chargeBytes(shallow(after)) {
			return false
		}
		after = child(after, step)
	}
	return true
}

func child(v, step any) any {
	switch v := v.(type) {
	case map[string]any:
		name, _ := step.(string)
		return v[name]
	case []any:
		if i, ok := gojq.ToInt(step); ok {
			return item(v, i)
		}
	}
	return nil
}

func item(v []any, i int) any {
	if i < 0 {
		i += len(v)
	}
	if i < 0 || i >= len(v) {
		return nil
	}
	return v[i]
}

// deletePaths calls f with a copy of the input: after a deletion gojq writes to each part of the whole value, also to parts
// that other evaluations share and read at the same time.
func deletePaths(f native, input any, args []any) any {
	m := meterOf(args)
	paths, _ := args[0].([]any)
	if len(paths) == 0 {
		return f(input, args)
	}
	e, ok := m.chargeWalk(input)
	if !ok || !m.chargeBytes(product(e.nodes, memberSize)) || !m.chargeSort(paths) {
		return haltError()
	}
	return f(duplicate(input), args)
}

// duplicate copies the containers of v, whose depth chargeWalk has checked.
func duplicate(v any) any { return jsonvalue.Map(v, func(leaf any) any { return leaf }) }
