package client

import (
	"context"
	"fmt"
	"slices"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// This file ensures that a forked run is continued only once. The record of the run names the fork that continues it before the fork
// starts. A concurrent caller starts the same fork, or no fork.

// ContinuedError reports that another run continues, or continued, the run that is to be forked.
type ContinuedError struct {
	Instance store.Instance // the run
	Fork     store.Instance // the continuing run
	Status   string         // of the fork; empty if it was deleted
	failed   bool
	task     interpreter.Path // task at which the fork continues
}

// answers returns the fork if it is the requested one: a repeated request with the same ID, whose first answer may have been lost.
func (e *ContinuedError) answers(o ForkOptions) (Forked, bool) {
	return Forked{Instance: e.Fork, Task: e.task}, e.Status != "" && e.Fork.ID == o.ID && !o.Dry
}

func (e *ContinuedError) Error() string {
	if e.Status == "" {
		return fmt.Sprintf("run %s went on as %s, which was deleted", e.Instance, e.Fork)
	}
	return fmt.Sprintf("run %s goes on as %s already, which is %s", e.Instance, e.Fork, e.Status)
}

// Help returns the remedy.
func (e *ContinuedError) Help() string {
	again := "to repeat its calls under new idempotency keys, ask for it again (--again, \"again\": true)"
	if e.failed {
		return "retry " + e.Fork.String() + " instead; " + again
	}
	return again
}

// Unwrap makes it a Conflict, as other refusals are that concern the state of a run.
func (e *ContinuedError) Unwrap() error {
	return &store.Refusal{Code: store.Conflict, Detail: "run " + e.Instance.String(), Reason: "goes on as another one already"}
}

// claim is a fork that is about to continue a run.
type claim struct {
	of, fork store.Instance
	after    string // the fork that continued the run before; empty for none
}

// claimable returns the fork that may continue a run. A run that is already continued is refused with a *ContinuedError, unless the options
// request another fork.
func (c *Client) claimable(ctx context.Context, d *Description, o ForkOptions) (claim, error) {
	cl := claim{of: d.Instance, fork: store.Instance{Namespace: d.Instance.Namespace, ID: o.ID}, after: d.Lifecycle.Continuation}
	if o.ID != "" {
		if err := cl.fork.Check(); err != nil {
			return cl, NewOptionError("id", err)
		}
	}
	if !o.Again {
		begun, pending, err := c.continued(ctx, d)
		switch {
		case err != nil:
			return cl, err
		case begun != nil:
			if err := c.noteBegun(ctx, d, begun); err != nil {
				return cl, err
			}
			return cl, begun
		case pending && o.ID != "" && o.ID != cl.after:
			return cl, &ContinuedError{Instance: d.Instance, Fork: store.Instance{Namespace: d.Instance.Namespace, ID: cl.after}, Status: string(interpreter.StatusPending)}
		case pending: // the requesting process may have been lost before the start
			cl.fork.ID = cl.after
		}
	}
	if cl.fork.ID == "" {
		cl.fork.ID = c.forkID(ctx, d.Instance)
	}
	_, err := c.store.Load(ctx, cl.fork)
	switch {
	case err == nil && !o.Again: // another caller may have started it a moment ago
		return cl, c.overtaken(ctx, cl, refused(cl.fork, "is there already"))
	case err == nil:
		return cl, refused(cl.fork, "is there already")
	case store.RefusedAs(err) == store.NoSuch:
		return cl, nil
	}
	return cl, err
}

// continued returns the *ContinuedError of a run that is or was continued by a fork; nil otherwise. Pending reports that a fork is recorded
// but has not started.
func (c *Client) continued(ctx context.Context, d *Description) (begun *ContinuedError, pending bool, err error) {
	noted := store.Instance{Namespace: d.Instance.Namespace, ID: d.Lifecycle.Continuation}
	if noted.ID == "" && len(d.Forks) > 0 { // it was forked by a version whose records did not contain the continuation
		noted = d.Forks[len(d.Forks)-1]
	}
	if noted.ID == "" {
		return nil, false, nil
	}
	begun = &ContinuedError{Instance: d.Instance, Fork: noted}
	l, err := c.store.Load(ctx, noted)
	switch {
	case store.RefusedAs(err) == store.NoSuch && slices.Contains(d.Forks, noted):
		return begun, false, nil
	case store.RefusedAs(err) == store.NoSuch:
		return nil, true, nil
	case err != nil:
		return nil, false, err
	}
	info, err := execution.InvocationOf(noted, l.Invocation)
	if err != nil {
		return nil, false, err
	}
	if info.Fork == nil || info.Fork.Instance != d.Instance { // another caller started a run with that ID
		return nil, false, nil
	}
	status := l.Lifecycle.Status
	begun.Status, begun.task = statusText(&l.Lifecycle), info.Fork.Task
	begun.failed = status.Final() && status != interpreter.StatusCompleted
	return begun, false, nil
}

// statusText returns the status of a run for people.
func statusText(r *store.Lifecycle) string {
	if r.Reason == store.Quarantined {
		return store.Quarantined
	}
	return string(r.Status)
}

// forkID returns an ID for a fork without a given name: the ID of the run with the number of the fork.
func (c *Client) forkID(ctx context.Context, i store.Instance) string {
	forks, err := c.Forks(ctx, i)
	id := fmt.Sprintf("%s~%d", i.ID, len(forks)+1)
	if _, there := c.store.Load(ctx, store.Instance{Namespace: i.Namespace, ID: id}); err != nil || store.RefusedAs(there) != store.NoSuch || len(id) > c.limits.Max(limits.ID) {
		return newID()
	}
	return id
}

// startFork records that a fork continues a run, and starts it.
func (c *Client) startFork(ctx context.Context, cl claim, info *execution.Invocation) error {
	start, err := info.StartRequest(cl.fork, c.limits, c.store.Layout().Partitions)
	if err != nil {
		return err
	}
	if err := c.limits.Check(limits.State, len(start.Invocation)); err != nil {
		return limited("state", err)
	}
	note := store.Command{To: cl.of, ID: c.nonce(), Verb: store.VerbContinue, Continuation: cl.fork.ID, After: cl.after}
	if err := c.store.Command(ctx, note); err != nil {
		return c.overtaken(ctx, cl, err)
	}
	if _, err := c.store.Start(ctx, start); err != nil {
		return c.overtaken(ctx, cl, err)
	}
	return c.noteFork(ctx, cl.of, cl.fork)
}

// overtaken returns the reason why a fork did not start. If another caller forks the run concurrently, the error is a *ContinuedError.
func (c *Client) overtaken(ctx context.Context, cl claim, err error) error {
	if store.RefusedAs(err) != store.Conflict {
		return err
	}
	l, failed := c.store.Load(ctx, cl.of)
	if failed != nil {
		return failed
	}
	begun, pending, failed := c.continued(ctx, &Description{Instance: cl.of, Lifecycle: l.Lifecycle})
	switch {
	case failed != nil:
		return failed
	case begun != nil:
		return begun
	case pending:
		return &ContinuedError{Instance: cl.of, Fork: store.Instance{Namespace: cl.of.Namespace, ID: l.Lifecycle.Continuation}, Status: string(interpreter.StatusPending)}
	}
	return refused(cl.fork, "is there already")
}

// noteBegun records a started fork, unless it is recorded. The process that started it may have been lost before the record, or may have
// been a version of swrun that did not record it.
func (c *Client) noteBegun(ctx context.Context, d *Description, begun *ContinuedError) error {
	if d.Lifecycle.Continuation == "" {
		note := store.Command{To: d.Instance, ID: c.nonce(), Verb: store.VerbContinue, Continuation: begun.Fork.ID}
		if err := c.store.Command(ctx, note); err != nil && store.RefusedAs(err) != store.Conflict { // a concurrent caller recorded it
			return err
		}
	}
	if begun.Status == "" || slices.Contains(d.Forks, begun.Fork) {
		return nil
	}
	return c.noteFork(ctx, d.Instance, begun.Fork)
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
