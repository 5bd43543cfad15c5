package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/definition"
)

func (p *program) workflowsCommand() *cobra.Command {
	f := &operateFlags{remote: true, looksOnly: true}
	cmd := &cobra.Command{
		Use: "workflows [NAMESPACE/NAME]", Short: "List the workflows that are deployed, and their versions",
		Example: `  swrun workflows -n demo
  swrun workflows demo/order`,
		Args: atMostOne, RunE: verb(func(args []string) error {
			return p.operate(f, func(ctx context.Context, o *operation) error {
				if len(args) > 0 {
					return o.workflow(ctx, args[0])
				}
				return o.workflows(ctx)
			})
		}),
	}
	f.add(cmd, listForms()...)
	f.within(cmd)
	return cmd
}

func (o *operation) workflows(ctx context.Context) error {
	all, err := o.deployment.Workflows(ctx, o.flags.namespace)
	if err != nil {
		return err
	}
	return printList(o, all, func(w api.Workflow) string { return w.Namespace + "/" + w.Name }, o.workflowTable)
}

func (o *operation) workflowTable(all []api.Workflow) error {
	table := terminal.NewTable(o.out, "WORKFLOW", "LATEST", "VERSIONS")
	for _, w := range all {
		table.Row(w.Namespace+"/"+w.Name, cmp.Or(w.Latest, "-"), fmt.Sprint(len(w.Versions)))
	}
	return table.Flush()
}

// workflow shows one workflow.
func (o *operation) workflow(ctx context.Context, name string) error {
	name, err := o.flags.qualified(name)
	if err != nil {
		return err
	}
	r, err := definition.ParseReference(name)
	if err != nil || strings.Contains(name, ":") {
		return usagef("for example swrun workflows demo/order", "%q is not a workflow: it must be namespace/name", name)
	}
	w, err := o.deployment.Workflow(ctx, r.Namespace, r.Name)
	if err != nil {
		return err
	}
	switch o.flags.output {
	case "name":
		for _, v := range w.Versions {
			fmt.Fprintln(o.out, definition.Reference{Namespace: w.Namespace, Name: w.Name, Version: v.Version})
		}
		return nil
	case "human":
		return o.versionTable(w)
	}
	return o.print(w)
}

func (o *operation) versionTable(w api.Workflow) error {
	table := terminal.NewTable(o.out, "VERSION", "DEFINITION", "")
	for _, v := range w.Versions {
		mark := ""
		if v.Version == w.Latest {
			mark = "latest"
		}
		table.Row(v.Version, v.Definition, mark)
	}
	return table.Flush()
}
