package interpreter

import (
	"context"
	"encoding/json"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
)

// Kind is the knowledge of the interpreter about one kind of task. All kinds are in a literal table (tasks.All).
type Kind struct {
	Kind    dsl.Kind
	Compile func(*Builder, dsl.Task) Body
	Perform Performer // nil for kinds without effects, and for kinds whose effects need no performer
	Route   Route     // of its effects
	// Reached returns the target of a request in the form of errors.MemberRequest; nil if the target is not known. A timeout that ends the effect
	// contains it. The request may contain nothing but its body.
	Reached func(Request) map[string]any
	// Shared reports that a part of each request is stored for other readers: see Next.Sharing.
	Shared bool
}

// Body is the compiled logic of one task of a workflow. Its methods are pure functions of the Scope.
//
// A body may also be a Composite, a Sleeper or a Leaf: Enter returns the next action, and the interpreter then calls the method that belongs to that
// action.
type Body interface {
	// Enter starts the body; Scope.Input is the task's transformed input.
	Enter(*Scope) Next
}

// Composite is a Body that runs child tasks.
type Composite interface {
	Body
	// ChildDone is called when a list that Run started, or a branch that Fork started, ended without an error.
	ChildDone(*Scope, Child) Next
	// ChildFailed is called when a child raised an error that nothing inside it caught. Its siblings are cancelled.
	ChildFailed(*Scope, *errors.Error) Next
}

// Catcher is a Composite that may continue after a child failed.
type Catcher interface {
	Composite
	// MayCatch reports whether it may catch an error from its list of that name. Whether it does may depend on expressions.
	MayCatch(list string, err *errors.Error) bool
}

// Sleeper is a Body that waits for time.
type Sleeper interface {
	Body
	// Wake is called at the time that Sleep or Until of an effect named, never earlier.
	Wake(*Scope) Next
}

// Leaf is a Body that performs one effect, or several effects one after the other. A request that is not stored because it contains a secret is
// computed again by Enter. Enter computes the request of the first effect or, depending on its progress, of a later one.
type Leaf interface {
	Body
	// Finish makes the task's output from the result of the performer.
	Finish(*Scope, any) Next
}

// Child is a list or branch that ended without an error.
type Child struct {
	Repetition Repetition // as given to Run
	Branch     int        // position in the branches that Fork started; 0 for a list
	Output     any

	context any // of a branch
}

// Request is one effect to perform. The task prepared Body, which does not change when the effect is repeated.
type Request struct {
	Body        json.RawMessage
	Instance    string      // id of the run
	Pointer     dsl.Pointer // of the task
	Path        Path        // occurrence of the task
	Key         string      // the occurrence's idempotency key, the same for every attempt
	Attempt     int         // counts from 1
	Deadline    time.Time   // the earliest deadline of the scopes around the task; zero if there is no deadline
	TraceParent string      // names the task's span for the called service (W3C Trace Context); empty without tracing
	ReadsSecret bool        // the task read a secret, which may be anywhere in Body
	Memory      Memory      // bounds the data that the performer reads; nil for no bound
	// Prepared is the value that Body was encoded from, so that a performer need not decode it; nil if Body comes from
	// storage. It is read-only.
	Prepared any
}

// Memory is a driver's budget for the data that its effects read, shared by all of them. The driver frees the reservation of an effect after it
// stored the effect's result.
type Memory interface {
	// Reserve waits until the given number of bytes is free, and reserves them. A performer calls it once, before it reads.
	Reserve(ctx context.Context, bytes int64) error
	// Keep frees all reserved bytes except the given number.
	Keep(bytes int64)
	// ReserveValues reserves memory in the same way for the values that a performer decodes from the data. A performer calls it once, before it decodes.
	ReserveValues(ctx context.Context, bytes int64) error
}

// Performer performs one effect. Its result is JSON data in the types of expr.Decode. It returns an *errors.Error for errors that the workflow may
// catch, and any other error for a failure of the host. It returns soon after ctx ends, and leaves no process, connection or goroutine behind.
type Performer func(ctx context.Context, r Request) (any, error)
