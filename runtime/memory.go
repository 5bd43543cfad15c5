package runtime

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/swrun/swrun/errors"
)

// memory bounds what the effects of a worker hold together. Who wants more than is left waits; first come, first served, so
// that large answers are not overtaken for ever.
type memory struct {
	size int64
	left *semaphore.Weighted
}

func newMemory(size int64) *memory { return &memory{size, semaphore.NewWeighted(size)} }

// reservation is what one effect holds of the memory, until what it has led to is stored. An effect that waits for memory
// holds none, and what holds some does not wait for any: so they cannot wait for each other.
type reservation struct {
	memory *memory
	mu     sync.Mutex
	held   int64
	over   bool // nobody needs it any more
}

// errTwice is a mistake of a performer: it could wait for what it holds itself.
var errTwice = errors.New("an effect reserves memory once, before it holds any")

// Reserve waits until so many bytes are left; more than there are is all that there is.
func (r *reservation) Reserve(ctx context.Context, bytes int64) error {
	if r.holds() {
		return errTwice
	}
	bytes = min(bytes, r.memory.size)
	if err := r.memory.left.Acquire(ctx, bytes); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		r.memory.left.Release(bytes)
		return errUnwanted
	}
	r.held = bytes
	return nil
}

// Keep gives back all but so many bytes.
func (r *reservation) Keep(bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keep(bytes)
}

func (r *reservation) keep(bytes int64) {
	if bytes < r.held {
		r.memory.left.Release(r.held - bytes)
		r.held = bytes
	}
}

// end gives everything back, also what the effect should ask for later.
func (r *reservation) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keep(0)
	r.over = true
}

func (r *reservation) holds() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held > 0
}
