package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// This file is run with --id or --store: the run lives in a store, and goes on where it was when it is run again.

// durableRun is a run in a store that this process drives.
type durableRun struct {
	*job
	store    *openedStore
	client   *client.Client
	instance store.Instance
	signals  <-chan os.Signal
}

// durable reports whether the run lives in a store.
func (f *runFlags) durable() bool { return f.id != "" || f.store.url != "" }

// runDurable starts the run, or takes it up, and prints how it ended.
func (j *job) runDurable(d *document) (err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s, err := j.flags.store.open(ctx, j.program)
	if err != nil {
		return err
	}
	defer func() {
		if closing := s.Close(); err == nil && closing != nil {
			err = fmt.Errorf("close the store: %w", closing)
		}
	}()
	runs := client.New(client.Config{Store: s, Compile: host{limits: j.host.limits}.compile, Limits: j.host.limits})
	r := &durableRun{job: j, store: s, client: runs}
	if err := r.begin(ctx, d); err != nil {
		return err
	}
	if err := s.takeOver(ctx); err != nil {
		return err
	}
	j.show()
	if j.program.signals != nil {
		signals, release := j.program.signals()
		defer release()
		r.signals = signals
	}
	outcome, signal, err := r.drive(ctx)
	if err != nil {
		return refusalError(err)
	}
	if signal != nil && !outcome.Status.Final() {
		return j.program.kept(r.instance, j.flags, d, signal)
	}
	return j.end(outcome, nil)
}

// begin starts the run, or finds that it has been started from the same document and input.
func (r *durableRun) begin(ctx context.Context, d *document) error {
	definition, err := d.definition()
	if err != nil {
		return err
	}
	siblings, err := d.siblings(r.others)
	if err != nil {
		return err
	}
	for _, sibling := range siblings {
		reference, err := r.client.Deploy(ctx, sibling)
		if store.RefusedAs(err) == store.Conflict {
			return &exitError{code: exitConflict, message: fmt.Sprintf("another document is deployed as %s in %s", reference, r.store), hint: "give the document a new version"}
		}
		if err != nil {
			return refusalError(err)
		}
	}
	if err := r.takeInput(ctx, definition); err != nil {
		return err
	}
	r.instance, err = r.client.StartDefinition(ctx, definition, r.input, client.StartOptions{ID: r.flags.id})
	if store.RefusedAs(err) == store.Conflict {
		return r.conflict(ctx, definition)
	}
	r.id = r.instance.ID
	if err != nil {
		return refusalError(err)
	}
	return r.resumed(ctx)
}

// takeInput takes the input of a run that is there, if none is given: then it only goes on.
func (r *durableRun) takeInput(ctx context.Context, d definition.Definition) error {
	if len(r.flags.inputs) > 0 || r.flags.id == "" {
		return nil
	}
	info, err := r.info(ctx, d)
	if err == nil && info != nil {
		r.input = info.Input.V
	}
	return err
}

// info returns what is fixed about the run, or nil if there is none yet.
func (r *durableRun) info(ctx context.Context, d definition.Definition) (*execution.Invocation, error) {
	reference, err := d.Reference()
	if err != nil {
		return nil, err
	}
	i := store.Instance{Namespace: reference.Namespace, ID: r.flags.id}
	if i.Check() != nil {
		return nil, nil // starting it tells
	}
	l, err := r.store.Load(ctx, i)
	if store.RefusedAs(err) == store.NoSuch {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return execution.ParseInvocation(l.Invocation)
}

// conflict tells what is different in the run that is there.
func (r *durableRun) conflict(ctx context.Context, d definition.Definition) error {
	what := "another input, or other options"
	if info, err := r.info(ctx, d); err == nil && info != nil && info.Definition != d.Digest() {
		what = "another document, or another version of this one"
	}
	return &exitError{code: exitConflict, message: fmt.Sprintf("there is a run %s with %s", r.instance, what), hint: "choose another --id, or swrun describe " + r.instance.ID}
}

// resumed tells that the run has been under way before.
func (r *durableRun) resumed(ctx context.Context) error {
	l, err := r.store.Load(ctx, r.instance)
	if err != nil || l.Lifecycle.Entries == 0 || l.Lifecycle.Status.Final() || !r.program.errTTY {
		return err
	}
	look := r.program.errStyle()
	_, err = fmt.Fprintln(r.program.err, look.Text(fmt.Sprintf("↻ %s goes on where it was; its timers and deadlines kept running", r.instance.ID)))
	return err
}

// drive works on the run until it has ended or a signal comes, and shows what happens.
func (r *durableRun) drive(ctx context.Context) (execution.Outcome, os.Signal, error) {
	working, stop := context.WithCancel(ctx)
	defer stop()
	following, leave := context.WithCancel(ctx)
	defer leave()
	w := worker.New(r.workerConfig(ctx))
	var group sync.WaitGroup
	group.Go(func() { w.Run(working) })
	ended := make(chan error, 1)
	group.Go(func() {
		ended <- r.client.Follow(following, r.instance, 0, func(e client.HistoryEntry) error {
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
	hurry := time.AfterFunc(leaveWithin, func() { r.store.Close() }) // closing it again tells what is wrong
	group.Wait()
	hurry.Stop()
	stopTicking()
	if err != nil && !errors.Is(err, context.Canceled) {
		return execution.Outcome{}, signal, err
	}
	if signal == nil {
		outcome, _, err := r.client.Outcome(ctx, r.instance)
		return outcome, nil, err
	}
	brief, done := context.WithTimeout(ctx, answerWithin)
	defer done()
	outcome, _, _ := r.client.Outcome(brief, r.instance) // a store that does not answer keeps nobody from leaving
	return outcome, signal, nil
}

// leaveWithin is how long handing over may take: effects have a second for their end.
const leaveWithin = 2 * time.Second

// answerWithin is how long a store is asked by one who has been told to stop.
const answerWithin = time.Second

// twice is how long after a first Ctrl-C a second one cancels the run.
const twice = 2 * time.Second

// await returns when the run has ended, or when a signal has come: a first one stops driving it, and a second one
// right after cancels it.
func (r *durableRun) await(ctx context.Context, ended <-chan error, stop func()) (os.Signal, error) {
	var first os.Signal
	select {
	case err := <-ended:
		return nil, err
	case err := <-r.store.failed:
		return nil, err
	case first = <-r.signals:
	}
	if !r.program.errTTY {
		return first, nil
	}
	timer := time.NewTimer(twice)
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
	if err := r.client.Cancel(brief, r.instance, "interrupted twice"); err != nil {
		return first, fmt.Errorf("the run %s could not be cancelled: %w", r.instance, err)
	}
	select {
	case err := <-ended:
		return first, err
	case err := <-r.store.failed:
		return first, err
	case <-r.signals: // it may take long: it goes on elsewhere
		return first, nil
	}
}

func (r *durableRun) workerConfig(ctx context.Context) worker.Config {
	return worker.Config{
		Store: r.store, Only: newFamily(ctx, r.store, r.instance).has, Compile: r.host.compile, Limits: r.host.limits, Drain: time.Second,
		Publish: func(_ context.Context, event json.RawMessage) error {
			v, err := expr.Decode(event)
			if object, ok := v.(map[string]any); ok && err == nil {
				r.view.Publish(object)
			}
			return err
		},
	}
}

// kept tells that the run can go on.
func (p *program) kept(i store.Instance, f *runFlags, d *document, s os.Signal) error {
	again := fmt.Sprintf("swrun run %s --id %s", terminal.ShellWord(d.file), i.ID)
	if f.store.url != "" {
		again += " --store " + terminal.ShellWord(errors.MaskURL(f.store.url))
	}
	l := p.errStyle()
	fmt.Fprintln(p.err, l.Text(fmt.Sprintf("the run %s is kept, and its deadlines go on; to go on: %s", i.ID, terminal.Printable(again))))
	return quietExit(signalExit(s))
}
