package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/describe"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

func (p *program) describeCommand() *cobra.Command {
	f := &operateFlags{remote: true, looksOnly: true}
	var run string
	cmd := &cobra.Command{
		Use: "describe RUN", Short: "Show the status, the waits and the deadlines of a run",
		Example: `  swrun describe order-7
  swrun describe @last -o json --jq .deadlines
  swrun describe order-7 --run 2`,
		Long: runArgument,
		Args: exactly("a run"), RunE: verb(func(args []string) error {
			n, err := parseRunNumber(run)
			if err != nil {
				return err
			}
			return p.operate(f, func(ctx context.Context, o *operation) error { return o.describe(ctx, args[0], n) })
		}),
	}
	f.add(cmd, "human", "json", "yaml")
	f.within(cmd)
	addRunNumber(cmd, &run)
	return cmd
}

// addRunNumber adds the flag that chooses one run of an execution.
func addRunNumber(cmd *cobra.Command, run *string) {
	cmd.Flags().StringVar(run, "run", client.LatestRun, "number of the run within an execution that continued as new, counted from 1, or "+client.LatestRun)
}

// parseRunNumber reads that flag: 0 is the latest run.
func parseRunNumber(text string) (int, error) {
	n, err := client.ParseRunNumber(text)
	if err != nil || text == "" {
		return 0, usagef("for example 2, or "+client.LatestRun, "--run must be the number of a run of the execution, counted from 1, got %s", shorten.Quoted(text))
	}
	return n, nil
}

func (o *operation) describe(ctx context.Context, name string, number int) error {
	i, err := o.lookUp(ctx, name)
	if err != nil {
		return err
	}
	d, err := o.deployment.DescribeRun(ctx, i, number)
	if err != nil {
		return err
	}
	if o.flags.output != "human" {
		return o.print(d)
	}
	return write(o.out, o.outStyle().Text(describe.Run(&d, o.driver(&d))))
}

// isLocal reports whether this process has the store alone, so that no other process works on its runs.
func (o *operation) isLocal() bool { return o.store != nil && o.store.Local() }

// noWorker returns the text about a missing worker, with the command that starts one. No other process can use an embedded store while this command
// has it open.
func (o *operation) noWorker() string {
	lead := "no worker is connected to " + o.at
	if o.isLocal() {
		lead = "nothing drives this store now"
	}
	if o.byURL {
		return lead + ": swrun worker with the store of that server drives all of its runs"
	}
	return lead + ": swrun worker" + o.flags.storeFlag() + " drives all of its runs"
}

// driver returns the command that continues a run without a worker. It is empty for other runs, and for a run that needs more than a worker.
func (o *operation) driver(d *api.Description) string {
	if !d.NoWorker || d.Status == store.Quarantined {
		return ""
	}
	if o.byURL {
		return o.noWorker() // the files here, and its store, are not those on the server
	}
	file := d.File
	if !isFile(file) {
		file = "DOCUMENT" // it was in another folder, or was moved
	}
	switch {
	case d.ReservedFor == d.Namespace+"/"+d.ID:
		return fmt.Sprintf("no worker is connected to %s: swrun run %s --id %s%s continues this run, swrun worker%s only keeps its deadlines", o.at, terminal.ShellWord(file), d.ID, o.flags.storeFlag(), o.flags.storeFlag())
	case d.Plain:
		return o.noWorker() + fmt.Sprintf(", swrun run %s --id %s%s drives only this run", terminal.ShellWord(file), d.ID, o.flags.storeFlag())
	}
	return o.noWorker()
}
