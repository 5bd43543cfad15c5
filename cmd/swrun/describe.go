package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/describe"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

func (p *program) describeCommand() *cobra.Command {
	f := &operateFlags{}
	cmd := &cobra.Command{
		Use: "describe RUN", Short: "Show what a run waits for, until when, and what happens then",
		Example: `  swrun describe order-7
  swrun describe @last -o json --jq .deadlines`,
		Long: runArgument,
		Args: exactly("a run"), RunE: verb(func(args []string) error {
			return p.operate(f, func(ctx context.Context, o *operation) error { return o.describe(ctx, args[0]) })
		}),
	}
	f.add(cmd, "human", "json", "yaml")
	f.within(cmd)
	return cmd
}

func (o *operation) describe(ctx context.Context, name string) error {
	i, err := o.lookUp(ctx, name)
	if err != nil {
		return err
	}
	d, err := o.client.Describe(ctx, i)
	if err != nil {
		return err
	}
	source, err := o.client.Source(ctx, d)
	if err != nil {
		return err
	}
	if o.flags.output != "human" {
		return o.print(api.NewDescription(d, source))
	}
	return write(o.out, o.outStyle().Text(describe.Run(d, source, o.driver(d))))
}

// driver returns which command continues a run of an embedded store, which nobody can use while this command has it open. It is empty for
// other stores, and for a run that has ended.
func (o *operation) driver(d *client.Description) string {
	if !o.store.Local() || d.Lifecycle.Status.Final() || d.Status == store.Quarantined {
		return ""
	}
	store := o.storeFlag()
	text := "nothing drives this store now: swrun worker" + store + " drives all of its runs"
	if d.Invocation.Plain() {
		file := d.Program.Workflow.Source.File
		if !isFile(file) {
			file = "DOCUMENT" // it was another folder's, or has moved
		}
		text += fmt.Sprintf(", swrun run %s --id %s%s this one", terminal.ShellWord(file), d.Instance.ID, store)
	}
	return text
}
