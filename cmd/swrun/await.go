package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/faultreport"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// This file waits for the end of runs, for output, wait and history.

// awaited returns how a run has ended; if it has not within a time, that is exit 8.
func (o *operation) awaited(ctx context.Context, i store.Instance, wait time.Duration) (execution.Outcome, error) {
	outcome, done, err := o.ended(ctx, i, wait)
	var stuck *client.QuarantinedError
	if waits := wait > 0 && !o.isLocal(); waits && errors.As(err, &stuck) && !stuck.Ends.IsZero() {
		fmt.Fprintf(o.err, "%s is quarantined: swrun retry lets it run again; otherwise it ends at %s, which is waited for\n", i, api.Time(stuck.Ends))
	} else if done || err != nil {
		return outcome, err
	}
	if wait > 0 && o.isLocal() {
		return outcome, o.unattended(i)
	}
	if wait > 0 {
		waiting, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		var watching sync.WaitGroup
		watching.Go(func() { o.watchWorkers(waiting, i) })
		outcome, err = o.client.Wait(waiting, i)
		over := waiting.Err() != nil && ctx.Err() == nil // then what it was doing may fail in its own way
		cancel()
		watching.Wait()
		if err == nil || !over {
			return outcome, err
		}
	}
	return outcome, o.unfinished(ctx, i)
}

// ended returns how a run has ended, if it has. A store that does not answer keeps who waits no longer than the time that is given.
func (o *operation) ended(ctx context.Context, i store.Instance, wait time.Duration) (execution.Outcome, bool, error) {
	if wait == 0 {
		return o.client.Outcome(ctx, i)
	}
	asking, stop := context.WithTimeout(ctx, max(wait, answerWithin))
	defer stop()
	outcome, done, err := o.client.Outcome(asking, i)
	if err != nil && asking.Err() != nil && ctx.Err() == nil {
		err = o.unfinished(ctx, i)
	}
	return outcome, done, err
}

// unattended is the error of waiting for a run of an embedded store, which only one process at a time can have.
func (o *operation) unattended(i store.Instance) error {
	store := o.flags.storeFlag()
	return &exitError{
		code: exitStore, message: fmt.Sprintf("%s has not ended yet, and nothing can work on it while this command has %s open", i, o.at),
		hint: "swrun run DOCUMENT --id " + i.ID + store + " goes on with it, swrun worker" + store + " with all runs of this store",
	}
}

// unfinished is the error of a run that has not ended. It says so if the reason is that no worker is there.
func (o *operation) unfinished(ctx context.Context, i store.Instance) error {
	ctx, done := context.WithTimeout(ctx, answerWithin) // a store that does not answer keeps nobody waiting
	defer done()
	e := &exitError{code: exitWaited, message: fmt.Sprintf("%s has not ended yet", i), hint: "swrun describe " + i.ID + o.flags.storeFlag() + " shows what it waits for"}
	if o.lacksWorker(ctx, i) {
		e.message += "; " + o.noWorker()
	}
	return e
}

// lacksWorker reports whether it is known that no worker is there for a run.
func (o *operation) lacksWorker(ctx context.Context, i store.Instance) bool {
	d, err := o.client.Describe(ctx, i)
	return err == nil && d.NoWorker
}

// watchEvery is how often who waits for a run looks whether a worker is there.
const watchEvery = time.Second

// watchWorkers says once, as soon as no worker is there for a run, that the run is not going on. It returns when ctx ends.
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
		fmt.Fprintln(o.err, o.errStyle().Text(fmt.Sprintf("%s does not go on: %s; it is waited for", i, o.noWorker())))
	}
}

// endedOtherwise is the error of a run that has ended, but has no output.
func (o *operation) endedOtherwise(i store.Instance, outcome execution.Outcome, code int) error {
	message := fmt.Sprintf("%s is %s%s", i, outcome.Status, because(outcome))
	if outcome.Fault != nil {
		message += ": " + outcome.Fault.Error()
	}
	return &exitError{code: code, message: message, hint: "swrun history " + i.ID + o.flags.storeFlag() + " shows how it came to that"}
}

// because says why a run was cancelled, if that was said.
func because(outcome execution.Outcome) string {
	if outcome.Reason == "" {
		return ""
	}
	return ": " + terminal.Printable(outcome.Reason)
}

// codeOf returns the code for how a run has ended: the one that swrun run --id ends with, too.
func (o *operation) codeOf(ctx context.Context, i store.Instance, outcome execution.Outcome) (int, error) {
	code := outcomeExit(outcome, false, nil)
	if code != exitInput {
		return code, nil
	}
	started, err := o.tasksStarted(ctx, i)
	return outcomeExit(outcome, started, nil), err
}

// tasksStarted reports whether a run has come as far as its tasks.
func (o *operation) tasksStarted(ctx context.Context, i store.Instance) (bool, error) {
	history := faultreport.NewHistory()
	known := errors.New("a task has started")
	_, err := o.client.History(ctx, i, 0, func(e client.HistoryEntry) error {
		for _, r := range e.Events {
			history.Observe(r)
		}
		if history.TasksStarted() {
			return known // the rest of it need not be read
		}
		return nil
	})
	if errors.Is(err, known) {
		err = nil
	}
	return history.TasksStarted(), err
}
