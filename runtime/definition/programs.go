package definition

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// Programs is a cache of compiled definitions. Several goroutines may use it.
type Programs struct {
	catalog store.Catalog
	compile Compile

	mu       sync.Mutex
	compiled map[string]*compilation
}

// NewPrograms returns an empty cache of the programs of a catalog.
func NewPrograms(c store.Catalog, compile Compile) *Programs {
	return &Programs{catalog: c, compile: compile, compiled: map[string]*compilation{}}
}

type compilation struct {
	done    chan struct{} // closed when the rest is known
	program *interpreter.Program
	err     error
}

// loadWithin is how long a definition may be on its way.
const loadWithin = 30 * time.Second

// maxPrograms is how many programs are kept; more are compiled again when they are needed.
const maxPrograms = 512

// Program returns the program of a definition; runs share it. If ctx ends before the program is loaded, the error is an UnavailableError,
// and loading continues.
func (p *Programs) Program(ctx context.Context, digest string) (*interpreter.Program, error) {
	c := p.compilation(ctx, digest)
	select {
	case <-c.done:
		return c.program, c.err
	case <-ctx.Done():
		return nil, &UnavailableError{Digest: digest, Err: context.Cause(ctx)}
	}
}

// Compile returns the program of a definition that need not be stored.
func (p *Programs) Compile(d Definition) (*interpreter.Program, error) { return p.compile(d) }

func (p *Programs) compilation(ctx context.Context, digest string) *compilation {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.compiled[digest]; c != nil {
		return c
	}
	if len(p.compiled) >= maxPrograms {
		p.compiled = map[string]*compilation{}
	}
	c := &compilation{done: make(chan struct{})}
	p.compiled[digest] = c
	go func() {
		defer close(c.done)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadWithin)
		defer cancel()
		if c.program, c.err = p.contained(ctx, digest); c.err != nil { // it may be there next time
			p.mu.Lock()
			defer p.mu.Unlock()
			delete(p.compiled, digest)
		}
	}()
	return c
}

// contained is load; a panic is a fault of the definition.
func (p *Programs) contained(ctx context.Context, digest string) (program *interpreter.Program, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("compiling the definition %s panicked: %v\n%s", digest, v, debug.Stack())
		}
	}()
	return p.load(ctx, digest)
}

func (p *Programs) load(ctx context.Context, digest string) (*interpreter.Program, error) {
	d, err := Load(ctx, p.catalog, digest)
	if err != nil {
		return nil, err
	}
	return p.compile(d)
}

// NameUnreadable adds the workflow to the error of a definition that cannot be read: it names a digest alone. Other errors it returns as they are.
func NameUnreadable(r Reference, err error) error {
	if !store.IsUnreadable(err) {
		return err
	}
	return fmt.Errorf("the workflow %s: %w", r, err)
}

// UnavailableError is a definition that the store could not be asked for.
type UnavailableError struct {
	Digest string
	Err    error
}

func (e *UnavailableError) Error() string {
	return "ask for the definition " + e.Digest + ": " + e.Err.Error()
}
func (e *UnavailableError) Unwrap() error { return e.Err }
