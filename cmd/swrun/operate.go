package main

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/client"
)

// This file holds what the verbs for hosted runs share.

// operateFlags are the flags of those verbs.
type operateFlags struct {
	storeFlags
	outputFlags
	namespaceFlags
	makes bool // it makes a store that is not there
}

func (f *operateFlags) add(cmd *cobra.Command, forms ...string) {
	f.storeFlags.add(cmd)
	if len(forms) > 0 {
		f.outputFlags.add(cmd, forms...)
	}
}

// operation is a verb at work on a store.
type operation struct {
	*program
	flags  *operateFlags
	store  *openedStore
	engine *swrun.Engine
	client *client.Client

	printer *printer
}

// operate opens the store for what do does with it.
func (p *program) operate(f *operateFlags, do func(context.Context, *operation) error) error {
	if err := f.resolve(p); err != nil {
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
	host := swrun.Host{Limits: bounds}
	if err := new(errorTypeFlags).apply(p, &host); err != nil {
		return err
	}
	if p.secrets != nil {
		host.Secrets = p.secrets.Lookup
	}
	f.looks = !f.makes
	return p.withStore(&f.storeFlags, func(ctx context.Context, s *openedStore) error {
		engine, err := swrun.NewEngine(s.Store, swrun.EngineConfig{Host: host})
		if err != nil {
			return err
		}
		return do(ctx, &operation{program: p, flags: f, store: s, engine: engine, client: engine.Client(), printer: printer})
	})
}

// attributed returns a context whose commands are those of the user, and whose starts belong to the trace that the environment names.
func (p *program) attributed(ctx context.Context) context.Context {
	if parent, ok := p.env("TRACEPARENT"); ok {
		ctx = client.WithTraceParent(ctx, parent)
	}
	return client.WithActor(ctx, p.actor())
}

// actor is who gives the commands of this program: a user of this machine.
func (p *program) actor() string {
	name := "local"
	if p.user == nil {
		return name
	}
	if user := p.user(); user != "" {
		name += "/" + shorten.To(terminal.Printable(user), maxUser)
	}
	return name
}

// maxUser is how many bytes of a user's name are recorded.
const maxUser = 64

// alsoFailed prints an error about one of several runs, and returns what the command ends with: the exit code of the first such error.
func (o *operation) alsoFailed(first, err error) error {
	if err == nil {
		return first
	}
	exit := exitOf(err)
	o.printExit(exit)
	return cmp.Or(first, quietExit(exit.code))
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
