package client

import (
	"context"
	"fmt"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// ForkOptions specify how a fork continues a run.
type ForkOptions struct {
	ID      string      // of the fork; a new one if empty
	From    dsl.Pointer // the task at which the fork continues; empty for the failed task
	Version string      // of the workflow; empty for the definition that the run has
	Input   *any        // input of this task; nil for its original input
	Context *any        // $context at this task; nil for the original one

	ExecutionTimeout time.Duration // in the place of the time that the run had left
	Deadline         time.Time     // the same
	NoDeadline       bool          // the execution has all the time

	Again bool // allows a fork of a run that is already continued; its calls then get keys of their own
	Dry   bool // starts nothing and only returns the plan
}

// Forked is a run that was forked from another one.
type Forked struct {
	Instance store.Instance
	Task     interpreter.Path // at which the fork continues; empty for the start
	Repeats  []Repeated
}

// Fork starts a run that continues at a task of another run with the data at this point. The input of the task and the version of the
// workflow may be replaced. The other run is unchanged. The scopes of the fork have the time that remained at this point. Branches beside
// the task that completed later remain completed.
//
// A run can be continued once: a second fork is refused with a *ContinuedError unless the options allow it (Again). Requesting a fork again
// by its ID returns that fork.
func (c *Client) Fork(ctx context.Context, i store.Instance, o ForkOptions) (Forked, error) {
	if err := o.check(); err != nil {
		return Forked{}, err
	}
	d, err := c.Describe(ctx, i)
	if err != nil {
		return Forked{}, err
	}
	claim, err := c.claimable(ctx, d, o)
	var begun *ContinuedError
	if errors.As(err, &begun) {
		if forked, ok := begun.answers(o); ok {
			return forked, nil
		}
	}
	if err != nil {
		return Forked{}, err
	}
	forked, info, err := c.planFork(ctx, d, claim.fork, o)
	if err != nil || o.Dry {
		return forked, err
	}
	info.Fork.Claim = c.nonce()
	return forked, c.startFork(ctx, claim, info)
}

// planFork returns the invocation of a fork, and the effects that it repeats.
func (c *Client) planFork(ctx context.Context, d *Description, fork store.Instance, o ForkOptions) (Forked, *execution.Invocation, error) {
	steps, err := c.steps(ctx, d.Instance)
	if err != nil {
		return Forked{}, nil, err
	}
	task, err := d.forkTask(o.From, steps)
	if err != nil {
		return Forked{}, nil, err
	}
	info, err := c.forkInvocation(ctx, d, o)
	if err != nil {
		return Forked{}, nil, err
	}
	info.Fork.Task = task
	forked := Forked{Instance: fork, Task: task}
	if task == "" {
		if err = startAgain(info, d, o); err == nil {
			err = c.fits(ctx, info)
		}
	} else {
		forked.Repeats, err = c.forkState(ctx, d, info, o, steps)
	}
	if err != nil {
		return Forked{}, nil, err
	}
	if !o.Again && d.Lifecycle.Status.Final() && task != "" {
		info.Fork.Keys = keptKeys(d, fork, steps, forked.Repeats)
	}
	if len(forked.Repeats) > 0 {
		program, err := c.program(ctx, info)
		if err != nil {
			return Forked{}, nil, err
		}
		if forked.Repeats, err = c.withChildren(ctx, program.Workflow, forked.Repeats); err != nil {
			return Forked{}, nil, err
		}
	}
	return forked, info, c.boundedFork(ctx, fork.Namespace, info)
}

// check reports options that cannot be.
func (o ForkOptions) check() error {
	ways := 0
	for _, given := range []bool{o.ExecutionTimeout != 0, !o.Deadline.IsZero(), o.NoDeadline} {
		if given {
			ways++
		}
	}
	if ways > 1 {
		return &OptionError{Field: "deadline", Detail: "must be one of a timeout, a deadline and none"}
	}
	return StartOptions{ExecutionTimeout: o.ExecutionTimeout}.Check()
}

// NotFailedError is the refusal of a fork without a task, of a run that did not fail.
type NotFailedError struct {
	Instance store.Instance
	Status   string
	Last     dsl.Pointer // the task that began last; empty if none began
}

func notFailed(d *Description, steps []interpreter.HistoryStep) error {
	return &NotFailedError{d.Instance, d.Status, interpreter.LastStarted(steps)}
}

func (e *NotFailedError) Error() string {
	return fmt.Sprintf("run %s is %s, and has not failed at any task", e.Instance, e.Status)
}

// Help returns the remedy.
func (e *NotFailedError) Help() string {
	if e.Last == "" {
		return "wait until a task begins"
	}
	return fmt.Sprintf("name a task for the fork, for example the last one: --from %s (\"from\": %q)", e.Last, e.Last)
}

// Unwrap returns a Conflict.
func (e *NotFailedError) Unwrap() error { return refused(e.Instance, "is %s", e.Status) }

// forkTask returns the occurrence of a task at which a fork continues; empty for the start of the workflow.
func (d *Description) forkTask(from dsl.Pointer, steps []interpreter.HistoryStep) (interpreter.Path, error) {
	if from == "" {
		switch {
		case !d.Lifecycle.Status.Final() || d.Lifecycle.Status == interpreter.StatusCompleted:
			return "", notFailed(d, steps)
		case len(steps) == 0:
			return "", nil
		}
		failed, ok := interpreter.FailedTask(steps)
		if !ok && !interpreter.HasTasks(steps) {
			return "", nil
		}
		if !ok {
			return "", notFailed(d, steps)
		}
		from = failed.Pointer
	}
	path, ok := interpreter.FirstAttempt(steps, from)
	if !ok {
		return "", refused(d.Instance, "has never begun a task %s", from)
	}
	return path, nil
}

// forkInvocation returns the invocation of a fork without the state.
func (c *Client) forkInvocation(ctx context.Context, d *Description, o ForkOptions) (*execution.Invocation, error) {
	was := d.Invocation
	info := &execution.Invocation{
		Workflow: was.Workflow, Definition: was.Definition, Input: was.Input, BusinessKey: was.BusinessKey, Labels: was.Labels,
		RunTimeout: was.RunTimeout, ExecutionTimeout: o.ExecutionTimeout, Deadline: o.Deadline,
		Fork: &execution.ForkedFrom{Instance: d.Instance, Timeless: o.NoDeadline},
	}
	if o.Version == "" {
		return info, nil
	}
	var err error
	info.Workflow.Version = o.Version
	info.Workflow, info.Definition, err = definition.Resolve(ctx, c.store, info.Workflow)
	return info, err
}

// startAgain has a fork begin where the workflow begins.
func startAgain(info *execution.Invocation, d *Description, o ForkOptions) error {
	if o.Context != nil {
		return &OptionError{Field: "context", Detail: "is empty at the start of a workflow: specify the task at which the fork continues"}
	}
	if o.Input != nil {
		info.Input = interpreter.Value{V: *o.Input}
	}
	if o.ExecutionTimeout == 0 && o.Deadline.IsZero() && !o.NoDeadline {
		info.ExecutionTimeout = d.Invocation.ExecutionTimeout
	}
	return nil
}

// forkState computes the state at which a fork continues, and returns the repeated effects.
func (c *Client) forkState(ctx context.Context, d *Description, info *execution.Invocation, o ForkOptions, steps []interpreter.HistoryStep) ([]Repeated, error) {
	task := info.Fork.Task
	past, err := c.Past(ctx, d, steps)
	if err != nil {
		return nil, err
	}
	was, err := past.ForkAt(task)
	if err != nil {
		return nil, refused(d.Instance, "cannot be forked from %s: %s", task, err)
	}
	s := was.State
	if o.Input != nil {
		s.EditInput(was.Program, task, *o.Input)
	}
	if o.Context != nil {
		s.EditContext(was.Program, task, *o.Context)
	}
	program, err := c.program(ctx, info)
	if err != nil {
		return nil, err
	}
	if err := interpreter.CheckMoves(was.Program, program, s, nil); err != nil {
		return nil, refused(d.Instance, "cannot be forked from %s: %s", task, err)
	}
	if info.ExecutionTimeout == 0 && info.Deadline.IsZero() && !info.Fork.Timeless {
		for _, in := range s.Deadlines {
			if in.Fixed && !in.Inherited && in.Kind != interpreter.DeadlineRun && !in.At.After(d.At) {
				return nil, refused(d.Instance, "had a deadline at %s, which has passed: give the fork another one, or none", clockTime(in.At))
			}
		}
	}
	repeats := repeated(was, steps, task)
	nameCalls(was.Program, repeats)
	info.Fork.At = was.At
	if info.Fork.State, err = s.Snapshot(); err != nil {
		return nil, err
	}
	return repeats, nil
}
