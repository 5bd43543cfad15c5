package expr

import (
	"github.com/itchyny/gojq"

	"github.com/swrun/swrun/internal/jsonvalue"
)

// collectionGuard returns the guard of a native that reads or builds arrays and objects, or nil.
func collectionGuard(name string) guard {
	switch name {
	case "add":
		return func(m *meter, v any, _ []any) bool { return m.adding(v) }
	case "keys":
		return func(m *meter, v any, _ []any) bool { return m.spend(2*itemSize*length(v)) && m.sorting(v) }
	case "reverse", "has", "_captures":
		return func(*meter, any, []any) bool { return true }
	case "flatten":
		return func(m *meter, v any, _ []any) bool {
			e, ok := m.extent(v)
			return ok && m.spend(product(e.nodes, 2*itemSize))
		}
	case "contains", "inside":
		return func(m *meter, v any, args []any) bool {
			return m.containing(v, args[0])
		}
	case "indices", "index", "rindex":
		return func(m *meter, v any, args []any) bool { return m.searching(v, args[0]) }
	case "min", "max", "sort", "unique":
		return func(m *meter, v any, _ []any) bool { return m.ordering(v) }
	case "_min_by", "_max_by", "_sort_by", "_group_by", "_unique_by":
		return func(m *meter, _ any, args []any) bool { return m.ordering(args[0]) }
	case "transpose":
		return transposing
	case "bsearch":
		return func(m *meter, v any, args []any) bool {
			e, ok := m.extent(args[0])
			return ok && m.toil(product(e.work(), levels(length(v))))
		}
	}
	return nil
}

// adding charges the sum of the parts of v, which is built with room to grow.
func (m *meter) adding(v any) bool {
	size, ok := 0, m.toil(length(v))
	each(v, func(item any) {
		size += shallow(item)
		ok = ok && m.scalar(item)
	})
	return ok && m.spend(2*size)
}

// sorting charges for going through the items of an array, or the members of an object in their order.
func (m *meter) sorting(v any) bool {
	n := length(v)
	object, ok := v.(map[string]any)
	if !ok {
		return m.toil(n)
	}
	if !m.toil(n) {
		return false
	}
	names := 0
	for name := range object {
		names += len(name)
	}
	return m.toil(product(n+names/bytesPerMatch, levels(n)))
}

// ordering charges a sort by the keys.
func (m *meter) ordering(keys any) bool {
	e, ok := m.extent(keys)
	return ok && m.toil(product(e.work(), levels(length(keys)))) && m.spend(product(length(keys), 64))
}

// containing charges a test of containment, of text in text or of each part in each part.
func (m *meter) containing(v, part any) bool {
	if isContainer(v) && isContainer(part) {
		return m.pairs(v, part)
	}
	return m.toil((length(v) + length(part)) / bytesPerWork)
}

// searching charges a search for part in v, which tries every position.
func (m *meter) searching(v, part any) bool {
	if s, ok := v.(string); ok {
		n, k := len(s), max(length(part), 1)
		return m.toil(product(n, k)) && m.spend(product(n, 72)+product(k, 24))
	}
	return !isContainer(v) || m.spend(product(length(v), 48)) && m.pairs(v, part)
}

func transposing(m *meter, v any, _ []any) bool {
	rows, longest := 0, 0
	each(v, func(row any) {
		rows++
		longest = max(longest, length(row))
	})
	return m.spend(product(rows, product(longest, itemSize)) + product(longest, 2*itemSize))
}

// setPath guards setpath: an index far behind the end of an array would build all items up to it, and each
// container on the path is copied unless the machine has just built it.
func setPath(f native, input any, args []any) any {
	m := meterOf(args)
	path, _ := args[0].([]any)
	if len(path) > maxDepth {
		m.exceed("a path has more than %d steps", maxDepth)
		return halt()
	}
	for _, step := range path {
		if i, ok := gojq.ToInt(step); ok && i >= maxItems {
			m.exceed("an array has more than %d items", maxItems)
			return halt()
		}
		if !m.scalar(step) {
			return halt()
		}
	}
	if !m.growing(input, path) {
		return halt()
	}
	var few [8]any
	before := along(few[:0], input, path)
	v := f(input, args)
	if !m.copied(before, v, path) {
		return halt()
	}
	return v
}

// growing charges the items that an index behind the end of an array adds.
func (m *meter) growing(v any, path []any) bool {
	for _, step := range path {
		if _, slice := step.(map[string]any); slice {
			return true
		}
		if i, ok := gojq.ToInt(step); ok {
			array, _ := v.([]any)
			if i >= len(array) && !m.spend(itemSize*(i+1-len(array))) {
				return false
			}
		}
		v = child(v, step)
	}
	return true
}

// along appends v and what stands in it along the path.
func along(to []any, v any, path []any) []any {
	for _, step := range path {
		to = append(to, v)
		v = child(v, step)
	}
	return to
}

// copied charges the containers along the path that were not there before.
func (m *meter) copied(before []any, after any, path []any) bool {
	for i, step := range path {
		if !isContainer(after) {
			return true
		}
		if !same(before[i], after) && !m.spend(shallow(after)) {
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

// deletePaths calls f on a copy of the input: gojq sweeps the whole value after a deletion and writes to each part of
// it, also to those that other evaluations share and read at this moment.
func deletePaths(f native, input any, args []any) any {
	m := meterOf(args)
	paths, _ := args[0].([]any)
	if len(paths) == 0 {
		return f(input, args)
	}
	e, ok := m.extent(input)
	if !ok || !m.spend(product(e.nodes, memberSize)) || !m.ordering(paths) {
		return halt()
	}
	return f(duplicate(input), args)
}

// duplicate copies the containers of v, which extent has found not too deep.
func duplicate(v any) any { return jsonvalue.Map(v, func(leaf any) any { return leaf }) }
