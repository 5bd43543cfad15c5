package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/definition"
)

func (p *program) workflowsCommand() *cobra.Command {
	cmd := p.workflowsListCommand("workflows [NAMESPACE/NAME]")
	cmd.Short = "List the deployed workflows and their deployers; show and remove versions"
	cmd.Example = `  swrun workflows -n demo
  swrun workflows ls --since 1h
  swrun workflows demo/order
  swrun workflows show demo/order:1.0.0
  swrun workflows rm demo/order:1.0.0`
	cmd.AddCommand(p.workflowsListCommand("ls [NAMESPACE/NAME]"), p.workflowsShowCommand(), p.workflowsRemoveCommand())
	return cmd
}

func (p *program) workflowsListCommand(use string) *cobra.Command {
	f, since := &operateFlags{remote: true, looksOnly: true}, ""
	cmd := &cobra.Command{
		Use: use, Short: "List the deployed workflows, or the versions of one, and their deployers",
		Example: `  swrun workflows ls -n demo
  swrun workflows ls demo/order
  swrun workflows ls --since 1h`,
		Args: atMostOne, RunE: verb(func(args []string) error {
			ago, err := parseSpan("--since", since)
			if err != nil {
				return err
			}
			after := time.Time{}
			if since != "" {
				after = p.now().Add(-ago)
			}
			return p.operate(f, func(ctx context.Context, o *operation) error {
				if len(args) > 0 {
					return o.workflow(ctx, args[0], after)
				}
				return o.workflows(ctx, after)
			})
		}),
	}
	f.add(cmd, listForms()...)
	f.within(cmd)
	cmd.Flags().StringVar(&since, "since", "", "age of the oldest deployment to list, for example 1h")
	return cmd
}

// deployedSince keeps the versions that were deployed after a time; a zero time keeps all.
func deployedSince(w api.Workflow, after time.Time) api.Workflow {
	w.Versions = slices.DeleteFunc(slices.Clone(w.Versions), func(v api.WorkflowVersion) bool {
		return !after.IsZero() && (v.DeployedAt == "" || api.ParseTime(v.DeployedAt).Before(after))
	})
	return w
}

func (o *operation) workflows(ctx context.Context, after time.Time) error {
	all, err := o.deployment.Workflows(ctx, o.flags.namespace)
	if err != nil {
		return err
	}
	left := []api.Workflow{}
	for _, w := range all {
		if w = deployedSince(w, after); len(w.Versions) > 0 {
			left = append(left, w)
		}
	}
	return printList(o, left, func(w api.Workflow) string { return w.Namespace + "/" + w.Name }, o.workflowTable)
}

// workflowTable prints workflows, with the version of each that was deployed last.
func (o *operation) workflowTable(all []api.Workflow) error {
	table := terminal.NewTable(o.out, "WORKFLOW", "LATEST", "VERSIONS", "LAST DEPLOYED", "AT", "BY")
	for _, w := range all {
		last := deployedLast(w.Versions)
		table.Row(w.Namespace+"/"+w.Name, cmp.Or(w.Latest, "-"), fmt.Sprint(len(w.Versions)), last.Version, cmp.Or(last.DeployedAt, "-"), cmp.Or(last.DeployedBy, "-"))
	}
	return table.Flush()
}

// deployedLast returns the version with the latest instant. The instants are compared, not their texts: as text, …0.45Z is above …0.457Z.
func deployedLast(versions []api.WorkflowVersion) api.WorkflowVersion {
	return slices.MaxFunc(versions, func(a, b api.WorkflowVersion) int {
		return api.ParseTime(a.DeployedAt).Compare(api.ParseTime(b.DeployedAt))
	})
}

// workflow shows one workflow.
func (o *operation) workflow(ctx context.Context, name string, after time.Time) error {
	name, err := o.flags.qualified(name)
	if err != nil {
		return err
	}
	r, err := definition.ParseReference(name)
	if err != nil || strings.Contains(name, ":") {
		return usagef("for example swrun workflows demo/order", "%q is not a workflow: it must be namespace/name", name)
	}
	if err := checkNames(r.Namespace, r.Name); err != nil {
		return err
	}
	w, err := o.deployment.Workflow(ctx, r.Namespace, r.Name)
	if err != nil {
		return err
	}
	w = deployedSince(w, after)
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
	table := terminal.NewTable(o.out, "VERSION", "DEFINITION", "DEPLOYED", "BY", "FROM", "")
	for _, v := range w.Versions {
		mark := ""
		if v.Version == w.Latest {
			mark = "latest"
		}
		table.Row(v.Version, v.Definition, cmp.Or(v.DeployedAt, "-"), cmp.Or(v.DeployedBy, "-"), cmp.Or(v.DeployedFrom, "-"), mark)
	}
	return table.Flush()
}

func (p *program) workflowsShowCommand() *cobra.Command {
	f := &operateFlags{remote: true, looksOnly: true}
	cmd := p.workflowVerb(f, &cobra.Command{
		Use: "show NAMESPACE/NAME[:VERSION]", Short: "Print a deployed workflow",
		Example: `  swrun workflows show demo/order
  swrun workflows show demo/order:1.0.0 -o json --jq .deployedBy`,
		Long: "The document goes to standard output; -o json also contains the name of the deployer. The default version is the latest.",
	}, func(ctx context.Context, o *operation, r definition.Reference) error {
		if o.flags.output == "human" {
			text, err := o.deployment.WorkflowText(ctx, r)
			if err != nil {
				return err
			}
			return write(o.out, text)
		}
		w, err := o.deployment.Deployed(ctx, r)
		if err != nil {
			return err
		}
		return o.print(w)
	})
	f.add(cmd, "human", "json", "yaml")
	f.within(cmd)
	return cmd
}

func (p *program) workflowsRemoveCommand() *cobra.Command {
	f := &operateFlags{remote: true}
	cmd := p.workflowVerb(f, &cobra.Command{
		Use: "rm NAMESPACE/NAME:VERSION", Short: "Remove a version of a workflow that has no runs in progress",
		Example: "  swrun workflows rm demo/order:1.0.0",
		Long: `No run of this name and version can be started any more, and a start without a version uses the latest remaining version. Ended runs keep their
definitions. A version with runs in progress is refused (exit 6). A server that serves a folder with the document deploys it again when it reads
the folder the next time.`,
	}, func(ctx context.Context, o *operation, r definition.Reference) error {
		if r.Version == definition.Latest {
			return usagef("swrun workflows "+r.Namespace+"/"+r.Name+" lists them", "name the version to remove, %s/%s:VERSION", r.Namespace, r.Name)
		}
		if err := o.deployment.Undeploy(ctx, r); err != nil {
			return stillUsed(r, refusalError(err))
		}
		return write(o.out, r.String()+" removed\n")
	})
	f.add(cmd)
	f.within(cmd)
	return cmd
}

// stillUsed adds to the refusal of a version with runs the command that lists them.
func stillUsed(r definition.Reference, err error) error {
	exit := exitOf(err)
	if exit.code == exitConflict {
		exit.hint = "swrun ls --where " + terminal.ShellWord("workflow="+r.String()+" status!=completed,faulted,cancelled") + " lists them"
		return exit
	}
	return err
}

// workflowVerb completes a verb about one version of a workflow.
func (p *program) workflowVerb(f *operateFlags, cmd *cobra.Command, do func(ctx context.Context, o *operation, r definition.Reference) error) *cobra.Command {
	cmd.Args, cmd.RunE = exactly("a workflow"), verb(func(args []string) error {
		return p.operate(f, func(ctx context.Context, o *operation) error {
			name, err := o.flags.qualified(args[0])
			if err != nil {
				return err
			}
			r, err := definition.ParseReference(name)
			if err != nil {
				return usagef("for example demo/order:1.0.0", "%s", err)
			}
			return do(ctx, o, r)
		})
	})
	return cmd
}
