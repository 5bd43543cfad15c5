package swrun

import (
	"context"

	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// Run is the handle of a run in a store: its name and its operations. If the run does not exist, its methods return a *store.Refusal with the code
// store.NoSuch. A command to an ended run returns one with store.Closed.
type Run struct {
	engine *Engine
	store.Instance
	Again bool // Start found the run: it existed already
}

// Await waits until the run is ended, and returns its result. It works on no run: if no process works on the store, it waits until ctx ends. The
// error explains the missing output, as the error of Document.Run does. A *client.QuarantinedError means that the run does not continue before Retry.
func (r *Run) Await(ctx context.Context) (Result, error) {
	outcome, err := r.engine.client.Wait(ctx, r.Instance)
	if err != nil {
		return Result{}, err
	}
	ended := Result(outcome)
	return ended, ended.Err()
}

// Describe returns the waits of the run, their deadlines, and the consequence of each deadline.
func (r *Run) Describe(ctx context.Context) (*client.Description, error) {
	return r.engine.client.Describe(ctx, r.Instance)
}

// History calls f with each step of the run until now.
func (r *Run) History(ctx context.Context, f func(client.HistoryEntry) error) error {
	_, err := r.engine.client.History(ctx, r.Instance, 0, f)
	return err
}

// Cancel asks the run to end: tasks in progress are cancelled.
func (r *Run) Cancel(ctx context.Context, reason string) error {
	return r.engine.client.Cancel(ctx, r.Instance, reason)
}

// Terminate ends the run and everything that it started.
func (r *Run) Terminate(ctx context.Context, reason string) error {
	return r.engine.client.Terminate(ctx, r.Instance, reason)
}

// Suspend keeps the run's tasks from starting. Its deadlines keep running. Suspending a suspended run changes nothing.
func (r *Run) Suspend(ctx context.Context, reason string) error {
	return r.engine.client.Suspend(ctx, r.Instance, reason)
}

// Resume lets a suspended run continue. Resuming a run that is not suspended changes nothing.
func (r *Run) Resume(ctx context.Context, reason string) error {
	return r.engine.client.Resume(ctx, r.Instance, reason)
}

// Retry lets a run continue that is quarantined because it killed its workers, and forks a failed run from the task that failed. Any other run is
// refused as a store.Conflict, and a run that was forked already with a *client.ContinuedError: Fork with Again overrides this.
func (r *Run) Retry(ctx context.Context, reason string) error {
	_, err := r.engine.client.Retry(ctx, r.Instance, client.RetryOptions{Reason: reason})
	return err
}

// SetDeadline changes the latest end of the run, or of a task that is in progress. See client.Client.SetDeadline.
func (r *Run) SetDeadline(ctx context.Context, change client.DeadlineChange) (client.MovedDeadline, error) {
	return r.engine.client.SetDeadline(ctx, r.Instance, change)
}

// Fork starts a run that continues from a task of this run, which stays unchanged. See client.Client.Fork.
func (r *Run) Fork(ctx context.Context, o client.ForkOptions) (client.Forked, error) {
	return r.engine.client.Fork(ctx, r.Instance, o)
}

// Migrate lets the run continue with another version of its workflow. See client.Client.Migrate.
func (r *Run) Migrate(ctx context.Context, m client.Migration) (client.Migrated, error) {
	return r.engine.client.Migrate(ctx, r.Instance, m)
}

// Delete removes an ended run with its history. Any other run is refused as a store.Conflict.
func (r *Run) Delete(ctx context.Context) error { return r.engine.client.Delete(ctx, r.Instance) }
