package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
)

func (p *program) deployCommand() *cobra.Command {
	f := &operateFlags{}
	cmd := &cobra.Command{
		Use: "deploy DOC...", Short: "Make documents known to a store, so that they can be started by name",
		Example: "  swrun deploy order.yaml payment.yaml --store redis://localhost:6379",
		Long: `A document is deployed under its namespace, name and version, with the external resources that it needs, and never
changes afterwards: deploying another document under the same three is refused (exit 6).`,
		Args: atLeastOne("a document"), ValidArgsFunction: documentArgs, RunE: verb(func(args []string) error {
			all, err := readDefinitions(p.streams, args)
			if err != nil {
				return p.told("human", err)
			}
			return p.operate(f, func(o *operation) error { return o.deploy(all) })
		}),
	}
	f.add(cmd)
	f.makes = true
	return cmd
}

// deployment is a document that is to be deployed.
type deployment struct {
	name       string // of its file
	definition definition.Definition
	scheduled  bool
}

// readDefinitions reads documents; if one of them is faulty, none is deployed.
func readDefinitions(s streams, names []string) ([]deployment, error) {
	all := make([]deployment, len(names))
	for n, name := range names {
		file, text, err := readDocument(s, name)
		if err != nil {
			return nil, err
		}
		d := parseText(file, text)
		if err := d.refused(); err != nil {
			return nil, err
		}
		all[n] = deployment{name: name, scheduled: d.workflow.Schedule != nil}
		if all[n].definition, err = d.definition(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (o *operation) deploy(all []deployment) error {
	for _, d := range all {
		reference, err := o.client.Deploy(o.ctx, d.definition)
		if store.RefusedAs(err) == store.Conflict {
			return &exitError{code: exitConflict, message: fmt.Sprintf("another document is deployed as %s", reference), hint: "give " + d.name + " a new version"}
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(o.out, "%s deployed\n", reference)
		if d.scheduled {
			name := reference.Namespace + "/" + reference.Name
			fmt.Fprintf(o.err, "%s: its schedule is not followed yet, so that it is not started by it; swrun start %s starts it once\n", reference, name)
		}
	}
	return nil
}
