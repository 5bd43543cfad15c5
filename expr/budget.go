package expr

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strconv"
	"time"

	"github.com/itchyny/gojq"

	"github.com/swrun/swrun/errors"
)

// limits bound one evaluation. They are counted and not timed, so that every worker gets the same result, even if it is busy. Work of a native that
// could take long is charged before it starts.
type limits struct {
	steps int // instructions of the jq machine
	alloc int // bytes, estimated, that the evaluation builds, the machine's own stacks included
	work  int // values and blocks of text that single operations visit
	size  int // bytes, estimated, of the result as JSON
	depth int // levels of the result
}

func defaultLimits() limits {
	return limits{steps: 1_000_000, alloc: 128 << 20, work: 10_000_000, size: 4 << 20, depth: 128}
}

const (
	checkEvery    = 128    // steps between two looks at the machine's stacks
	maxDepth      = 10_000 // levels of a value that an operation visits by recursion
	maxBits       = 4096   // of a whole number
	maxDigits     = 1300   // of a number that an operation reads
	maxItems      = 1_000_000
	maxPattern    = 1024 // bytes of a regular expression
	maxProgram    = 10_000
	maxDetail     = 500 // bytes of an error's detail
	scalarSize    = 8
	itemSize      = 16
	memberSize    = 48
	objectSize    = 192 // of an object beside its members: it has room for eight from the start
	namesSize     = 48  // of a list of the names of an object
	errorSize     = 96
	bytesPerWork  = 16  // of text that is read rune by rune
	bytesPerLook  = 64  // of text that is compared
	bytesPerMatch = 256 // of text that is compared with other text
	stackItemSize = 64
	stepSize      = 40 // at least half of the memory of a step that nothing else charges, such as a small object or the error of a native
)

// meter counts the work and memory of one evaluation. It is the context of the jq machine, which calls Done before every instruction. It is in the
// last element of the machine's argument array, where guarded functions find it.
type meter struct {
	limits
	env Env
	now any // the value of the function now, once it was called

	machine  reflect.Value // the jq machine, to measure its stacks; zero if the expression is evaluated without it
	stacks   int           // the largest size of the stacks that was charged
	exceeded string        // the message about the first exceeded limit

	placed bool    // it has asked for a place
	places *Places // where it has one; nil if it has none
}

const (
	stepsPerUnit = 10  // of the machine
	workPerUnit  = 100 // inside of natives
)

// end ends the evaluation: it leaves its place, and reports its work to the environment if that is a WorkCounter.
func (m *meter) end() {
	m.leave()
	if s, ok := m.env.(WorkCounter); ok {
		full := defaultLimits()
		s.CountWork(max(0, full.steps-m.steps)/stepsPerUnit + max(0, full.work-m.work)/workPerUnit)
	}
}

// Deadline returns none: the budget is counted in steps.
func (m *meter) Deadline() (time.Time, bool) { return time.Time{}, false }

// Value returns nil: the context carries no values.
func (m *meter) Value(any) any { return nil }

// Err returns an error about the exceeded limit, or nil.
func (m *meter) Err() error {
	if m.exceeded == "" {
		return nil
	}
	return errors.New(m.exceeded)
}

// Done counts one step; it is closed when the budget is used up.
func (m *meter) Done() <-chan struct{} {
	m.steps--
	if m.steps%checkEvery == 0 {
		m.check()
	}
	if m.exceeded != "" {
		return closed
	}
	return nil
}

var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

func (m *meter) check() {
	if m.steps <= 0 {
		m.exceed("the expression takes more than %d steps", defaultLimits().steps)
		return
	}
	m.chargeBytes(checkEvery * stepSize)
	if size := engine.stackEntries(m.machine) * stackItemSize; size > m.stacks {
		m.chargeBytes(size - m.stacks)
		m.stacks = size
	}
}

// exceed records the first exceeded limit, and returns false.
func (m *meter) exceed(format string, args ...any) bool {
	if m.exceeded == "" {
		m.exceeded = fmt.Sprintf(format, args...)
	}
	return false
}

// chargeBytes charges bytes that are about to be allocated, and reports whether the budget allows them.
func (m *meter) chargeBytes(bytes int) bool {
	if bytes < 0 || bytes > m.alloc {
		return m.exceed("the expression builds more than %d MiB of data", defaultLimits().alloc>>20)
	}
	m.alloc -= bytes
	m.place()
	return true
}

// chargeWork charges work that a single operation is about to do, and reports whether the budget allows it.
func (m *meter) chargeWork(units int) bool {
	if units < 0 || units > m.work {
		return m.exceed("the expression does too much work: give it less data, or split it")
	}
	m.work -= units
	return true
}

// product multiplies sizes without overflow.
func product(a, b int) int {
	if a != 0 && b > (1<<50)/a {
		return 1 << 50
	}
	return a * b
}

// extent is the size of a value as the tree that operations see: a part that occurs twice counts twice.
type extent struct {
	nodes, bytes int
	lists        int // bytes of the sorted names of objects, which each comparison lists
	digits       int // of its longest number
}

// work returns the units of work for one visit of each part.
func (e extent) work() int { return e.nodes + e.bytes/bytesPerWork }

// walk counts v and its parts, and reports whether they stay within the extent most and depth levels. It calls itself for the parts: a list of the parts that
// are still to be visited would take more memory than a wide value.
func (e *extent) walk(v any, depth int, most extent) bool {
	if e.nodes++; depth < 0 && isContainer(v) || e.nodes > most.nodes || e.bytes > most.bytes {
		return false
	}
	switch v := v.(type) {
	case []any:
		e.bytes += 2 + len(v)
		for _, item := range v {
			if !e.walk(item, depth-1, most) {
				return false
			}
		}
	case map[string]any:
		e.bytes += 2
		e.lists += namesSize + itemSize*len(v)
		e.nodes += 2 * len(v) // members take longer than items to reach and to sort
		for name, member := range v {
			e.bytes += len(name) + 4
			if !e.walk(member, depth-1, most) {
				return false
			}
		}
	case json.Number:
		e.bytes, e.digits = e.bytes+len(v), max(e.digits, len(v))
	default:
		e.bytes += approximateSize(v)
	}
	return e.bytes <= most.bytes
}

// EncodedSize returns the size in bytes of v as JSON without escapes. It stops counting soon after enough bytes.
func EncodedSize(v any, enough int) int {
	size := len("[]")
	switch v := v.(type) {
	case []any:
		size += max(0, len(v)-1) // commas
		for _, item := range v {
			if size += EncodedSize(item, enough-size); size > enough {
				break
			}
		}
	case map[string]any:
		size += max(0, len(v)-1)
		for name, member := range v {
			if size += len(name) + len(`"":`) + EncodedSize(member, enough-size); size > enough {
				break
			}
		}
	default:
		return encodedScalarSize(v)
	}
	return size
}

// encodedScalarSize returns the size in bytes of a scalar as JSON without escapes.
func encodedScalarSize(v any) int {
	var place [32]byte
	switch v := v.(type) {
	case nil:
		return len("null")
	case bool:
		return len(strconv.AppendBool(place[:0], v))
	case int:
		return len(strconv.AppendInt(place[:0], int64(v), 10))
	case float64:
		return len(appendFloat(place[:0], v))
	}
	return approximateSize(v)
}

// chargeWalk returns the extent of v, and charges one visit of each part.
func (m *meter) chargeWalk(v any) (e extent, ok bool) {
	if !e.walk(v, maxDepth, extent{nodes: m.work, bytes: math.MaxInt}) && e.nodes <= m.work {
		return e, m.exceed("the expression builds a value that is nested deeper than %d levels", maxDepth)
	}
	return e, m.chargeWork(e.work())
}

// chargeCompared is chargeWalk for a value whose parts are compared. All numbers must be short enough to calculate with: a comparison parses them.
func (m *meter) chargeCompared(v any) (e extent, ok bool) {
	if e, ok = m.chargeWalk(v); ok && e.digits > maxDigits {
		return e, m.exceed("a number has more than %d digits", maxDigits)
	}
	return e, ok
}

// approximateSize returns the approximate size in bytes of a scalar as JSON.
func approximateSize(v any) int {
	switch v := v.(type) {
	case string:
		return len(v) + 2
	case json.Number:
		return len(v)
	case *big.Int:
		return v.BitLen() / 3
	}
	return scalarSize
}

// chargeResult charges the size of a function's result without its parts, which were charged when they were made.
func (m *meter) chargeResult(v any) bool { return m.chargeBytes(shallow(v)) }

// chargeScalar charges the reading of a number or a text, and reports whether the budget allows it and a number is short
// enough to calculate with. Containers are free here: the guards of the natives that look into them charge for them.
func (m *meter) chargeScalar(v any) bool {
	switch v := v.(type) {
	case *big.Int:
		if v.BitLen() > maxBits {
			return m.exceed("a number has more than %d bits", maxBits)
		}
		return m.chargeWork(v.BitLen() / 64)
	case json.Number:
		if len(v) > maxDigits {
			return m.exceed("a number has more than %d digits", maxDigits)
		}
		return m.chargeWork(len(v) / 8)
	case string:
		return m.chargeWork(len(v) / bytesPerLook)
	}
	return true
}

// chargeNumbers charges for the conversion of a number, or of each number in an array or in the bounds of a slice.
func (m *meter) chargeNumbers(v any) bool {
	items, ok := v.([]any)
	if !ok {
		return m.chargeBound(v)
	}
	ok = m.chargeWork(len(items) / bytesPerWork)
	for i := 0; ok && i < len(items); i++ {
		ok = m.chargeBound(items[i])
	}
	return ok
}

// chargeBound is chargeScalar for each bound of a slice, or for v if it is not a slice.
func (m *meter) chargeBound(v any) bool {
	if slice, ok := v.(map[string]any); ok {
		return m.chargeScalar(slice["start"]) && m.chargeScalar(slice["end"])
	}
	return m.chargeScalar(v)
}

// haltError returns the error of a guarded function once a limit is exceeded: no try, ? or // of the expression catches it.
func haltError() any { return &gojq.HaltError{} }
