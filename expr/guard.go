package expr

import (
	"encoding/json"
	"math/big"
	"math/bits"
	"reflect"
	"strings"

	"github.com/itchyny/gojq"
)

// guard charges for the work that a native is about to do, and reports whether the budget allows it.
type guard func(m *meter, input any, args []any) bool

// guarded returns f with charges: its cost is charged before the call, its result or error after it.
func guarded(name string, _ int, f native) native {
	g := replaced(name, f)
	if g == nil {
		g = checked(name, f)
	}
	return func(input any, args []any) any {
		v := g(input, args)
		if _, failed := v.(error); failed && !meterOf(args).chargeError(input, args) {
			return haltError()
		}
		return v
	}
}

// checked returns f with its cost charged before the call, and its result after it.
func checked(name string, f native) native {
	check := guardOf(name)
	if check == nil {
		check = guardScalars
	}
	inInput, inArgs := convertsNumbers(name)
	return func(input any, args []any) any {
		m := meterOf(args)
		if inInput && !m.chargeNumbers(input) || inArgs && !m.chargeNumbers(args) || !check(m, input, args) {
			return haltError()
		}
		v := f(input, args)
		if !m.chargeResult(v) {
			return haltError()
		}
		return v
	}
}

// replaced returns the replacement for a native that cannot be guarded, or nil.
func replaced(name string, f native) native {
	switch name {
	case "now":
		return func(_ any, args []any) any { return meterOf(args).clock() }
	case "localtime":
		return guarded("gmtime", 0, engine.native("gmtime", 0))
	case "strflocaltime":
		return guarded("strftime", 1, engine.native("strftime", 1))
	case "format":
		return func(input any, args []any) any { return writeBase32(checked(name, f), input, args) }
	case "strptime":
		return func(input any, args []any) any { return parseTime(f, input, args) }
	case "_match":
		patterns := &patterns{}
		return func(input any, args []any) any { return matchPatterns(patterns, f, input, args) }
	case "delpaths", "_delpaths":
		return func(input any, args []any) any { return deletePaths(f, input, args) }
	case "getpath":
		return func(input any, args []any) any { return getPath(f, input, args) }
	case "setpath", "_setpath":
		return func(input any, args []any) any { return setPath(f, input, args) }
	}
	return nil
}

// clock returns the time of the step in seconds since 1970; it is read once.
func (m *meter) clock() any {
	if m.now == nil {
		t := m.env.Now()
		m.now = float64(t.Unix()) + float64(t.Nanosecond())/1e9
	}
	return m.now
}

// guardScalars is the guard of natives whose cost is small unless a number or a text is very long.
func guardScalars(m *meter, input any, args []any) bool {
	ok := m.chargeScalar(input)
	for _, arg := range args {
		ok = ok && m.chargeScalar(arg)
	}
	return ok
}

// convertsNumbers reports whether a native converts the numbers in its input, and in its arguments, beside those that its guard charges for. The natives
// that only pass numbers on, such as tojson, take numbers of any length.
func convertsNumbers(name string) (inInput, inArgs bool) {
	switch name {
	case "mktime", "gmtime", "strftime", "implode":
		return true, false
	case "flatten", "has", "jn", "yn", "join":
		return false, true
	}
	return false, false
}

// guardOf returns the guard of a native, or nil if guardScalars is enough.
func guardOf(name string) guard {
	switch name {
	case "_add", "_subtract", "_multiply", "_divide", "_modulo":
		return arithmeticGuard(name)
	case "_equal", "_notequal", "_greater", "_less", "_greatereq", "_lesseq":
		return func(m *meter, _ any, args []any) bool { return m.chargeComparison(args[0], args[1]) }
	case "_index":
		return func(m *meter, _ any, args []any) bool { return m.chargeIndex(args[0], args[1]) }
	case "_range":
		return func(m *meter, _ any, args []any) bool {
			return m.chargeScalar(args[0]) && m.chargeScalar(args[1]) && m.chargeScalar(args[2])
		}
	case "jn", "yn":
		return func(m *meter, _ any, args []any) bool {
			n, _ := gojq.ToFloat64(args[0])
			return n <= maxItems && n >= -maxItems || m.exceed("%s takes orders up to %d", name, maxItems)
		}
	case "_slice":
		return func(m *meter, _ any, args []any) bool {
			return m.chargeReading(args[0]) && m.chargeScalar(args[1]) && m.chargeScalar(args[2]) && m.chargePathError(args[0])
		}
	}
	if g := textGuard(name); g != nil {
		return g
	}
	return collectionGuard(name)
}

func arithmeticGuard(name string) guard {
	return func(m *meter, _ any, args []any) bool {
		l, r := args[0], args[1]
		if !m.chargeScalar(l) || !m.chargeScalar(r) {
			return false
		}
		switch name {
		case "_add":
			return m.chargeBytes(shallow(l) + shallow(r))
		case "_subtract":
			return !isContainer(l) || !isContainer(r) || m.chargePairs(l, r)
		case "_divide":
			return m.chargeSplit(l, r)
		case "_multiply":
			return m.chargeMultiplication(l, r)
		}
		return true
	}
}

func (m *meter) chargeMultiplication(l, r any) bool {
	if digits(l)+digits(r) > maxBits {
		return m.exceed("a number has more than %d bits", maxBits)
	}
	if isContainer(l) && isContainer(r) {
		_, ok := m.chargeWalk(l)
		_, also := m.chargeWalk(r)
		return ok && also
	}
	return m.chargeRepetition(l, r) && m.chargeRepetition(r, l)
}

func (m *meter) chargeRepetition(text, count any) bool {
	s, ok := text.(string)
	n, isNumber := gojq.ToFloat64(count)
	if !ok || !isNumber || !(n > 0) {
		return true
	}
	return m.chargeBytes(product(len(s), int(min(n, 1<<40))))
}

// digits returns the approximate number of bits of a number; 0 if it fits a machine word.
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

// chargeComparison charges a comparison.
func (m *meter) chargeComparison(l, r any) bool {
	s, text := l.(string)
	if t, also := r.(string); text && also {
		return m.chargeWork(min(len(s), len(t)) / bytesPerMatch)
	}
	if !m.chargeScalar(l) || !m.chargeScalar(r) {
		return false
	}
	if !isContainer(l) || !isContainer(r) {
		return true
	}
	left, ok := m.chargeCompared(l)
	right, also := m.chargeCompared(r)
	return ok && also && m.chargeBytes(left.lists+right.lists)
}

// chargePairs charges a comparison of each part of l with each part of r.
func (m *meter) chargePairs(l, r any) bool {
	left, ok := m.chargeCompared(l)
	right, also := m.chargeCompared(r)
	return ok && also && m.chargeWork(product(left.nodes, right.nodes+right.bytes/bytesPerMatch))
}

func (m *meter) chargeIndex(v, key any) bool {
	if part, ok := key.([]any); ok {
		if v, ok := v.([]any); ok {
			return m.chargePairs(v, part)
		}
	}
	return m.chargeReading(v) && m.chargeBound(key) && m.chargePathError(v)
}

// chargeReading charges for reading a text rune by rune.
func (m *meter) chargeReading(v any) bool {
	s, ok := v.(string)
	return !ok || m.chargeWork(len(s)/bytesPerWork)
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

// shallow returns the size in bytes of a shallow copy of v.
func shallow(v any) int {
	switch v := v.(type) {
	case string:
		return len(v)
	case []any:
		return itemSize * len(v)
	case map[string]any:
		return objectSize + memberSize*len(v)
	}
	return 0
}

// sortDepth returns the approximate number of comparisons of each item in a sort of n items.
func sortDepth(n int) int { return bits.Len(uint(n)) }

// pointer identifies a map.
func pointer(m map[string]any) uintptr { return reflect.ValueOf(m).Pointer() }
