package client

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// ForkOptions say how a run goes on that is forked from another one.
type ForkOptions struct {
	ID      string      // of the fork; a new one if empty
	From    dsl.Pointer // the task from which it goes on; empty for the one at which the run failed
	Version string      // of the workflow; empty for the definition that the run has
	Input   *any        // of the task from which it goes on; nil for the one that it had
	Context *any        // $context at that task; nil for the one that it had

	ExecutionTimeout time.Duration // in the place of the time that the run had left
	Deadline         time.Time     // the same
	NoDeadline       bool          // the execution has all the time
}

// Forked is a run that was forked from another one.
type Forked struct {
	Instance store.Instance
	Task     interpreter.Path // from which it goes on; empty for the start
	Repeats  []Repeated
}

// Repeated is an effect of a run that a fork of it is likely to have again, with another idempotency key.
type Repeated struct {
	Kind    dsl.Kind
	Pointer dsl.Pointer
	Path    interpreter.Path
	Outcome string // succeeded, failed, or unknown
}

// The outcomes of effects.
const (
	OutcomeSucceeded = "succeeded"
	OutcomeFailed    = "failed"
	OutcomeUnknown   = "unknown"
)

// Fork starts a run that goes on from a task of another one: with the data that it had there, maybe another input of the task, and maybe
// another version of the workflow. The other run stays as it is. Time that its scopes had left there they have now.
func (c *Client) Fork(ctx context.Context, i store.Instance, o ForkOptions) (Forked, error) {
	if err := o.check(); err != nil {
		return Forked{}, err
	}
	d, err := c.Describe(ctx, i)
	if err != nil {
		return Forked{}, err
	}
	steps, err := c.steps(ctx, i)
	if err != nil {
		return Forked{}, err
	}
	task, err := d.forkTask(o.From, steps)
	if err != nil {
		return Forked{}, err
	}
	info, err := c.forkInvocation(ctx, d, o)
	if err != nil {
		return Forked{}, err
	}
	info.Fork.Task = task
	forked := Forked{Instance: store.Instance{Namespace: i.Namespace, ID: o.ID}, Task: task}
	if forked.Instance.ID == "" {
		forked.Instance.ID = c.forkID(ctx, i)
	}
	if err := forked.Instance.Check(); err != nil {
		return Forked{}, NewOptionError("id", err)
	}
	if task == "" {
		err = startAgain(info, d, o)
	} else {
		forked.Repeats, err = c.forkState(ctx, d, info, o, steps)
	}
	if err != nil {
		return Forked{}, err
	}
	return forked, c.startFork(ctx, forked.Instance, info)
}

// forkID returns an id for a fork of a run that nobody has named: that of the run with the number of the fork.
func (c *Client) forkID(ctx context.Context, i store.Instance) string {
	forks, err := c.Forks(ctx, i)
	id := fmt.Sprintf("%s~%d", i.ID, len(forks)+1)
	if _, there := c.store.Load(ctx, store.Instance{Namespace: i.Namespace, ID: id}); err != nil || store.RefusedAs(there) != store.NoSuch || len(id) > c.limits.Max(limits.ID) {
		return newID()
	}
	return id
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

// forkTask returns the occurrence of a task from which a fork goes on; empty for the start of the workflow.
func (d *Description) forkTask(from dsl.Pointer, steps []interpreter.HistoryStep) (interpreter.Path, error) {
	if from == "" {
		switch {
		case !d.Lifecycle.Status.Final() || d.Lifecycle.Status == interpreter.StatusCompleted:
			return "", refused(d.Instance, "is %s, and has not failed at any task: say from which one the fork goes on", d.Status)
		case len(steps) == 0:
			return "", nil
		}
		failed, ok := interpreter.FailedTask(steps)
		if !ok && !interpreter.HasTasks(steps) {
			return "", nil
		}
		if !ok {
			return "", refused(d.Instance, "has not failed at a task: say from which one the fork goes on")
		}
		from = failed.Pointer
	}
	path, ok := interpreter.FirstAttempt(steps, from)
	if !ok {
		return "", refused(d.Instance, "has never begun a task %s", from)
	}
	return path, nil
}

// forkInvocation returns what a fork is started with, but for the state.
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
		return &OptionError{Field: "context", Detail: "is empty at the start of a workflow: say from which task the fork goes on"}
	}
	if o.Input != nil {
		info.Input = interpreter.Value{V: *o.Input}
	}
	if o.ExecutionTimeout == 0 && o.Deadline.IsZero() && !o.NoDeadline {
		info.ExecutionTimeout = d.Invocation.ExecutionTimeout
	}
	return nil
}

// forkState computes the state from which a fork goes on, and returns which effects come again.
func (c *Client) forkState(ctx context.Context, d *Description, info *execution.Invocation, o ForkOptions, steps []interpreter.HistoryStep) ([]Repeated, error) {
	task := info.Fork.Task
	past, err := c.Past(ctx, d, steps)
	if err != nil {
		return nil, err
	}
	was, err := past.Before(task)
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
	program, err := c.programs.Program(ctx, info.Definition)
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
	repeats := repeated(interpreter.OpenTasks(was.Program, s), steps, task)
	info.Fork.At = was.At
	if info.Fork.State, err = s.Snapshot(); err != nil {
		return nil, err
	}
	return repeats, nil
}

// repeated returns the effects that were in flight when a task began, and those that have begun since.
func repeated(open []interpreter.OpenTask, steps []interpreter.HistoryStep, task interpreter.Path) (all []Repeated) {
	at := map[interpreter.EffectID]int{}
	for _, o := range open {
		if o.Effect != 0 {
			at[o.Effect] = len(all)
			all = append(all, Repeated{o.Kind, o.Pointer, o.Path, OutcomeUnknown})
		}
	}
	begun := false
	for _, e := range steps {
		for _, r := range e.Events {
			begun = begun || r.Type == interpreter.TaskStarted && r.Path == task
			if n, known := at[r.Effect]; known && r.Type == interpreter.EffectFinished {
				all[n].Outcome = OutcomeSucceeded
				if r.Error != nil {
					all[n].Outcome = OutcomeFailed
				}
			} else if begun && r.Type == interpreter.EffectStarted && !known {
				at[r.Effect] = len(all)
				all = append(all, Repeated{r.Kind, r.Pointer, r.Path, OutcomeUnknown})
			}
		}
	}
	return slices.DeleteFunc(all, func(r Repeated) bool { return r.Kind == "" })
}

// startFork starts a fork, and notes it at the run that it was forked from.
func (c *Client) startFork(ctx context.Context, i store.Instance, info *execution.Invocation) error {
	if err := c.boundedFork(ctx, i.Namespace, info); err != nil {
		return err
	}
	start, err := info.StartRequest(i, c.limits, c.store.Layout().Partitions)
	if err != nil {
		return err
	}
	if err := c.limits.Check(limits.State, len(start.Invocation)); err != nil {
		return limited("state", err)
	}
	if _, err := c.store.Start(ctx, start); err != nil {
		if store.RefusedAs(err) == store.Conflict {
			err = refused(i, "is there already")
		}
		return err
	}
	return c.noteFork(ctx, info.Fork.Instance, i)
}

// maxForks is how many forks of a run are noted, the newest.
const maxForks = 100

// noteFork notes that one run was forked from another.
func (c *Client) noteFork(ctx context.Context, from, fork store.Instance) error {
	_, err := forks(from).Change(ctx, c.store, func(noted *[]store.Instance) error {
		if !slices.Contains(*noted, fork) { // otherwise the same fork was asked for before
			*noted = append(*noted, fork)
		}
		*noted = (*noted)[max(0, len(*noted)-maxForks):]
		return nil
	}, func(noted *[]store.Instance) bool { return len(*noted) == 0 })
	return err
}

// Forks returns which runs were forked from one, the newest last.
func (c *Client) Forks(ctx context.Context, from store.Instance) ([]store.Instance, error) {
	all, _, err := forks(from).Load(ctx, c.store)
	return all, err
}

// forks is where the registry keeps which runs were forked from one.
func forks(from store.Instance) store.RegistryEntry[[]store.Instance] {
	return store.RegistryEntry[[]store.Instance]{Kind: store.RegistryForks, Key: from.String()}
}
