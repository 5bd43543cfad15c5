package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// This file waits for the end of runs, for output, wait and history.

// awaited returns the outcome of a run; exit 8 if the run is not ended within a time.
func (o *operation) awaited(ctx context.Context, run control.RunOf, wait time.Duration) (api.RunOutcome, error) {
	i := run.Execution
	outcome, err := o.ended(ctx, run, wait)
	switch {
	case outcome.Ended || err != nil:
		return outcome, err
	case outcome.Status == store.Quarantined && (wait == 0 || o.isLocal() || outcome.EndsAt == ""):
		return outcome, quarantined(i, outcome)
	case wait == 0:
		return outcome, o.unfinished(ctx, i)
	case o.isLocal():
		return outcome, o.unattended(i)
	case outcome.Status == store.Quarantined:
		fmt.Fprintf(o.err, "%s is quarantined: swrun retry %s%s lets it run again; the wait continues until it ends at %s\n",
			i, terminal.ShellWord(i.ID), o.flags.target(), outcome.EndsAt)
	}
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var watching sync.WaitGroup
	watching.Go(func() { o.watchWorkers(waiting, i) })
	outcome, err = o.deployment.OutcomeOf(waiting, run, wait)
	over := waiting.Err() != nil && ctx.Err() == nil // then the interrupted call may fail in any way
	cancel()
	watching.Wait()
	switch {
	case outcome.Ended, err != nil && !over:
		return outcome, err
	case outcome.Status == store.Quarantined && outcome.EndsAt == "":
		return outcome, quarantined(i, outcome)
	}
	if ctx.Err() != nil {
		return outcome, context.Cause(ctx)
	}
	return outcome, o.unfinished(ctx, i)
}

// quarantined returns the error of a quarantined run, which no worker works on.
func quarantined(i store.Instance, outcome api.RunOutcome) error {
	return &client.QuarantinedError{Instance: i, Ends: api.ParseTime(outcome.EndsAt)}
}

// ended returns the outcome of a run, if it is ended. A store that does not answer delays the caller no longer than the given time.
func (o *operation) ended(ctx context.Context, run control.RunOf, wait time.Duration) (api.RunOutcome, error) {
	if wait == 0 {
		return o.deployment.OutcomeOf(ctx, run, 0)
	}
	asking, stop := context.WithTimeout(ctx, max(wait, answerWithin))
	defer stop()
	outcome, err := o.deployment.OutcomeOf(asking, run, 0)
	if err != nil && asking.Err() != nil && ctx.Err() == nil {
		err = o.unfinished(ctx, run.Execution)
	}
	return outcome, err
}

// unattended returns the error of waiting for a run of an embedded store, which only one process at a time can hold.
func (o *operation) unattended(i store.Instance) error {
	store := o.flags.storeFlag()
	return &exitError{
		code: exitStore, message: fmt.Sprintf("%s is still in progress, and no worker can continue it while this command has %s open", i, o.at),
		hint: "swrun run DOCUMENT --id " + i.ID + store + " continues this run, swrun worker" + store + " all runs of this store",
	}
}

// unfinished returns the error of a run that is not ended. It names a missing worker as the reason.
func (o *operation) unfinished(ctx context.Context, i store.Instance) error {
	ctx, done := context.WithTimeout(ctx, answerWithin) // a store that does not answer must not delay the caller
	defer done()
	e := &exitError{code: exitWaited, message: fmt.Sprintf("%s is still in progress", i), hint: "swrun describe " + terminal.ShellWord(i.ID) + o.flags.target() + " shows the reason of its wait"}
	if o.lacksWorker(ctx, i) {
		e.message += "; " + o.noWorker()
	}
	return e
}

// lacksWorker reports whether a run is known to have no worker.
func (o *operation) lacksWorker(ctx context.Context, i store.Instance) bool {
	outcome, err := o.deployment.Outcome(ctx, i, 0)
	return err == nil && outcome.NoWorker
}

// watchEvery is the interval at which a command that waits for a run checks for a worker.
const watchEvery = time.Second

// watchWorkers reports once, as soon as a run has no worker, that the run does not continue. It returns when ctx ends.
func (o *operation) watchWorkers(ctx context.Context, i store.Instance) {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for !o.lacksWorker(ctx, i) {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
	if ctx.Err() == nil {
		fmt.Fprintln(o.err, o.errStyle().Text(fmt.Sprintf("%s does not continue: %s; the wait continues", i, o.noWorker())))
	}
}

// endedOtherwise returns the error of an ended run without output.
func (o *operation) endedOtherwise(i store.Instance, outcome api.RunOutcome) error {
	message := fmt.Sprintf("%s is %s%s", i, outcome.Status, because(outcome))
	if fault := api.ParseError(outcome.Error); fault != nil {
		message += ": " + fault.Error()
	}
	return &exitError{code: outcomeExit(outcome, nil), message: message, hint: "swrun history " + terminal.ShellWord(i.ID) + o.flags.target() + " shows the cause"}
}

// because returns the reason of a cancellation, if it was given.
func because(outcome api.RunOutcome) string {
	if outcome.Reason == "" {
		return ""
	}
	return ": " + terminal.Printable(outcome.Reason)
}
