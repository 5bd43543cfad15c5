package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
)

func (p *program) deployCommand() *cobra.Command {
	f := &operateFlags{}
	cmd := &cobra.Command{
		Use: "deploy DOC...", Short: "Make documents known to a store, so that they can be started by name",
		Example: "  swrun deploy order.yaml payment.yaml --store redis://localhost:6379",
		Long: `A document is deployed under its namespace, name and version, with the external resources that it needs, and never
changes afterwards: deploying another document under the same three is refused (exit 6).`,
		Args: atLeastOne("a document"), ValidArgsFunction: documentArgs, RunE: verb(func(args []string) error {
			all, err := p.readDocuments(args)
			if err != nil {
				return err
			}
			return p.operate(f, func(ctx context.Context, o *operation) error { return o.deploy(ctx, all) })
		}),
	}
	f.add(cmd)
	f.makes = true
	return cmd
}

// readDocuments reads documents, and prints what is wrong with each; if one of them is faulty, none is deployed.
func (p *program) readDocuments(names []string) ([]*swrun.Document, error) {
	all := make([]*swrun.Document, len(names))
	faulty := failures{program: p}
	for n, name := range names {
		d, err := loadDocument(p.streams, name)
		if err == nil {
			err = refused(d)
		}
		faulty.add(err)
		all[n] = d
	}
	return all, faulty.err
}

func (o *operation) deploy(ctx context.Context, all []*swrun.Document) error {
	err := o.engine.Deploy(ctx, all...)
	var found dsl.Diagnostics
	if errors.As(err, &found) { // with their resources
		n := slices.IndexFunc(all, func(d *swrun.Document) bool { return d.File == found[0].File })
		return o.reportFailure("human", invalidated(all[n], err))
	}
	var other *swrun.DeployedError
	if err != nil && !errors.As(err, &other) {
		return err
	}
	for _, d := range all {
		if other != nil && d.String() == other.Workflow {
			return &exitError{code: exitConflict, message: "another document is deployed as " + other.Workflow, hint: "give " + d.File + " a new version"}
		}
		fmt.Fprintf(o.out, "%s deployed\n", d)
	}
	return o.warn(false, all...)
}
