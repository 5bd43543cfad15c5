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
	"github.com/swrun/swrun/internal/progress"
	"github.com/swrun/swrun/internal/remote"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// This file runs a workflow with --id or --store: the run lives in a store, and the same command continues it.

// durableRun is a run in a store that this process drives.
type durableRun struct {
	*job
	*swrun.Run
	store  *openedStore
	engine *swrun.Engine
}

// durable reports whether the run lives in a store.
func (f *runFlags) durable() bool { return f.id != "" || f.store.url != "" }

// runDurable starts the run, or takes it up, and prints how it ended. While another process has the file of the store, that one performs it,
// and when it ends before the run does, this one goes on with it.
func (j *job) runDurable() error {
	ctx, cancel := context.WithCancel(j.program.attributed(context.Background()))
	defer cancel()
	before := j.host
	before.Functions = func(context.Context, string) (map[string][]byte, error) { return nil, interpreter.ErrNotFetched } // the store is not at hand yet
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

// refusalUnlessGone is refusalError, but for a server that is not there any more.
func refusalUnlessGone(err error) error {
	if isGone(err) {
		return err
	}
	return refusalError(err)
}

// runHere runs it in this process. That another one has the file is an error for which isHeld holds.
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
		config.Host.Publish = nil // what is shown is this run
		until := make(chan struct{})
		own := store.Instance{Namespace: j.document.Workflow.Document.Namespace, ID: j.flags.id}
		guests := &guests{store: s.Store, config: config, until: until, known: map[store.Instance]bool{own: true}}
		defer guests.working.Wait()
		defer close(until)
		defer j.program.answerOthers(ctx, s, engine, slog.New(trailHandler{storeLog{j.program}, j.program, s.Store}), guests.take)()
		if err := r.begin(ctx); err != nil {
			return err
		}
		return r.finish(ctx)
	})
}

// finish drives the run until it has ended, or a signal comes, and prints how that was.
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

// begin starts the run, or finds that it has been started from the same document and input.
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

// unfitInput returns the error with which a run of an input would end that the workflow refuses; nil if the start failed for another reason.
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

// inputRefused reports an input that the workflow refuses, as a run in memory would. No run was started.
func (j *job) inputRefused(fault *errors.Error) error {
	j.id = j.flags.id
	j.show()
	return j.end(swrun.Result{Status: interpreter.StatusFaulted, Fault: fault}, nil)
}

// otherDocument is the error of a workflow that is deployed already, as another document.
func otherDocument(e *swrun.DeployedError, where string) error {
	return &exitError{code: exitConflict, message: fmt.Sprintf("another document is deployed as %s in %s", e.Workflow, where), hint: "give the document a new version"}
}

// keep notes what the run is called in its store.
func (j *job) keep(i store.Instance) {
	j.id = i.ID
	j.kept = terminal.ShellWord(i.ID) + j.flags.store.storeFlag()
}

// otherRun is the error of a run that is there already, and is another one.
func (j *job) otherRun(i store.Instance, what string) error {
	return &exitError{code: exitConflict, message: what, hint: "choose another --id; swrun describe " + terminal.ShellWord(i.ID) + j.flags.store.storeFlag() + " shows that run"}
}

// takeUp returns what the run is started with: input and timeouts of the run that is there, as far as none are given.
func (r *durableRun) takeUp(ctx context.Context) (any, swrun.StartOptions, error) {
	options, there := r.options, false
	input := r.input
	i := store.Instance{Namespace: r.document.Workflow.Document.Namespace, ID: r.flags.id}
	if i.Check() == nil { // otherwise it is a new run, or its start returns what is wrong
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

// reportResumed finds out whether the run has ended before, and says on a terminal that it has been in progress or has completed. The
// report of any other end says so itself.
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

// drive works on the run until it has ended or a signal comes, and shows what happens.
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
	hurry := time.AfterFunc(leaveWithin, func() { r.store.Close() }) // closing it again returns what is wrong
	group.Wait()
	hurry.Stop()
	stopTicking()
	if err != nil && !errors.Is(err, context.Canceled) {
		return swrun.Result{}, signal, err
	}
	return r.outcome(ctx, signal)
}

// outcome returns how the run has ended, if it has. After a signal, nobody waits for it for long.
func (r *durableRun) outcome(ctx context.Context, signal os.Signal) (swrun.Result, os.Signal, error) {
	if signal == nil {
		outcome, _, err := r.engine.Client().Outcome(ctx, r.Instance)
		return swrun.Result(outcome), nil, err
	}
	brief, done := context.WithTimeout(ctx, answerWithin)
	defer done()
	outcome, _, _ := r.engine.Client().Outcome(brief, r.Instance) // a store that does not answer keeps nobody from leaving
	return swrun.Result(outcome), signal, nil
}

// awaitChildren works on until the runs have ended that end with the run, or a signal comes.
func (r *durableRun) awaitChildren(ctx context.Context) (signal os.Signal) {
	ctx, done := context.WithTimeout(ctx, childrenWithin)
	defer done()
	var left []store.Instance
	waited := make(chan struct{})
	go func() {
		defer close(waited)
		left, _ = r.AwaitChildren(ctx, r.view.Outlast) // a store that fails is told by the work on it, or by what reads the outcome
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

// childrenWithin is how long the runs are waited for that end with a run.
const childrenWithin = 10 * time.Second

// maxLeft is how many bytes of the names of runs a message shows.
const maxLeft = 300

// leaveWithin is how long handing over may take: effects have a second for their end.
const leaveWithin = 2 * time.Second

// answerWithin is how long a store may take to answer after a signal.
const answerWithin = time.Second

// cancelWithin is how soon after a first Ctrl-C a second one cancels the run.
const cancelWithin = 2 * time.Second

// twice is why a run is cancelled by two signals.
const twice = "interrupted twice"

// await returns when the run has ended, or when a signal has come: a first one stops driving it, and a second one
// right after cancels it.
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
	case <-j.signals: // it may take long: it goes on elsewhere
		return first, nil
	}
}

// listen has signals come to the job until the function that it returns is called.
func (j *job) listen() (release func()) {
	if j.program.signals == nil {
		return func() {}
	}
	signals, release := j.program.signals()
	j.signals = signals
	return release
}

// reportKept says how the run goes on.
func (p *program) reportKept(i store.Instance, f *runFlags, d *swrun.Document, s os.Signal) error {
	again := fmt.Sprintf("swrun run %s --id %s", terminal.DocumentWord(d.File), terminal.ShellWord(i.ID))
	again += f.store.storeFlag()
	l := p.errStyle()
	fmt.Fprintln(p.err, l.Text(fmt.Sprintf("the run %s is kept, and its deadlines continue; to continue: %s", i.ID, terminal.Printable(again))))
	return quietExit(signalExit(s))
}
