package interpreter

import (
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
)

// Next is the request of a Body for the next action of the interpreter. Make it with Done, Direct, Fail, Run, Fork, Sleep, Await, Perform or Detach.
type Next struct {
	kind       nextKind
	value      any
	then       *Jump
	err        *errors.Error
	list       *List
	repetition Repetition
	deadline   *Deadline
	vars       Vars
	until      time.Time
	recorded   bool // the wait is in history already
	detach     bool
	waits      bool
	output     any // of a detached effect
	sharedBody any // the part of a request for other readers
	called     any // see taskFrame.Called
}

type nextKind uint8

const (
	nextDone nextKind = iota
	nextFail
	nextRun
	nextFork
	nextSleep
	nextPerform
	nextAwait
	nextContinue
)

// Vars are variables that a body binds for its children, by name without $.
type Vars map[string]any

// Done ends the body with its raw output.
func Done(output any) Next { return Next{kind: nextDone, value: output} }

// Direct ends the body with its raw output and overrides the task's own flow directive. A nil jump overrides nothing.
func Direct(output any, then *Jump) Next { return Next{kind: nextDone, value: output, then: then} }

// Fail ends the body with an error. A nil Instance becomes the task's pointer.
func Fail(err *errors.Error) Next { return Next{kind: nextFail, err: err} }

// Run runs a list of the body's tasks with input; vars are bound for the tasks in it.
func Run(list *List, input any, repetition Repetition, vars Vars) Next {
	return Next{kind: nextRun, list: list, value: input, repetition: repetition, vars: vars}
}

// WithDeadline gives the list that Run started its own deadline, d from now. If the deadline passes, ChildFailed gets a timeout error that names
// kind.
func (n Next) WithDeadline(kind string, d dsl.Duration, now time.Time) Next {
	deadline := newDeadline(kind, d, now)
	n.deadline = &deadline
	return n
}

// Repetition identifies one of several passes over the same list: an iteration of a loop, or a retry. It is zero for a list that runs once, and for a
// first attempt.
type Repetition struct {
	Iteration int // of a loop, counted from 1
	Attempt   int // number of the retry, counted from 1. A retry keeps the idempotency keys of the first attempt
}

// Fork runs every task of a list at the same time, each with input and a context of its own.
func Fork(branches *List, input any) Next { return Next{kind: nextFork, list: branches, value: input} }

// Await waits for the other branches that Fork started.
func Await() Next { return Next{kind: nextAwait} }

// Ends reports whether n ends the body without an error.
func (n Next) Ends() bool { return n.kind == nextDone }

// Sleep waits until a time and then calls Wake.
func Sleep(until time.Time) Next { return Next{kind: nextSleep, until: until} }

// Perform has the kind's performer do the request, which must encode as JSON, and then calls Finish.
func Perform(request any) Next { return Next{kind: nextPerform, value: request} }

// Until specifies the time from which no task needs the effect: the effect is cancelled then, and Wake is called. The zero time means never.
func (n Next) Until(at time.Time) Next {
	n.until = at
	return n
}

// Waiting reports that the effect only waits for data of others, for any time. It takes no slot from effects that work.
func (n Next) Waiting() Next {
	n.waits = true
	return n
}

// Detach has the kind's performer do the request without waiting for it, and ends the body with output.
func Detach(request, output any) Next {
	return Next{kind: nextPerform, value: request, detach: true, output: output}
}

// Sharing names the part of a request that is stored for other readers. It must not contain a secret, except in a text that the task's definition
// contains too.
func (n Next) Sharing(v any) Next {
	n.sharedBody = v
	return n
}
