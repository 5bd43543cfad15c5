package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/internal/remote"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/server"
)

// This file contains the common parts of the verbs for hosted runs.

// operateFlags are the flags of those verbs.
type operateFlags struct {
	storeFlags
	serverFlags
	outputFlags
	namespaceFlags
	resourceFlags
	makes  bool   // it creates a missing store
	remote bool   // it can use a server
	verb   string // its --help lists the values of the resource flags
	// looksOnly is set by verbs that change nothing: if the server or holder ends, the next one is asked.
	looksOnly bool
}

func (f *operateFlags) add(cmd *cobra.Command, forms ...string) {
	f.storeFlags.add(cmd)
	if f.remote {
		f.serverFlags.add(cmd)
	}
	if len(forms) > 0 {
		f.outputFlags.add(cmd, forms...)
	}
}

// operation is a verb in progress on a deployment.
type operation struct {
	*program
	flags      *operateFlags
	deployment *remote.Deployment
	at         string // its place, for people
	byURL      bool   // it is a named server, and may be another machine
	printer    *printer

	// The fields of a store that this process has opened; nil if a server is asked:
	host    swrun.Host
	store   *openedStore
	engine  *swrun.Engine
	client  *client.Client
	control *control.Control
}

// prepare reads the configuration of an engine of this process.
func (o *operation) prepare() error {
	bounds, err := o.limits(nil)
	if err != nil {
		return err
	}
	o.host = swrun.Host{Limits: bounds}
	if err := o.flags.resourceFlags.apply(o.program, o.flags.verb, &o.host); err != nil {
		return err
	}
	if o.secrets != nil {
		o.host.Secrets, o.host.AllowSecret = o.secrets.Lookup, o.secrets.Allows
	}
	o.flags.looks, o.flags.reads = !o.flags.makes, o.flags.looksOnly
	return new(errorTypeFlags).apply(o.program, &o.host)
}

// open opens the store for do.
func (o *operation) open(ctx context.Context, do func(context.Context, *operation) error) error {
	return o.flags.storeFlags.with(ctx, o.program, func(s *openedStore) (err error) {
		if o.engine, err = swrun.NewEngine(s.Store, swrun.EngineConfig{Host: o.host}); err != nil {
			return err
		}
		o.store, o.client, o.at = s, o.engine.Client(), s.String()
		o.control = control.New(o.engine, s.Store, o.now)
		if o.deployment, err = o.askHere(); err != nil {
			return err
		}
		return do(ctx, o)
	})
}

// askHere returns the deployment of a store that this process has opened.
func (o *operation) askHere() (*remote.Deployment, error) {
	c := server.Config{
		Control: o.control, Version: swrun.Version(), Now: o.now, Log: slog.New(trailHandler{slog.DiscardHandler, o.program, o.store}),
	}
	return remote.New(remote.Config{
		URL: "http://store", Name: o.at, Actor: o.actor(), Host: o.host, Version: swrun.Version(), TraceParent: o.traceParent(), Within: math.MaxInt64 / 4,
		Handler: server.InProcess(c),
	})
}

// attributed returns a context whose commands have the user as their actor, and whose starts belong to the trace that the environment names.
func (p *program) attributed(ctx context.Context) context.Context {
	return client.WithActor(client.WithTraceParent(ctx, p.traceParent()), p.actor())
}

// traceParent returns the span that the environment names; empty without one.
func (p *program) traceParent() string {
	parent, _ := p.env("TRACEPARENT")
	return client.TraceParent(client.WithTraceParent(context.Background(), parent))
}

// actor returns the actor of the commands of this program: a user of this machine.
func (p *program) actor() string { return p.userAs("local") }

// userAs returns the user of this machine as an actor of a kind.
func (p *program) userAs(name string) string {
	if p.user == nil {
		return name
	}
	if user := p.user(); user != "" {
		name += "/" + shorten.To(terminal.Printable(user), maxUser)
	}
	return name
}

// maxUser is the maximum length of a user's name in a record, in bytes.
const maxUser = 64

// alsoFailed prints an error about one of several runs, and returns the result of the command: the exit code of the first such error.
func (o *operation) alsoFailed(first, err error) error {
	if err == nil {
		return first
	}
	exit := exitOf(aimed(err, o.flags.target()))
	o.printExit(exit)
	return cmp.Or(first, quietExit(exit.code))
}

// listForms returns the values of -o of verbs that list.
func listForms() []string { return []string{"human", "json", "yaml", "name"} }

// printList prints a list in the form of -o: as names, as a table, or as data.
func printList[T any](o *operation, all []T, name func(T) string, table func([]T) error) error {
	switch o.flags.output {
	case "name":
		for _, one := range all {
			fmt.Fprintln(o.out, name(one))
		}
		return nil
	case "human":
		return table(all)
	}
	return o.print(all)
}

// print prints data in the form of -o.
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
