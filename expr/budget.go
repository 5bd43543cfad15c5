package expr

import (
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"strconv"
	"time"

	"github.com/itchyny/gojq"

	"github.com/swrun/swrun/errors"
)

// limits bound one evaluation. All are deterministic: every worker comes to the same result, however busy it is. No
// clock is among them, so what nothing else bounds has a price here: each native charges for it before it starts.
type limits struct {
	steps int // instructions of the jq machine
	alloc int // bytes, estimated, that the evaluation builds, the machine's own stacks included
	work  int // values and blocks of text that single operations visit
	size  int // bytes, estimated, of the result as JSON
	depth int // levels of the result
}

func defaults() limits {
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
	bytesPerWork  = 16  // of text that is read rune by rune
	bytesPerLook  = 64  // of text that is compared
	bytesPerMatch = 256 // of text that is compared with other text
	stackItemSize = 64
)

// meter counts what one evaluation uses. It is the context of the jq machine, which asks for Done before every
// instruction, and it stands in the last slot of the machine's argument array, where guarded functions find it.
type meter struct {
	limits
	env Env
	now any // what the function now yields, once asked

	machine reflect.Value // the machine, to measure its stacks; zero outside of it
	stacks  int           // the largest size of the stacks that was charged
	problem string        // the limit that was exceeded
}

const (
	stepsPerUnit = 10  // of the machine
	workPerUnit  = 100 // inside of natives
)

// tell tells the environment, if it wants to know, what the evaluation has taken.
func (m *meter) tell() {
	if s, ok := m.env.(WorkCounter); ok {
		full := defaults()
		s.CountWork(max(0, full.steps-m.steps)/stepsPerUnit + max(0, full.work-m.work)/workPerUnit)
	}
}

// Deadline has no meaning for a budget of steps.
func (m *meter) Deadline() (time.Time, bool) { return time.Time{}, false }

// Value carries nothing.
func (m *meter) Value(any) any { return nil }

// Err returns the exceeded limit.
func (m *meter) Err() error {
	if m.problem == "" {
		return nil
	}
	return errors.New(m.problem)
}

// Done counts one step; it is closed when the budget is used up.
func (m *meter) Done() <-chan struct{} {
	m.steps--
	if m.steps%checkEvery == 0 {
		m.check()
	}
	if m.problem != "" {
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
		m.exceed("the expression takes more than %d steps", defaults().steps)
		return
	}
	if size := engine.stacks(m.machine) * stackItemSize; size > m.stacks {
		m.spend(size - m.stacks)
		m.stacks = size
	}
}

// exceed records the first limit that was exceeded, and returns false.
func (m *meter) exceed(format string, args ...any) bool {
	if m.problem == "" {
		m.problem = fmt.Sprintf(format, args...)
	}
	return false
}

// spend charges bytes that are about to be built, and reports whether the budget allows them.
func (m *meter) spend(bytes int) bool {
	if bytes < 0 || bytes > m.alloc {
		return m.exceed("the expression builds more than %d MiB of data", defaults().alloc>>20)
	}
	m.alloc -= bytes
	return true
}

// toil charges work that a single operation is about to do, and reports whether the budget allows it.
func (m *meter) toil(units int) bool {
	if units < 0 || units > m.work {
		return m.exceed("the expression does too much work in single operations")
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

// extent is how large a value is, as the tree that operations see: what stands in two places counts twice. It is
// found without recursion: todo holds the containers that are still to be visited.
type extent struct{ nodes, bytes int }

// work is what it takes to visit each part once.
func (e extent) work() int { return e.nodes + e.bytes/bytesPerWork }

type visit struct {
	container any
	depth     int
}

// add counts a scalar, or keeps a container for later.
func (e *extent) add(todo []visit, v any, depth int) []visit {
	e.nodes++
	switch v.(type) {
	case []any, map[string]any:
		return append(todo, visit{v, depth})
	}
	e.bytes += weight(v)
	return todo
}

// next counts the parts of the last container in todo, and returns its depth.
func (e *extent) next(todo []visit) ([]visit, int) {
	top := todo[len(todo)-1]
	todo = todo[:len(todo)-1]
	switch v := top.container.(type) {
	case []any:
		e.bytes += 2 + len(v)
		for _, item := range v {
			todo = e.add(todo, item, top.depth+1)
		}
	case map[string]any:
		e.bytes += 2
		e.nodes += 2 * len(v) // members are slower to reach and to sort than items
		for name, member := range v {
			e.bytes += len(name) + 4
			todo = e.add(todo, member, top.depth+1)
		}
	}
	return todo, top.depth
}

// EncodedSize returns how many bytes v takes as JSON, as if nothing in its texts had to be escaped. It looks no further once it has
// found more than enough.
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
		return written(v)
	}
	return size
}

// written is how long a scalar is as JSON, as EncodedSize tells it.
func written(v any) int {
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
	return weight(v)
}

// extent walks v and charges the walk.
func (m *meter) extent(v any) (e extent, ok bool) {
	var few [16]visit
	todo := e.add(few[:0], v, 0)
	for depth := 0; len(todo) > 0; {
		if todo, depth = e.next(todo); depth > maxDepth {
			return e, m.exceed("the expression builds a value that is nested deeper than %d levels", maxDepth)
		}
		if e.nodes > m.work {
			return e, m.toil(e.nodes)
		}
	}
	return e, m.toil(e.work())
}

// weight is about how long a scalar is as JSON.
func weight(v any) int {
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

// result charges what a function has returned: its own size, since its parts are charged where they are made.
func (m *meter) result(v any) bool {
	switch v := v.(type) {
	case string:
		return m.spend(len(v))
	case []any:
		return m.spend(itemSize * len(v))
	case map[string]any:
		return m.spend(memberSize * len(v))
	}
	return true
}

// scalar charges what an operation takes to read a number or a text, and reports whether a number is short enough to
// calculate with. What containers cost, the guards of the natives that look into them know.
func (m *meter) scalar(v any) bool {
	switch v := v.(type) {
	case *big.Int:
		if v.BitLen() > maxBits {
			return m.exceed("a number has more than %d bits", maxBits)
		}
		return m.toil(v.BitLen() / 64)
	case json.Number:
		if len(v) > maxDigits {
			return m.exceed("a number has more than %d digits", maxDigits)
		}
		return m.toil(len(v) / 8)
	case string:
		return m.toil(len(v) / bytesPerLook)
	}
	return true
}

// halt is what a guarded function returns once a limit is exceeded: no try, ? or // of the expression catches it.
func halt() any { return &gojq.HaltError{} }
