package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/internal/progress"
	"github.com/swrun/swrun/internal/remote"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
)

// This file runs a workflow with --id while another process holds the file of the store. That process performs the run.

// runThere starts or continues the run through the holder of the file, and prints its outcome. A *remote.UnreachableError means that the process does
// not hold the file any more.
func (j *job) runThere(ctx context.Context, holder *remote.Deployment, file string) error {
	if err := j.sharable(file); err != nil {
		return err
	}
	if err := j.warnOfFunctions(holder.Host()); err != nil {
		return err
	}
	i, err := j.beginThere(ctx, holder)
	if err != nil {
		return err
	}
	j.keep(i)
	j.show()
	j.say(i.ID + " is performed by the process that holds " + file)
	defer j.listen()()
	outcome, signal, err := j.followThere(ctx, holder, i)
	switch {
	case err != nil:
		return err
	case !outcome.Ended && signal != nil:
		j.say("the run " + i.ID + " continues; swrun output " + j.kept + " --wait waits for it")
		return quietExit(signalExit(signal))
	}
	result := outcome.Outcome()
	if result.Output, err = expr.Normalize(result.Output); err != nil {
		return err
	}
	return j.end(swrun.Result(result), nil)
}

// say prints a line about the run, unless a program reads the output.
func (j *job) say(text string) {
	if j.flags.progress == progress.None || j.flags.progress == progress.JSON || j.flags.errors == "json" {
		return
	}
	fmt.Fprintln(j.program.err, j.program.errStyle().Text(terminal.Printable(text)))
}

// sharable refuses options that only the process that performs a run can have.
func (j *job) sharable(file string) error {
	f := j.flags
	for _, option := range []struct {
		flag  string
		given bool
	}{
		{"--secrets", f.secrets != ""}, {"--js", f.js != "quickjs"}, {"--limit", len(f.limits) > 0}, {"--event", len(f.events) > 0},
		{"--network", f.host.network != swrun.NetworkAny}, {"--proxy", f.host.proxy != ""},
		{"--error-base", f.host.errorTypes.base != ""}, {"--error-alias", len(f.host.errorTypes.aliases) > 0},
	} {
		if option.given {
			return &exitError{
				code: exitStore, message: fmt.Sprintf("%s must be given to the process that holds %s, because that process performs the run", option.flag, file),
				hint: "give it to that process, wait until that process ends, or keep the run elsewhere with --store",
			}
		}
	}
	return nil
}

// beginThere starts the run, or finds the existing run that was started in the same way.
func (j *job) beginThere(ctx context.Context, holder *remote.Deployment) (store.Instance, error) {
	d := j.document.Workflow.Document
	children, err := j.documents.Children(j.document, holder.Host())
	if err != nil {
		return store.Instance{}, duplicateFailure(err)
	}
	options := j.options
	options.ID = j.flags.id
	request, err := api.NewStartRequest(definition.Reference{Namespace: d.Namespace, Name: d.Name, Version: d.Version}, j.input, options)
	if err != nil {
		return store.Instance{}, err
	}
	if request.Definition, err = holder.Define(j.document); err != nil {
		if invalid := invalidated(j.document, err); invalid != nil {
			err = invalid
		}
		return store.Instance{}, err
	}
	if err := holder.DeployAll(ctx, children...); err != nil {
		var other *swrun.DeployedError
		if errors.As(err, &other) {
			return store.Instance{}, otherDocument(other, "the store")
		}
		return store.Instance{}, cmp.Or(invalidAmong(children, err), err)
	}
	run, again, err := holder.Start(ctx, request)
	var refused *api.Problem
	if errors.As(err, &refused) && refused.Name() == "run-exists" {
		return store.Instance{}, j.otherRun(store.Instance{Namespace: d.Namespace, ID: j.flags.id}, refused.Detail)
	}
	if fault := unfitInput(err); fault != nil {
		return store.Instance{}, j.inputRefused(fault)
	}
	if err == nil && again && run.ClosedAt != "" {
		j.endedBefore = api.ParseTime(run.ClosedAt)
	}
	return run.Instance(), err
}

// followThere shows the run until it is ended or a signal arrives.
func (j *job) followThere(ctx context.Context, holder *remote.Deployment, i store.Instance) (api.RunOutcome, os.Signal, error) {
	following, leave := context.WithCancel(ctx)
	defer leave()
	var group sync.WaitGroup
	ended := make(chan error, 1)
	group.Go(func() { ended <- j.readThere(following, holder, i) })
	group.Go(func() { j.watchThere(following, holder, i) })
	stopTicking := j.view.Tick()
	verb, _ := control.VerbNamed(string(store.VerbCancel))
	signal, err := j.await(ctx, ended, leave, func(ctx context.Context) error {
		_, failed := holder.Send(ctx, verb, []store.Instance{i}, twice)
		return failed[0]
	})
	leave()
	group.Wait()
	stopTicking()
	if err != nil && !errors.Is(err, context.Canceled) {
		return api.RunOutcome{}, signal, err
	}
	if signal != nil {
		brief, done := context.WithTimeout(ctx, answerWithin)
		defer done()
		ctx = brief
	}
	outcome, err := holder.Outcome(ctx, i, 0)
	if signal != nil {
		err = nil // a holder that does not answer must not delay the exit
	}
	return outcome, signal, err
}

// readThere shows the records of the run until it is ended.
func (j *job) readThere(ctx context.Context, holder *remote.Deployment, i store.Instance) error {
	q := control.HistoryQuery{Limit: historyPage, Wait: historyWithin}
	for {
		page, err := holder.History(ctx, i, q)
		if err != nil {
			return err
		}
		for _, r := range page.Records {
			j.observe(r.Record())
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			q.Cursor = page.Later
		}
		if q.Cursor == "" {
			return nil
		}
	}
}

// watchThere reports once that the run waits for something that its worker lacks.
func (j *job) watchThere(ctx context.Context, holder *remote.Deployment, i store.Instance) {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		d, err := holder.Describe(ctx, i)
		if err == nil && (d.NoWorker || len(d.Needs) > 0) {
			j.say(i.String() + " does not continue: " + d.Why)
			return
		}
	}
}

// guests are the runs of other processes that this process performs while it holds the file for a run of its own.
type guests struct {
	store   *swrun.Store
	config  swrun.EngineConfig
	until   <-chan struct{} // closed when the work on guests ends
	working sync.WaitGroup

	mu    sync.Mutex
	known map[store.Instance]bool // includes the run of this process itself
}

// take works on a run until it is ended, or until the work on guests ends.
func (g *guests) take(run *swrun.Run) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.known[run.Instance] {
		return
	}
	g.known[run.Instance] = true
	g.working.Go(func() {
		g.perform(run)
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.known, run.Instance)
	})
}

func (g *guests) perform(run *swrun.Run) {
	engine, err := swrun.NewEngine(g.store, g.config)
	if err != nil {
		return // the run of this process has the same configuration
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-g.until:
			cancel()
		case <-ctx.Done():
		}
	})
	watching.Go(func() {
		defer cancel()
		_, _ = engine.Run(run.Namespace, run.ID).Await(ctx) // a process that waits for the run reads its outcome
	})
	_ = engine.WorkOn(ctx, run) // an error of the store ends the run of this process too
	cancel()
	watching.Wait()
}
