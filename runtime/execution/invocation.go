package execution

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"math"
	"time"

	"github.com/swrun/swrun/internal/form"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/settings"
	"github.com/swrun/swrun/runtime/store"
)

// Invocation contains the data that is fixed when a run starts. Stores keep it as JSON.
type Invocation struct {
	Workflow   definition.Reference `json:"w"`
	Definition string               `json:"d"` // digest of the definition that the run is pinned to
	// Began is the original definition, if the run migrated since; nil otherwise.
	Began       *Pinned           `json:"g,omitempty"`
	Input       interpreter.Value `json:"i"`
	BusinessKey string            `json:"k,omitempty"`
	Labels      map[string]string `json:"l,omitempty"`

	ExecutionTimeout time.Duration `json:"x,omitempty"` // replaces the document's timeout; NoTimeout takes it away
	RunTimeout       time.Duration `json:"r,omitempty"` // replaces the document's metadata.swrun.runTimeout; NoTimeout takes it away
	Deadline         time.Time     `json:"e,omitzero"`  // replaces the document's timeout
	// Settings are the settings of the namespace at the start.
	Settings settings.Settings `json:"s,omitzero"`
	// TimeoutsFromAccept counts the timeouts from when the start was accepted, and not from when a worker takes the run.
	TimeoutsFromAccept bool    `json:"a,omitempty"`
	Parent             *Parent `json:"p,omitempty"`
	// Origin is the run that has started it and does not wait for it.
	Origin *store.Instance `json:"o,omitempty"`
	// Beside is the task of the Origin that started the run, if the run ends with the Origin. The task is informed of the end of the run.
	// The deadline of Beside is the deadline of the Origin's execution.
	Beside *Parent `json:"u,omitempty"`
	// Actor is the user that started the run; empty if unknown, or if a run started it. Like TraceParent it is ignored when starts are
	// compared.
	Actor string `json:"b,omitempty"`
	// TraceParent names the span that has led to the start, as the header `traceparent` does; empty if none is known.
	TraceParent string      `json:"t,omitempty"`
	Depth       int         `json:"n,omitempty"` // how many workflows have started one another before it
	Fork        *ForkedFrom `json:"q,omitempty"` // nil unless it continues at a task of another run
	// Reserved is the run whose workers alone perform the effects of this run (presence.Worker.Runs): this run, or a run that waits for it.
	// It is nil if every worker may. Like Actor it is ignored when starts are compared.
	Reserved *store.Instance `json:"h,omitempty"`
	// Keys is the run, in the same namespace, whose idempotency keys a child has that was started again; empty for its own. A fork has them in Fork.
	Keys string `json:"y,omitempty"`
	// Family is the first in the chain of runs that started one another; nil for a run that was not started by a run.
	Family *store.Instance `json:"f,omitempty"`
	// Cause is the first in the chain of runs that caused this run, if an event of a run started one of them; nil otherwise. Like Actor it
	// is ignored when starts are compared.
	Cause *store.Instance `json:"v,omitempty"`
}

// Pinned is a definition that a run was pinned to.
type Pinned struct {
	Workflow   definition.Reference `json:"w"`
	Definition string               `json:"d"` // its digest
}

// First returns the definition that the run began with.
func (i *Invocation) First() Pinned {
	if i.Began != nil {
		return *i.Began
	}
	return Pinned{i.Workflow, i.Definition}
}

// migrated returns the invocation of the run when it continues with another definition.
func (i *Invocation) migrated(to Pinned) *Invocation {
	moved, first := *i, i.First()
	moved.Workflow, moved.Definition, moved.Began = to.Workflow, to.Definition, &first
	return &moved
}

// NoTimeout is the timeout of a start that disables the timeout of the document and the settings of the deployment, except for a maximum.
const NoTimeout time.Duration = math.MinInt64

// Starter returns the run that started this run; ok is false if no run did.
func (i *Invocation) Starter() (starter store.Instance, ok bool) {
	switch {
	case i.Parent != nil:
		return i.Parent.Instance, true
	case i.Origin != nil:
		return *i.Origin, true
	}
	return store.Instance{}, false
}

// Plain reports whether the run was started with only an input, and not by another run.
func (i *Invocation) Plain() bool {
	_, started := i.Starter()
	return !started && i.Began == nil && i.BusinessKey == "" && len(i.Labels) == 0 && i.ExecutionTimeout == 0 && i.RunTimeout == 0 && i.Deadline.IsZero() && !i.TimeoutsFromAccept
}

// NewState returns the state of the run before it has started.
func (i *Invocation) NewState(instance store.Instance) *interpreter.State {
	s := interpreter.NewState(instance.Namespace, instance.ID)
	s.Metadata = interpreter.Metadata{BusinessKey: i.BusinessKey, Labels: i.Labels}
	s.Keys.Run = i.Keys
	if i.Fork != nil {
		s.Keys = i.Fork.Keys
	}
	return s
}

// ForkedFrom is the run from which another one was forked.
type ForkedFrom struct {
	Instance store.Instance          `json:"i"`
	Task     interpreter.Path        `json:"t,omitempty"` // at which it continues; empty for the start
	State    interpreter.StoredState `json:"s,omitzero"`  // of that run before the task
	At       time.Time               `json:"a,omitzero"`  // when that was
	Timeless bool                    `json:"n,omitempty"` // the deadlines of that run are not the fork's
	Keys     interpreter.Keys        `json:"k,omitzero"`  // of its calls
	Claim    string                  `json:"c,omitempty"` // random: of two that would start the same fork, one does
}

// Parent is the task that waits for a child workflow.
type Parent struct {
	Instance store.Instance       `json:"i"`
	Effect   interpreter.EffectID `json:"e"`
	Deadline time.Time            `json:"d,omitzero"` // of the parent's scopes: the child ends with them
}

// ParseInvocation parses the Invocation that a store returns.
func ParseInvocation(data []byte) (*Invocation, error) {
	i := new(Invocation)
	if err := form.Unmarshal("the invocation", form.Invocation, data, i); err != nil {
		return nil, fmt.Errorf("read how the run was started: %w", err)
	}
	return i, nil
}

// Encode returns the invocation as stores keep it.
func (i *Invocation) Encode() ([]byte, error) { return form.Marshal(form.Invocation, i) }

// digest returns a short digest of data.
func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// StartRequest returns the start request for a store with the number of partitions.
func (i *Invocation) StartRequest(instance store.Instance, set limits.Set, partitions int) (store.Start, error) {
	data, err := i.Encode()
	if err != nil {
		return store.Start{}, fmt.Errorf("write how the run was started: %w", err)
	}
	deadline := interpreter.Earlier(i.Deadline, i.inheritedDeadline())
	start := store.Start{Instance: instance, Invocation: data, Deadline: deadline, Urgent: i.TimeoutsFromAccept || !deadline.IsZero()}
	if i.Family != nil {
		start.Family, start.FamilyMax = *i.Family, share(set.Max(limits.Family), partitions)
	}
	return start, nil
}

// share returns how many runs of a family may start in one of some partitions, if n may start in all of them. Families are distributed
// randomly: the share has room for random deviations, so that a smaller family is not refused.
func share(n, partitions int) int {
	if partitions <= 1 {
		return n
	}
	even := float64(n) / float64(partitions)
	return min(n, int(math.Ceil(even+6*math.Sqrt(even)))+1)
}

// Start returns the first event of the run. Timeouts of a run that ended before its start time never counted.
func (i *Invocation) Start(p *interpreter.Program, r store.Lifecycle) interpreter.Start {
	accepted := r.Created
	ev := interpreter.Start{
		Input: i.Input.V, TimeoutReplaced: i.ExecutionTimeout != 0 || !i.Deadline.IsZero(), StartedAt: r.Started, Depth: i.Depth, Actor: i.Actor,
	}
	from := ev.StartedAt
	if i.TimeoutsFromAccept {
		from, ev.TimeoutFrom = accepted, accepted
	}
	if starter, ok := i.Starter(); ok {
		ev.By = starter.String()
	}
	if f := i.Fork; f != nil && f.Task != "" {
		ev.Fork = &interpreter.ForkPoint{State: f.State, At: f.At, Timeless: f.Timeless, Run: f.Instance.String(), Task: f.Task}
	}
	until := func(kind string, at time.Time) {
		if !from.IsZero() {
			ev.Deadlines = append(ev.Deadlines, interpreter.Deadline{Kind: kind, At: at, StartedAt: from})
		}
	}
	fixed := func(at time.Time, inherited bool) {
		if !at.IsZero() {
			ev.Deadlines = append(ev.Deadlines, interpreter.Deadline{Kind: interpreter.DeadlineExecution, At: at, StartedAt: accepted, Fixed: true, Inherited: inherited})
		}
	}
	if at := i.executionEnd(p.Workflow, from); !at.IsZero() {
		until(interpreter.DeadlineExecution, at)
	}
	fixed(i.Deadline, false)
	if at := i.runEnd(p.Workflow, from); !at.IsZero() {
		until(interpreter.DeadlineRun, at)
	}
	fixed(i.inheritedDeadline(), true)
	return ev
}

// inheritedDeadline returns when the run that it ends with ends at the latest; zero for never.
func (i *Invocation) inheritedDeadline() time.Time {
	switch {
	case i.Parent != nil:
		return i.Parent.Deadline
	case i.Beside != nil:
		return i.Beside.Deadline
	}
	return time.Time{}
}
