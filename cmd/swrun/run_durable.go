package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/progress"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// This file runs a workflow with --id or --store: the run lives in a store, and the same command continues it.

// durableRun is a run in a store that this process drives.
type durableRun struct {
	*job
	*swrun.Run
	store   *openedStore
	engine  *swrun.Engine
	signals <-chan os.Signal
}

// durable reports whether the run lives in a store.
func (f *runFlags) durable() bool { return f.id != "" || f.store.url != "" }

// runDurable starts the run, or takes it up, and prints how it ended.
func (j *job) runDurable() (err error) {
	ctx, cancel := context.WithCancel(j.program.attributed(context.Background()))
	defer cancel()
	if err := j.document.Check(swrun.CheckConfig{Host: j.host, Fetch: true}); err != nil {
		return refused(j.document)
	}
	s, err := j.flags.store.open(ctx, j.program)
	if err != nil {
		return err
	}
	defer func() {
		if closing := s.Close(); err == nil && closing != nil {
			err = fmt.Errorf("close the store: %w", closing)
		}
	}()
	engine, err := swrun.NewEngine(s.Store, swrun.EngineConfig{Host: j.host, Drain: time.Second})
	if err != nil {
		return err
	}
	defer j.program.answerOthers(ctx, s, engine, slog.New(storeLog{j.program}))()
	r := &durableRun{job: j, store: s, engine: engine}
	if err := r.begin(ctx); err != nil {
		return err
	}
	return r.finish(ctx)
}

// finish drives the run until it has ended, or a signal comes, and prints how that was.
func (r *durableRun) finish(ctx context.Context) error {
	j := r.job
	j.show()
	if j.program.signals != nil {
		signals, release := j.program.signals()
		defer release()
		r.signals = signals
	}
	result, signal, err := r.drive(ctx)
	if err != nil {
		return refusalError(err)
	}
	if signal != nil && !result.Status.Final() {
		return j.program.reportKept(r.Instance, j.flags, j.document, signal)
	}
	return j.end(result, nil)
}

// begin starts the run, or finds that it has been started from the same document and input.
func (r *durableRun) begin(ctx context.Context) error {
	err := r.takeOver(ctx)
	if err != nil {
		return err
	}
	r.options.ID, r.options.Reserved = r.flags.id, true
	r.Run, err = r.engine.StartDocument(ctx, r.document, r.input, r.options, r.others...)
	var other *swrun.DeployedError
	var exists *swrun.RunExistsError
	switch {
	case errors.As(err, &other):
		return &exitError{code: exitConflict, message: fmt.Sprintf("another document is deployed as %s in %s", other.Workflow, r.store), hint: "give the document a new version"}
	case errors.As(err, &exists):
		what := "another input, or other options"
		if exists.OtherDocument {
			what = "another document, or another version of this one"
		}
		return &exitError{code: exitConflict, message: fmt.Sprintf("there is a run %s with %s", exists.Run, what), hint: "choose another --id, or swrun describe " + exists.Run.ID + r.flags.store.storeFlag()}
	case err != nil:
		return refusalError(duplicateFailure(err))
	}
	r.id = r.Instance.ID
	r.kept = terminal.ShellWord(r.id) + r.flags.store.storeFlag()
	return r.reportResumed(ctx)
}

// takeOver takes input and timeouts of a run that is there, as far as none are given: then it only goes on.
func (r *durableRun) takeOver(ctx context.Context) error {
	i := store.Instance{Namespace: r.document.Workflow.Document.Namespace, ID: r.flags.id}
	if i.Check() != nil { // a new run, or one whose start returns what is wrong
		return r.flags.timeouts.notPast(r.options, r.program.now())
	}
	l, err := r.store.Load(ctx, i)
	if store.RefusedAs(err) == store.NoSuch {
		return r.flags.timeouts.notPast(r.options, r.program.now())
	}
	if err != nil {
		return err
	}
	invocation, err := execution.ParseInvocation(l.Invocation)
	if err != nil {
		return err
	}
	if len(r.flags.inputs) == 0 {
		r.input = invocation.Input.V
	}
	if !r.flags.timeouts.given() {
		r.options.ExecutionTimeout, r.options.RunTimeout, r.options.Deadline = invocation.ExecutionTimeout, invocation.RunTimeout, invocation.Deadline
	}
	return nil
}

// reportResumed finds out whether the run has ended before, and says on a terminal that it has been in progress or has completed. The
// report of any other end says so itself.
func (r *durableRun) reportResumed(ctx context.Context) error {
	l, err := r.store.Load(ctx, r.Instance)
	if err != nil || l.Lifecycle.Entries == 0 {
		return err
	}
	text := fmt.Sprintf("↻ %s goes on where it was; its timers and deadlines kept running", r.Instance.ID)
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

// drive works on the run until it has ended or a signal comes, and shows what happens.
func (r *durableRun) drive(ctx context.Context) (swrun.Result, os.Signal, error) {
	working, stop := context.WithCancel(ctx)
	defer stop()
	following, leave := context.WithCancel(ctx)
	defer leave()
	var group sync.WaitGroup
	ended := make(chan error, 2)
	group.Go(func() {
		if err := r.engine.WorkOn(working, r.Run); err != nil {
			ended <- err
		}
	})
	group.Go(func() {
		ended <- r.engine.Client().Follow(following, r.Instance, 0, func(e client.HistoryEntry) error {
			for _, record := range e.Events {
				r.observe(record)
			}
			return nil
		})
	})
	stopTicking := r.view.Tick()
	signal, err := r.await(ctx, ended, stop)
	stop()
	leave()
	hurry := time.AfterFunc(leaveWithin, func() { r.store.Close() }) // closing it again returns what is wrong
	group.Wait()
	hurry.Stop()
	stopTicking()
	if err != nil && !errors.Is(err, context.Canceled) {
		return swrun.Result{}, signal, err
	}
	if signal == nil {
		outcome, _, err := r.engine.Client().Outcome(ctx, r.Instance)
		return swrun.Result(outcome), nil, err
	}
	brief, done := context.WithTimeout(ctx, answerWithin)
	defer done()
	outcome, _, _ := r.engine.Client().Outcome(brief, r.Instance) // a store that does not answer keeps nobody from leaving
	return swrun.Result(outcome), signal, nil
}

// leaveWithin is how long handing over may take: effects have a second for their end.
const leaveWithin = 2 * time.Second

// answerWithin is how long a store may take to answer after a signal.
const answerWithin = time.Second

// cancelWithin is how soon after a first Ctrl-C a second one cancels the run.
const cancelWithin = 2 * time.Second

// await returns when the run has ended, or when a signal has come: a first one stops driving it, and a second one
// right after cancels it.
func (r *durableRun) await(ctx context.Context, ended <-chan error, stop func()) (os.Signal, error) {
	var first os.Signal
	select {
	case err := <-ended:
		return nil, err
	case first = <-r.signals:
	}
	if !r.job.program.errTTY {
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
	case <-r.signals:
	}
	brief, done := context.WithTimeout(ctx, answerWithin)
	defer done()
	if err := r.Cancel(brief, "interrupted twice"); err != nil {
		return first, fmt.Errorf("the run %s could not be cancelled: %w", r.Instance, err)
	}
	select {
	case err := <-ended:
		return first, err
	case <-r.signals: // it may take long: it goes on elsewhere
		return first, nil
	}
}

// reportKept says how the run goes on.
func (p *program) reportKept(i store.Instance, f *runFlags, d *swrun.Document, s os.Signal) error {
	again := fmt.Sprintf("swrun run %s --id %s", terminal.ShellWord(d.File), i.ID)
	again += f.store.storeFlag()
	l := p.errStyle()
	fmt.Fprintln(p.err, l.Text(fmt.Sprintf("the run %s is kept, and its deadlines go on; to go on: %s", i.ID, terminal.Printable(again))))
	return quietExit(signalExit(s))
}
