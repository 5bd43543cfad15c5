package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/audit"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/internal/progress"
	"github.com/swrun/swrun/internal/remote"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// This file runs a workflow with --id or --store: the run is in a store, and the same command continues it.

// durableRun is a run in a store that this process drives.
type durableRun struct {
	*job
	*swrun.Run
	store  *openedStore
	engine *swrun.Engine
}

// durable reports whether the run is in a store.
func (f *runFlags) durable() bool { return f.id != "" || f.store.url != "" }

// runDurable starts or continues the run, and prints its outcome. While another process holds the file of the store, that process performs the run;
// if it ends before the run does, this process continues the run.
func (j *job) runDurable() error {
	ctx, cancel := context.WithCancel(j.program.attributed(context.Background()))
	defer cancel()
	before := j.host
	before.Functions = func(context.Context, string) (map[string][]byte, error) { return nil, interpreter.ErrNotFetched } // the store is not open yet
	if err := j.document.Check(swrun.CheckConfig{Host: before, Fetch: true}); err != nil {
		return refused(j.document)
	}
	at, _ := j.flags.store.location(j.program)
	file, _ := swrun.StoreFile(at)
	err := j.program.shared(ctx, file, j.host,
		func(holder *remote.Deployment) error { return refusalUnlessGone(j.runThere(ctx, holder, file)) },
		func() error { return j.runHere(ctx) })
	return aimed(err, j.flags.store.storeFlag())
}

// refusalUnlessGone is refusalError, except for a server that is not there any more.
func refusalUnlessGone(err error) error {
	if isGone(err) {
		return err
	}
	return refusalError(err)
}

// runHere runs it in this process. If another process holds the file, isHeld returns true for the error.
func (j *job) runHere(ctx context.Context) error {
	return j.flags.store.with(ctx, j.program, func(s *openedStore) error {
		config := swrun.EngineConfig{Host: j.host, Drain: time.Second}
		engine, err := swrun.NewEngine(s.Store, config)
		if err != nil {
			return err
		}
		r := &durableRun{job: j, store: s, engine: engine}
		j.host.Functions = engine.Functions().Load
		if err := j.warnOfFunctions(j.host); err != nil {
			return err
		}
		config.Host.Publish = nil // this run itself is shown
		until := make(chan struct{})
		own := store.Instance{Namespace: j.document.Workflow.Document.Namespace, ID: j.flags.id}
		guests := &guests{store: s.Store, config: config, until: until, known: map[store.Instance]bool{own: true}}
		defer guests.working.Wait()
		defer close(until)
		defer j.program.answerOthers(ctx, s, engine, slog.New(trailHandler{storeLog{j.program}, j.program, s.Store}), func(c *control.Control) { c.Perform = guests.take })()
		if err := r.begin(ctx); err != nil {
			return err
		}
		return r.finish(ctx)
	})
}

// finish drives the run until it is ended, or a signal arrives, and prints the outcome.
func (r *durableRun) finish(ctx context.Context) error {
	j := r.job
	j.show()
	defer j.listen()()
	result, signal, err := r.drive(ctx)
	if err != nil {
		return refusalError(err)
	}
	if signal != nil && !result.Status.Final() {
		return j.program.reportKept(r.Instance, j.flags, j.document, signal)
	}
	return j.end(result, nil)
}

// begin starts the run, or checks that the existing run has the same document and input.
func (r *durableRun) begin(ctx context.Context) error {
	input, options, err := r.takeUp(ctx)
	if err != nil {
		return err
	}
	options.ID, options.Reserved = r.flags.id, true
	r.Run, err = r.engine.StartDocument(ctx, r.document, input, options, r.others...)
	var other *swrun.DeployedError
	var exists *swrun.RunExistsError
	switch {
	case errors.As(err, &other):
		return otherDocument(other, r.store.String())
	case errors.As(err, &exists):
		return r.otherRun(exists.Run, exists.Error())
	case err != nil:
		if invalid := invalidated(r.document, err); invalid != nil { // with functions of the store
			return invalid
		}
		if fault := unfitInput(err); fault != nil {
			return r.inputRefused(fault)
		}
		return refusalError(duplicateFailure(err))
	}
	r.keep(r.Instance)
	return r.reportResumed(ctx)
}

// unfitInput returns the error of a run whose input the workflow refuses; nil if the start failed for another reason.
func unfitInput(err error) *errors.Error {
	var unfit *client.UnfitInputError
	if errors.As(err, &unfit) {
		return unfit.Fault
	}
	var problem *api.Problem
	if errors.As(err, &problem) && problem.Name() == api.ProblemInput {
		return api.ParseError(problem.WorkflowError)
	}
	return nil
}

// inputRefused reports an input that the workflow refuses, in the same way as for a run in memory. No run was started.
func (j *job) inputRefused(fault *errors.Error) error {
	j.id = j.flags.id
	j.show()
	return j.end(swrun.Result{Status: interpreter.StatusFaulted, Fault: fault}, nil)
}

// otherDocument returns the error of a workflow that is deployed already with another document.
func otherDocument(e *swrun.DeployedError, where string) error {
	return &exitError{code: exitConflict, message: fmt.Sprintf("another document is deployed as %s in %s", e.Workflow, where), hint: "change document.version"}
}

// keep records the name of the run in its store.
func (j *job) keep(i store.Instance) {
	j.id = i.ID
	j.kept = terminal.ShellWord(i.ID) + j.flags.store.storeFlag()
}

// otherRun returns the error of an existing run that is a different one.
func (j *job) otherRun(i store.Instance, what string) error {
	return &exitError{code: exitConflict, message: what, hint: "choose another --id; swrun describe " + terminal.ShellWord(i.ID) + j.flags.store.storeFlag() + " shows that run"}
}

// takeUp returns the arguments of the start: input and timeouts of the existing run, unless the command specifies them.
func (r *durableRun) takeUp(ctx context.Context) (any, swrun.StartOptions, error) {
	options, there := r.options, false
	input := r.input
	i := store.Instance{Namespace: r.document.Workflow.Document.Namespace, ID: r.flags.id}
	if i.Check() == nil { // otherwise it is a new run, or its start returns the fault
		var err error
		if input, there, err = r.engine.Client().TakeUp(ctx, i, input, &options); err != nil {
			return nil, options, err
		}
	}
	if there {
		return input, options, nil
	}
	return input, options, r.flags.timeouts.notPast(options, r.program.now())
}

// reportResumed determines whether the run was ended before, and reports on a terminal that it is in progress or completed. The report of any other
// outcome contains this itself.
func (r *durableRun) reportResumed(ctx context.Context) error {
	l, err := r.store.Load(ctx, r.Instance)
	if err == nil && l.Lifecycle.Entries == 0 {
		r.program.note(ctx, r.store.Store, change{operation: "startRun", subject: r.document.String() + " " + r.Instance.String()}, audit.Done)
	}
	if err != nil || l.Lifecycle.Entries == 0 {
		return err
	}
	text := fmt.Sprintf("↻ %s continues where it stopped; its timers and deadlines kept running", r.Instance.ID)
	if l.Lifecycle.Status.Final() {
		r.endedBefore = l.Lifecycle.Closed
		text = fmt.Sprintf("nothing has run now: %s ended before, at %s", r.Instance.ID, api.Time(l.Lifecycle.Closed.Truncate(time.Second)))
	}
	failed := l.Lifecycle.Status.Final() && l.Lifecycle.Status != interpreter.StatusCompleted
	if failed || !r.job.program.errTTY || r.flags.progress == progress.JSON {
		return nil
	}
	look := r.program.errStyle()
	_, err = fmt.Fprintln(r.program.err, look.Text(text))
	return err
}

// drive works on the run until it is ended or a signal arrives, and shows its progress.
func (r *durableRun) drive(ctx context.Context) (swrun.Result, os.Signal, error) {
	working, stop := context.WithCancel(ctx)
	defer stop()
	following, leave := context.WithCancel(ctx)
	defer leave()
	var group sync.WaitGroup
	ended, starts := make(chan error, 2), false
	group.Go(func() {
		if err := r.engine.WorkOn(working, r.Run); err != nil {
			ended <- err
		}
	})
	group.Go(func() {
		ended <- r.engine.Client().Follow(following, r.Instance, 0, func(e client.HistoryEntry) error {
			for _, record := range e.Events {
				r.observe(record)
				starts = starts || record.Type == interpreter.EffectStarted && record.Run != ""
			}
			return nil
		})
	})
	stopTicking := r.view.Tick()
	signal, err := r.await(ctx, ended, stop, func(ctx context.Context) error { return r.Cancel(ctx, twice) })
	if signal == nil && err == nil && starts {
		signal = r.awaitChildren(ctx)
	}
	stop()
	leave()
	hurry := time.AfterFunc(leaveWithin, func() { r.store.Close() }) // closing it again returns the fault
	group.Wait()
	hurry.Stop()
	stopTicking()
	if err != nil && !errors.Is(err, context.Canceled) {
		return swrun.Result{}, signal, err
	}
	return r.outcome(ctx, signal)
}

// outcome returns the outcome of the run, if it is ended. After a signal, the command waits for it only briefly.
func (r *durableRun) outcome(ctx context.Context, signal os.Signal) (swrun.Result, os.Signal, error) {
	if signal == nil {
		outcome, _, err := r.engine.Client().Outcome(ctx, r.Instance)
		return swrun.Result(outcome), nil, err
	}
	brief, done := context.WithTimeout(ctx, answerWithin)
	defer done()
	outcome, _, _ := r.engine.Client().Outcome(brief, r.Instance) // a store that does not answer must not delay the exit
	return swrun.Result(outcome), signal, nil
}

// awaitChildren continues to work until the runs that end with the run are ended, or a signal arrives.
func (r *durableRun) awaitChildren(ctx context.Context) (signal os.Signal) {
	ctx, done := context.WithTimeout(ctx, childrenWithin)
	defer done()
	var left []store.Instance
	waited := make(chan struct{})
	go func() {
		defer close(waited)
		left, _ = r.AwaitChildren(ctx, r.view.Outlast) // the work on a failing store, or the reader of the outcome, reports the failure
	}()
	select {
	case <-waited:
	case signal = <-r.signals:
		done()
		<-waited
	}
	if len(left) > 0 && r.flags.progress != progress.JSON {
		names := make([]string, len(left))
		for n, run := range left {
			names[n] = run.String()
		}
		text := fmt.Sprintf("%s ended, and these runs that end with it are still in progress: %s; the next process that works on the store ends them", r.Instance.ID, shorten.To(strings.Join(names, ", "), maxLeft))
		fmt.Fprintln(r.program.err, r.program.errStyle().Text(terminal.Printable(text)))
	}
	return signal
}

// childrenWithin is the maximum wait for the runs that end with a run.
const childrenWithin = 10 * time.Second

// maxLeft is the maximum length of the names of runs in a message, in bytes.
const maxLeft = 300

// leaveWithin is the maximum time for handing over: effects have a second to end.
const leaveWithin = 2 * time.Second

// answerWithin is the maximum time for an answer of a store after a signal.
const answerWithin = time.Second

// cancelWithin is the maximum time between a first Ctrl-C and a second one that cancels the run.
const cancelWithin = 2 * time.Second

// twice is the reason of a run that two signals cancelled.
const twice = "interrupted twice"

// await returns when the run is ended, or when a signal arrives: a first one stops driving it, and a second one right after cancels it.
func (j *job) await(ctx context.Context, ended <-chan error, stop func(), cancel func(context.Context) error) (os.Signal, error) {
	var first os.Signal
	select {
	case err := <-ended:
		return nil, err
	case first = <-j.signals:
	}
	if !j.program.errTTY {
		return first, nil
	}
	timer := time.NewTimer(cancelWithin)
	defer timer.Stop()
	select {
	case err := <-ended:
		return first, err
	case <-timer.C:
		stop()
		return first, nil
	case <-j.signals:
	}
	brief, done := context.WithTimeout(ctx, answerWithin)
	defer done()
	if err := cancel(brief); err != nil {
		return first, fmt.Errorf("the run %s could not be cancelled: %w", j.id, err)
	}
	select {
	case err := <-ended:
		return first, err
	case <-j.signals: // it may take long: the run continues elsewhere
		return first, nil
	}
}

// listen delivers signals to the job until the returned function is called.
func (j *job) listen() (release func()) {
	if j.program.signals == nil {
		return func() {}
	}
	signals, release := j.program.signals()
	j.signals = signals
	return release
}

// reportKept prints how to continue the run.
func (p *program) reportKept(i store.Instance, f *runFlags, d *swrun.Document, s os.Signal) error {
	again := fmt.Sprintf("swrun run %s --id %s", terminal.DocumentWord(d.File), terminal.ShellWord(i.ID))
	again += f.store.storeFlag()
	l := p.errStyle()
	fmt.Fprintln(p.err, l.Text(fmt.Sprintf("the run %s is kept, and its deadlines continue; to continue: %s", i.ID, terminal.Printable(again))))
	return quietExit(signalExit(s))
}
