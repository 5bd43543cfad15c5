package expr

import (
	"encoding/json"
	"math/big"
	"math/bits"
	"reflect"
	"strings"

	"github.com/itchyny/gojq"
)

// guard charges what a native is about to do, and reports whether the budget allows it.
type guard func(m *meter, input any, args []any) bool

// guarded returns f as programs may call it: with its cost charged before, and its result or its error after.
func guarded(name string, _ int, f native) native {
	g := replaced(name, f)
	if g == nil {
		g = checked(name, f)
	}
	return func(input any, args []any) any {
		v := g(input, args)
		if _, failed := v.(error); failed && !meterOf(args).failing(input, args) {
			return halt()
		}
		return v
	}
}

// checked returns f with its cost charged before, and its result after.
func checked(name string, f native) native {
	check := guardOf(name)
	if check == nil {
		check = scalars
	}
	return func(input any, args []any) any {
		m := meterOf(args)
		if !check(m, input, args) {
			return halt()
		}
		v := f(input, args)
		if !m.result(v) {
			return halt()
		}
		return v
	}
}

// replaced returns what programs call instead of a native that cannot be guarded, or nil.
func replaced(name string, f native) native {
	switch name {
	case "now":
		return func(_ any, args []any) any { return meterOf(args).clock() }
	case "localtime":
		return guarded("gmtime", 0, engine.native("gmtime", 0))
	case "strflocaltime":
		return guarded("strftime", 1, engine.native("strftime", 1))
	case "strptime":
		return func(input any, args []any) any { return parseTime(f, input, args) }
	case "_match":
		patterns := &patterns{}
		return func(input any, args []any) any { return find(patterns, f, input, args) }
	case "delpaths", "_delpaths":
		return func(input any, args []any) any { return deletePaths(f, input, args) }
	case "setpath", "_setpath":
		return func(input any, args []any) any { return setPath(f, input, args) }
	}
	return nil
}

// clock is the epoch of the step in seconds; it is read once.
func (m *meter) clock() any {
	if m.now == nil {
		t := m.env.Now()
		m.now = float64(t.Unix()) + float64(t.Nanosecond())/1e9
	}
	return m.now
}

// scalars is the guard of natives whose cost is small unless a number or a text is very long.
func scalars(m *meter, input any, args []any) bool {
	ok := m.scalar(input)
	for _, arg := range args {
		ok = ok && m.scalar(arg)
	}
	return ok
}

// guardOf returns the guard of a native, or nil for one that scalars is enough for.
func guardOf(name string) guard {
	switch name {
	case "_add", "_subtract", "_multiply", "_divide", "_modulo":
		return arithmeticGuard(name)
	case "_equal", "_notequal", "_greater", "_less", "_greatereq", "_lesseq":
		return func(m *meter, _ any, args []any) bool { return m.comparable(args[0], args[1]) }
	case "_index":
		return func(m *meter, _ any, args []any) bool { return m.indexing(args[0], args[1]) }
	case "_range":
		return func(m *meter, _ any, args []any) bool {
			return m.scalar(args[0]) && m.scalar(args[1]) && m.scalar(args[2])
		}
	case "jn", "yn":
		return func(m *meter, _ any, args []any) bool {
			n, _ := gojq.ToFloat64(args[0])
			return n <= maxItems && n >= -maxItems || m.exceed("%s takes orders up to %d", name, maxItems)
		}
	case "getpath":
		return func(m *meter, v any, args []any) bool { return m.toil(length(args[0])) && m.following(v) }
	case "_slice":
		return func(m *meter, _ any, args []any) bool { return m.reading(args[0]) && m.following(args[0]) }
	}
	if g := textGuard(name); g != nil {
		return g
	}
	return collectionGuard(name)
}

func arithmeticGuard(name string) guard {
	return func(m *meter, _ any, args []any) bool {
		l, r := args[0], args[1]
		if !m.scalar(l) || !m.scalar(r) {
			return false
		}
		switch name {
		case "_add":
			return m.spend(shallow(l) + shallow(r))
		case "_subtract":
			return !isContainer(l) || !isContainer(r) || m.pairs(l, r)
		case "_divide":
			return m.splitting(l, r)
		case "_multiply":
			return m.multiplying(l, r)
		}
		return true
	}
}

func (m *meter) multiplying(l, r any) bool {
	if digits(l)+digits(r) > maxBits {
		return m.exceed("a number has more than %d bits", maxBits)
	}
	if isContainer(l) && isContainer(r) {
		_, ok := m.extent(l)
		_, also := m.extent(r)
		return ok && also
	}
	return m.repeating(l, r) && m.repeating(r, l)
}

func (m *meter) repeating(text, count any) bool {
	s, ok := text.(string)
	n, isNumber := gojq.ToFloat64(count)
	if !ok || !isNumber || !(n > 0) {
		return true
	}
	return m.spend(product(len(s), int(min(n, 1<<40))))
}

// digits is about how many bits a number has that is no machine word.
func digits(v any) int {
	switch v := v.(type) {
	case *big.Int:
		return v.BitLen()
	case json.Number:
		if !strings.ContainsAny(string(v), ".eE") {
			return len(v) * 10 / 3
		}
	}
	return 0
}

// comparable charges a comparison.
func (m *meter) comparable(l, r any) bool {
	if s, ok := l.(string); ok {
		t, _ := r.(string)
		return m.toil(min(len(s), len(t)) / bytesPerMatch)
	}
	if !m.scalar(l) || !m.scalar(r) {
		return false
	}
	if !isContainer(l) || !isContainer(r) {
		return true
	}
	_, ok := m.extent(l)
	_, also := m.extent(r)
	return ok && also
}

// pairs charges a comparison of each part of l with each part of r.
func (m *meter) pairs(l, r any) bool {
	left, ok := m.extent(l)
	right, also := m.extent(r)
	return ok && also && m.toil(product(left.nodes, right.nodes+right.bytes/bytesPerMatch))
}

func (m *meter) indexing(v, key any) bool {
	if part, ok := key.([]any); ok {
		if v, ok := v.([]any); ok {
			return m.pairs(v, part)
		}
	}
	return m.reading(v) && m.scalar(key) && m.following(v)
}

// reading charges what it takes to read a text rune by rune.
func (m *meter) reading(v any) bool {
	s, ok := v.(string)
	return !ok || m.toil(len(s)/bytesPerWork)
}

func isContainer(v any) bool {
	switch v.(type) {
	case []any, map[string]any:
		return true
	}
	return false
}

func length(v any) int {
	switch v := v.(type) {
	case string:
		return len(v)
	case []any:
		return len(v)
	case map[string]any:
		return len(v)
	}
	return 0
}

// shallow is how many bytes a copy of v takes that shares its parts.
func shallow(v any) int {
	switch v := v.(type) {
	case string:
		return len(v)
	case []any:
		return itemSize * len(v)
	case map[string]any:
		return memberSize * len(v)
	}
	return 0
}

// levels returns about how often a sort of n items compares each.
func levels(n int) int { return bits.Len(uint(n)) }

// pointer identifies a map.
func pointer(m map[string]any) uintptr { return reflect.ValueOf(m).Pointer() }
