package main

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// This file is what the verbs that look after hosted runs share.

// operateFlags are the flags of those verbs.
type operateFlags struct {
	storeFlags
	outputFlags
	namespace string
	makes     bool // it makes a store that is not there
}

func (f *operateFlags) add(cmd *cobra.Command, forms ...string) {
	f.storeFlags.add(cmd)
	if len(forms) > 0 {
		f.outputFlags.add(cmd, forms...)
	}
}

// within adds -n to a verb that looks for runs.
func (f *operateFlags) within(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.namespace, "namespace", "n", "", "only runs of this namespace")
}

func (f *operateFlags) check() error {
	if f.namespace != "" {
		if err := (store.Instance{Namespace: f.namespace, ID: "any"}).Check(); err != nil {
			return usagef("for example -n demo", "-n: %s", err)
		}
	}
	return nil
}

// operation is a verb at work on a store.
type operation struct {
	*program
	flags  *operateFlags
	ctx    context.Context
	store  *openedStore
	client *client.Client

	printer *printer
}

// storeFlag is what another command needs to find the same store: nothing, unless --store was given.
func (o *operation) storeFlag() string {
	if o.flags.url == "" {
		return ""
	}
	return " --store " + terminal.ShellWord(o.store.String())
}

// operate opens the store for what do does with it.
func (p *program) operate(f *operateFlags, do func(*operation) error) error {
	if err := f.check(); err != nil {
		return err
	}
	printer, err := f.printer(p)
	if err != nil {
		return err
	}
	bounds, err := p.limits(nil)
	if err != nil {
		return err
	}
	f.looks = !f.makes
	return p.withStore(&f.storeFlags, func(ctx context.Context, s *openedStore) error {
		runs := client.New(client.Config{Store: s, Compile: host{}.compile, Alone: s.local, Limits: bounds})
		return do(&operation{program: p, flags: f, ctx: ctx, store: s, client: runs, printer: printer})
	})
}

// print prints data in the form that -o asks for.
func (o *operation) print(v any) error {
	plain, err := expr.Normalize(v)
	if err != nil {
		return err
	}
	err = o.printer.print(plain)
	if fault := errors.AsError(err); fault != nil {
		return usagef("", "--jq fails: %s", fault.Detail)
	}
	return err
}

// settle ends runs that were told to end, and those of their children that they tell to end. An embedded store has no
// worker of its own, so this process does it. It takes no other run and performs nothing: it knows neither their secrets
// nor what they may do.
func (o *operation) settle(runs []store.Instance) error {
	ctx, stop := context.WithCancel(o.ctx)
	defer stop()
	done := make(chan struct{})
	w := worker.New(worker.Config{
		Store: o.store, Compile: host{}.compile, Only: newFamily(o.ctx, o.store, runs...).isTold, Concurrency: -1, Drain: 2 * time.Second,
	})
	go func() { w.Run(ctx); close(done) }()
	runs = slices.Clone(runs)
	for idle := 0; idle < 100; idle++ { // as long as one after the other ends
		before := len(runs)
		runs = slices.DeleteFunc(runs, func(i store.Instance) bool {
			l, err := o.store.Load(o.ctx, i)
			return err != nil || l.Lifecycle.Status.Final()
		})
		if len(runs) == 0 && o.quiet() {
			break
		}
		if len(runs) < before {
			idle = 0
		}
		time.Sleep(10 * time.Millisecond)
	}
	stop()
	<-done
	select {
	case err := <-o.store.failed:
		return err
	default:
		return nil
	}
}

// quiet reports whether nothing is on its way from one run to another.
func (o *operation) quiet() bool {
	for p := range o.store.Layout().Partitions {
		if work, err := o.store.Poll(o.ctx, p, 1, false); err != nil || len(work.Outbox)+work.Begun > 0 {
			return false
		}
	}
	return true
}
