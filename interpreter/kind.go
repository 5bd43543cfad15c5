package interpreter

import (
	"context"
	"encoding/json"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
)

// Kind is what the interpreter has to know of one kind of task. Kinds arrive in a literal table (tasks.All).
type Kind struct {
	Kind    dsl.Kind
	Compile func(*Builder, dsl.Task) Body
	Perform Performer // nil for kinds without effects, and for those that no performer performs
	Route   Route     // of its effects
	// Shared says that others read what Next.Sharing names of a request.
	Shared bool
}

// Body is the compiled logic of one task of a workflow. Its methods are pure functions of the Scope.
//
// A body is a composite, a leaf or both: Enter returns what is next, and the interpreter then calls the method that
// fits what was asked for.
type Body interface {
	// Enter starts the body; Scope.Input is the task's transformed input.
	Enter(*Scope) Next
}

// Composite is a Body that runs child tasks.
type Composite interface {
	Body
	// ChildDone is called when what Run or Fork started has ended well.
	ChildDone(*Scope, Child) Next
	// ChildFailed is called when a child raised an error that nothing inside it caught. Its siblings are cancelled.
	ChildFailed(*Scope, *errors.Error) Next
}

// Catcher is a Composite that may go on after a child has failed.
type Catcher interface {
	Composite
	// MayCatch reports whether it may, depending on expressions perhaps, take an error out of a list of its own.
	MayCatch(list string, err *errors.Error) bool
}

// Sleeper is a Body that waits for time.
type Sleeper interface {
	Body
	// Wake is called at the time that Sleep named, never earlier.
	Wake(*Scope) Next
}

// Leaf is a Body that performs an effect.
type Leaf interface {
	Body
	// Finish shapes the task's output from what the performer returned.
	Finish(*Scope, any) Next
}

// Child is a list or branch that ended well.
type Child struct {
	Repetition Repetition // as given to Run
	Branch     int        // position in the branches that Fork started; 0 for a list
	Output     any

	context any // of a branch
}

// Request is one effect to perform. Body is what the task prepared; it does not change when the effect is repeated.
type Request struct {
	Body        json.RawMessage
	Instance    string      // id of the workflow instance
	Pointer     dsl.Pointer // of the task
	Path        Path        // occurrence of the task
	Key         string      // the occurrence's idempotency key, the same for every attempt
	Attempt     int         // counts from 1
	Deadline    time.Time   // of the innermost scope that ends first; zero if there is none
	ReadsSecret bool        // the task has read a secret, which may stand anywhere in Body
	Memory      Memory      // for what the performer reads; nil is without a bound
	// Prepared is what Body was written from, for a performer that need not read it again; nil if it comes from storage.
	// It is read-only.
	Prepared any
}

// Memory is what a driver gives its effects for the data that they read, so that all together do not need more than there
// is. What is reserved is free again when the driver has stored what came of it.
type Memory interface {
	// Reserve waits until so many bytes are left. A performer calls it once, before it reads them.
	Reserve(ctx context.Context, bytes int64) error
	// Keep gives back all but so many bytes.
	Keep(bytes int64)
	// ReserveValues waits until so many bytes are left for the values that a performer makes of what it has read. It calls
	// it once, before it makes them.
	ReserveValues(ctx context.Context, bytes int64) error
}

// Performer does one effect. Its result is JSON data in the types of expr.Decode. It returns a *errors.Error for what
// the workflow may catch, and any other error for a failure of the host. It ends soon after ctx does, and leaves no
// process, connection or goroutine behind.
type Performer func(ctx context.Context, r Request) (any, error)
