package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/runtime"
)

func (p *program) deployCommand() *cobra.Command {
	f := &operateFlags{}
	cmd := &cobra.Command{
		Use: "deploy DOC...", Short: "Make documents known to a store, so that they can be started by name",
		Example: "  swrun deploy order.yaml payment.yaml --store redis://localhost:6379",
		Long: `A document is deployed under its namespace, name and version, with the external resources that it needs, and never
changes afterwards: deploying another document under the same three is refused (exit 6).`,
		Args: atLeastOne("a document"), ValidArgsFunction: documentArgs, RunE: verb(func(args []string) error {
			return p.told("human", p.operate(f, func(o *operation) error { return o.deploy(args) }))
		}),
	}
	f.add(cmd)
	f.makes = true
	return cmd
}

// deploy deploys documents; if one of them is faulty, none.
func (o *operation) deploy(names []string) error {
	definitions := make([]runtime.Definition, len(names))
	scheduled := make([]bool, len(names))
	for n, name := range names {
		file, text, err := readDocument(o.streams, name)
		if err != nil {
			return err
		}
		d := parseText(file, text)
		if err := d.refused(); err != nil {
			return err
		}
		if definitions[n], err = d.definition(); err != nil {
			return err
		}
		scheduled[n] = d.workflow.Schedule != nil
	}
	for n, definition := range definitions {
		reference, err := o.client.Deploy(o.ctx, definition)
		if runtime.RefusedAs(err) == runtime.Conflict {
			return &exitError{code: exitConflict, message: fmt.Sprintf("another document is deployed as %s", reference), hint: "give " + names[n] + " a new version"}
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(o.out, "%s deployed\n", reference)
		if scheduled[n] {
			name := reference.Namespace + "/" + reference.Name
			fmt.Fprintf(o.err, "%s: its schedule is not followed yet, so that it is not started by it; swrun start %s starts it once\n", reference, name)
		}
	}
	return nil
}
