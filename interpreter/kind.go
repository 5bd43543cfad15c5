package interpreter

import (
	"context"
	"encoding/json"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
)

// Kind is what the interpreter has to know about one kind of task. Kinds arrive in a literal table (tasks.All).
type Kind struct {
	Kind    dsl.Kind
	Compile func(*Builder, dsl.Task) Body
	Perform Performer // nil for kinds without effects, and for those that no performer performs
	Route   Route     // of its effects
	// Reached returns what a request is to reach, as errors.MemberRequest says it; nil if that is not known. A timeout that ends the effect says
	// it. The request may have nothing but its body.
	Reached func(Request) map[string]any
	// Shared says that a part of each request is stored where others read it: see Next.Sharing.
	Shared bool
}

// Body is the compiled logic of one task of a workflow. Its methods are pure functions of the Scope.
//
// A body may also be a Composite, a Sleeper or a Leaf: Enter says what is next, and the interpreter then calls the method
// that belongs to what Enter asked for.
type Body interface {
	// Enter starts the body; Scope.Input is the task's transformed input.
	Enter(*Scope) Next
}

// Composite is a Body that runs child tasks.
type Composite interface {
	Body
	// ChildDone is called when a list that Run started, or a branch that Fork started, has ended without an error.
	ChildDone(*Scope, Child) Next
	// ChildFailed is called when a child raised an error that nothing inside it caught. Its siblings are cancelled.
	ChildFailed(*Scope, *errors.Error) Next
}

// Catcher is a Composite that may go on after a child has failed.
type Catcher interface {
	Composite
	// MayCatch reports whether it may catch an error from its list of that name. Whether it does may depend on expressions.
	MayCatch(list string, err *errors.Error) bool
}

// Sleeper is a Body that waits for time.
type Sleeper interface {
	Body
	// Wake is called at the time that Sleep named, or Until of an effect, never earlier.
	Wake(*Scope) Next
}

// Leaf is a Body that performs an effect, or several, one after the other. A request that is not stored, because it contains a secret, is computed
// again by Enter: that of the first effect, or by its progress that of a later one.
type Leaf interface {
	Body
	// Finish shapes the task's output from what the performer returned.
	Finish(*Scope, any) Next
}

// Child is a list or branch that has ended without an error.
type Child struct {
	Repetition Repetition // as given to Run
	Branch     int        // position in the branches that Fork started; 0 for a list
	Output     any

	context any // of a branch
}

// Request is one effect to perform. Body is what the task prepared; it does not change when the effect is repeated.
type Request struct {
	Body        json.RawMessage
	Instance    string      // id of the run
	Pointer     dsl.Pointer // of the task
	Path        Path        // occurrence of the task
	Key         string      // the occurrence's idempotency key, the same for every attempt
	Attempt     int         // counts from 1
	Deadline    time.Time   // the earliest of the scopes around the task; zero if there is none
	TraceParent string      // names the task's span, for whom it calls (W3C Trace Context); empty if nothing is traced
	ReadsSecret bool        // the task has read a secret, which may stand anywhere in Body
	Memory      Memory      // bounds the data that the performer reads; nil for no bound
	// Prepared is the value that Body was encoded from, so that a performer need not decode it; nil if Body comes from
	// storage. It is read-only.
	Prepared any
}

// Memory is a driver's budget for the data that its effects read, shared by all of them. The driver frees what an effect has
// reserved when it has stored the effect's result.
type Memory interface {
	// Reserve waits until that many bytes are free, and reserves them. A performer calls it once, before it reads.
	Reserve(ctx context.Context, bytes int64) error
	// Keep frees all but that many bytes of what was reserved.
	Keep(bytes int64)
	// ReserveValues reserves memory in the same way for the values that a performer decodes from what it has read. A
	// performer calls it once, before it decodes.
	ReserveValues(ctx context.Context, bytes int64) error
}

// Performer performs one effect. Its result is JSON data in the types of expr.Decode. It returns an *errors.Error for what
// the workflow may catch, and any other error for a failure of the host. It returns soon after ctx ends, and leaves no
// process, connection or goroutine behind.
type Performer func(ctx context.Context, r Request) (any, error)
