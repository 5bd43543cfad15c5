package effect

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
)

// Memory limits the memory of all effects of a driver. An effect that needs more than is available waits in a queue, first come, first
// served, so that large answers are not delayed forever.
//
// Read data and the values made from it have separate parts. An effect that waits for the memory of values may hold read data; an effect
// that holds values waits for nothing. So effects cannot wait for each other.
type Memory struct {
	read, values *part
}

// maxValues is how many bytes the values of all effects take until they are stored, whatever a worker may take: they
// take several times their text, and more of them at a time than there are processors to make them gains nothing.
const maxValues = 128 << 20

// DefaultMemory is how many bytes all effects may hold unless a driver is configured otherwise.
const DefaultMemory = 1 << 30

// NewMemory returns a memory of a size in bytes.
func NewMemory(size int64) *Memory {
	values := min(size/2, maxValues)
	return &Memory{newPart(size - values), newPart(values)}
}

type part struct {
	size int64
	left *semaphore.Weighted
}

func newPart(size int64) *part { return &part{size, semaphore.NewWeighted(size)} }

// reservation is the memory held by one effect, until its result is stored.
type reservation struct {
	memory       *Memory
	mu           sync.Mutex
	read, values int64 // bytes of each part
	over         bool  // no longer needed
}

// errTwice is an error of a performer: it could wait for its own memory, or performers for each other.
var errTwice = errors.New("an effect reserves memory once for what it reads, and then once for values")

// Reserve waits until a number of bytes is available; more than the total is reduced to the total.
func (r *reservation) Reserve(ctx context.Context, bytes int64) error {
	if read, values := r.holds(); read || values {
		return errTwice
	}
	return r.reserve(ctx, r.memory.read, &r.read, bytes)
}

// ReserveValues does the same for values.
func (r *reservation) ReserveValues(ctx context.Context, bytes int64) error {
	if _, values := r.holds(); values {
		return errTwice
	}
	return r.reserve(ctx, r.memory.values, &r.values, bytes)
}

func (r *reservation) reserve(ctx context.Context, p *part, held *int64, bytes int64) error {
	bytes = min(bytes, p.size)
	if err := p.left.Acquire(ctx, bytes); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		p.left.Release(bytes)
		return interpreter.ErrUnwanted
	}
	*held = bytes
	return nil
}

// Keep returns the memory of read data except for a number of bytes.
func (r *reservation) Keep(bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.memory.read.keep(&r.read, bytes)
}

func (p *part) keep(held *int64, bytes int64) {
	if bytes < *held {
		p.left.Release(*held - bytes)
		*held = bytes
	}
}

// end returns all memory, and refuses later reservations.
func (r *reservation) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.memory.read.keep(&r.read, 0)
	r.memory.values.keep(&r.values, 0)
	r.over = true
}

func (r *reservation) holds() (read, values bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.read > 0, r.values > 0
}
