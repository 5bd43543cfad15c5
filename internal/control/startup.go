package control

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/swrun/swrun/runtime/store"
)

// Startup is the startup of a process that deploys the documents of its folders. Nil is a startup that succeeded.
type Startup struct {
	over chan struct{}

	mu          sync.Mutex
	done, total int // documents
	succeeded   bool
}

// NewStartup returns a startup that begins.
func NewStartup() *Startup { return &Startup{over: make(chan struct{})} }

// Count notes how many documents are done.
func (s *Startup) Count(done, total int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done, s.total = done, total
}

// End ends the startup. It is called once.
func (s *Startup) End(succeeded bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.succeeded = succeeded
	close(s.over)
}

// Err returns a *StartingError until the startup has succeeded.
func (s *Startup) Err() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.succeeded {
		return nil
	}
	return &StartingError{s.done, s.total}
}

// startupWithin is how long a request waits for the end of the startup.
const startupWithin = 2 * time.Second

// wait waits for the end of the startup, and returns its error.
func (s *Startup) wait(ctx context.Context) error {
	if s == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, startupWithin)
	defer cancel()
	select {
	case <-s.over:
	case <-ctx.Done():
	}
	return s.Err()
}

// deployed calls do, which needs a workflow. If the workflow is missing during the startup, it is called again afterwards.
func (s *Startup) deployed(ctx context.Context, do func() error) error {
	starting := s.Err()
	err := do()
	if starting == nil || store.RefusedAs(err) != store.NoSuch {
		return err
	}
	if err := s.wait(ctx); err != nil {
		return err
	}
	return do()
}

// StartingError reports that a process deploys the documents of its folders, and answers the request later.
type StartingError struct {
	Done, Total int // documents; 0 while they are being counted
}

// Error returns the progress.
func (e *StartingError) Error() string {
	if e.Total == 0 {
		return "the server reads its folders"
	}
	return fmt.Sprintf("the server deploys the documents of its folders: %d of %d are done", e.Done, e.Total)
}
