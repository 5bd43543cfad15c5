package swrun

import (
	"context"

	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// Run is a run in a store: what it is called, and what can be done with it. If there is no such run, its methods return a
// *store.Refusal with the code store.NoSuch; the commands to a run that has ended return one with store.Closed.
type Run struct {
	engine *Engine
	store.Instance
	Again bool // Start has found the run: it was there already
}

// Await waits until the run has ended, and returns how. It works on nothing: if no process works on the store, it waits until ctx ends.
// The error says why there is no output, as that of Document.Run does; a *client.QuarantinedError says that the run does not go on
// before Retry.
func (r *Run) Await(ctx context.Context) (Result, error) {
	outcome, err := r.engine.client.Wait(ctx, r.Instance)
	if err != nil {
		return Result{}, err
	}
	ended := Result(outcome)
	return ended, ended.Err()
}

// Describe returns what the run waits for, until when, and what happens then.
func (r *Run) Describe(ctx context.Context) (*client.Description, error) {
	return r.engine.client.Describe(ctx, r.Instance)
}

// History calls f with each step of the run until now.
func (r *Run) History(ctx context.Context, f func(client.HistoryEntry) error) error {
	_, err := r.engine.client.History(ctx, r.Instance, 0, f)
	return err
}

// Cancel asks the run to end: what is in progress is cancelled.
func (r *Run) Cancel(ctx context.Context, reason string) error {
	return r.engine.client.Cancel(ctx, r.Instance, reason)
}

// Terminate ends the run and everything that it has started.
func (r *Run) Terminate(ctx context.Context, reason string) error {
	return r.engine.client.Terminate(ctx, r.Instance, reason)
}

// Suspend keeps the run's tasks from starting. Its deadlines go on. Suspending a run that is suspended changes nothing.
func (r *Run) Suspend(ctx context.Context, reason string) error {
	return r.engine.client.Suspend(ctx, r.Instance, reason)
}

// Resume lets a suspended run go on. Resuming a run that is not suspended changes nothing.
func (r *Run) Resume(ctx context.Context, reason string) error {
	return r.engine.client.Resume(ctx, r.Instance, reason)
}

// Retry lets a run go on that is quarantined, because it has killed its workers, and forks one that has failed from the task at which it did.
// Any other run is refused as a store.Conflict, and one that has been forked already with a *client.ContinuedError: Fork with Again insists.
func (r *Run) Retry(ctx context.Context, reason string) error {
	_, err := r.engine.client.Retry(ctx, r.Instance, client.RetryOptions{Reason: reason})
	return err
}

// SetDeadline changes when the run, or a task of it that is in progress, ends at the latest. See client.Client.SetDeadline.
func (r *Run) SetDeadline(ctx context.Context, change client.DeadlineChange) (client.MovedDeadline, error) {
	return r.engine.client.SetDeadline(ctx, r.Instance, change)
}

// Fork starts a run that goes on from a task of this one, which stays as it is. See client.Client.Fork.
func (r *Run) Fork(ctx context.Context, o client.ForkOptions) (client.Forked, error) {
	return r.engine.client.Fork(ctx, r.Instance, o)
}

// Migrate has the run go on with another version of its workflow. See client.Client.Migrate.
func (r *Run) Migrate(ctx context.Context, m client.Migration) (client.Migrated, error) {
	return r.engine.client.Migrate(ctx, r.Instance, m)
}

// Delete removes a run that has ended, with its history. Any other run is refused as a store.Conflict.
func (r *Run) Delete(ctx context.Context) error { return r.engine.client.Delete(ctx, r.Instance) }
