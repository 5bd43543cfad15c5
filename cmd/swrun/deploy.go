package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/terminal"
)

// deployFlags are the options of deploy.
type deployFlags struct{ checkRuns, dryRun bool }

func (p *program) deployCommand() *cobra.Command {
	f, d, secrets := &operateFlags{remote: true}, deployFlags{}, ""
	cmd := &cobra.Command{
		Use: "deploy DOC...", Short: "Store documents as workflows, which can be started by name",
		Example: `  swrun deploy order.yaml payment.yaml --store redis://localhost:6379
  swrun deploy order.yaml --check-runs --dry-run`,
		Long: `A document is deployed under its namespace, name and version, with the external resources that it needs, and never
changes afterwards: another document under the same namespace, name and version is refused (exit 6). Runs in progress of other versions
continue with their version. --check-runs reports how many such runs exist, how many of them swrun migrate could move to the document now, and
why the others cannot move; with --dry-run, exit 13 reports that a run cannot move.`,
		Args: atLeastOne("a document"), ValidArgsFunction: documentArgs, RunE: verb(func(args []string) error {
			if d.dryRun && !d.checkRuns {
				return usagef("swrun validate checks documents alone", "--dry-run is for --check-runs")
			}
			all, err := p.readDocuments(args)
			if err != nil {
				return err
			}
			if p.secrets, err = readSecrets(p.env, secrets); err != nil {
				return err
			}
			return p.operate(f, func(ctx context.Context, o *operation) error { return o.deployAll(ctx, all, d) })
		}),
	}
	f.add(cmd, "human", "json", "yaml")
	f.resourceFlags.add(cmd)
	cmd.Flags().StringVar(&secrets, "secrets", "", "file or folder of the secrets with which catalogs and other resources are read, name: value (also SWRUN_SECRET_<NAME>)")
	cmd.Flags().BoolVar(&d.checkRuns, "check-runs", false, "report which runs in progress could migrate to the documents")
	cmd.Flags().BoolVar(&d.dryRun, "dry-run", false, "with --check-runs: deploy nothing")
	f.makes, f.verb = true, "deploy"
	return cmd
}

// deployAll deploys documents, and, if requested, first reports the effect on runs in progress.
func (o *operation) deployAll(ctx context.Context, all []*swrun.Document, f deployFlags) error {
	reports := make([]api.DeployResult, len(all))
	whole, err := o.wholeToDeploy(ctx, all)
	if err != nil {
		return o.deployFailure(all, err)
	}
	all = whole
	for n, d := range all {
		if !f.checkRuns {
			continue
		}
		if reports[n], err = o.deployment.CheckRuns(ctx, d); err != nil {
			return o.deployFailure(all, err)
		}
		o.printRunsCheck(reports[n])
	}
	if !f.dryRun {
		if err := o.deploy(ctx, all); err != nil {
			return err
		}
	}
	if o.flags.output != "human" {
		for n, d := range all {
			reports[n].Workflow, reports[n].Deployed = d.String(), reports[n].Deployed || !f.dryRun
		}
		if err := o.print(reports); err != nil {
			return err
		}
	}
	unfit := func(r api.DeployResult) bool { return r.Runs != nil && r.Runs.Migrate < r.Runs.Count }
	if f.dryRun && slices.ContainsFunc(reports, unfit) {
		return &exitError{code: exitFindings}
	}
	return nil
}

// printRunsCheck prints the effect on runs in progress.
func (o *operation) printRunsCheck(r api.DeployResult) {
	if o.flags.output != "human" {
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s in progress of other versions", r.Workflow, terminal.Counted(r.Runs.Count, "run"))
	for n, v := range r.Runs.Versions {
		fmt.Fprintf(&b, "%s%s (%d)", map[bool]string{true: ": ", false: ", "}[n == 0], v.Value, v.Count)
	}
	if b.WriteString("\n"); r.Runs.Count > 0 {
		fmt.Fprintf(&b, "  %d can migrate\n", r.Runs.Migrate)
	}
	for _, x := range r.Runs.Refused {
		more := ""
		if x.Count > len(x.Examples) {
			more = ", ..."
		}
		fmt.Fprintf(&b, "  %d cannot: %s (%s%s)\n", x.Count, x.Reason, strings.Join(x.Examples, ", "), more)
	}
	fmt.Fprint(o.out, o.outStyle().Text(b.String()))
}

// readDocuments reads documents and prints their mistakes. If a document is faulty, it returns an error, and no document is deployed.
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
	err := o.deployment.DeployAll(ctx, all...)
	var other *swrun.DeployedError
	if err != nil && !errors.As(err, &other) {
		return o.deployFailure(all, err)
	}
	for _, d := range all {
		if other != nil && d.String() == other.Workflow {
			return o.deployFailure(all, err)
		}
		if o.flags.output == "human" {
			fmt.Fprintf(o.out, "%s deployed\n", d)
			if err := o.tellSchedule(ctx, d); err != nil {
				return err
			}
		}
	}
	if err := o.warn(false, all...); err != nil {
		return err
	}
	return o.warnOfChildren(ctx, ofDocuments(all), "deploy the missing workflows before those tasks begin, or they fail: swrun deploy DOC... takes several documents, in any order")
}

// deployFailure returns the reason why documents are not deployed.
func (o *operation) deployFailure(all []*swrun.Document, err error) error {
	if invalid := invalidAmong(all, err); invalid != nil { // with their resources, or by a server
		return o.reportFailure("human", invalid)
	}
	var other *swrun.DeployedError
	if !errors.As(err, &other) {
		return duplicateFailure(err)
	}
	n := slices.IndexFunc(all, func(d *swrun.Document) bool { return d.String() == other.Workflow })
	return &exitError{code: exitConflict, message: "another document is deployed as " + other.Workflow, hint: "change document.version in " + all[n].File}
}

// duplicateFailure returns an error unchanged, unless documents have the same name.
func duplicateFailure(err error) error {
	if errors.As(err, new(*swrun.DuplicateError)) {
		return &exitError{code: exitConflict, message: err.Error(), hint: "change document.name or document.version in one of them"}
	}
	return err
}
