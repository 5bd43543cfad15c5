package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/deadletter"
	"github.com/swrun/swrun/internal/doctor"
	"github.com/swrun/swrun/internal/remote"
	"github.com/swrun/swrun/internal/sinks"
	"github.com/swrun/swrun/internal/terminal"
)

func (p *program) doctorCommand() *cobra.Command {
	f, strict := &operateFlags{remote: true, looksOnly: true}, false
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check the state and the configuration of a store",
		Example: "  swrun doctor --store redis://localhost:6379",
		Long: `Exit 0: no faults, perhaps warnings; 7: a fault that can lose runs, or the store cannot be reached. With --strict, a warning leads to
exit 13; notes never do. A server checks its store automatically, and so does a process that holds the file of a store: GET /v1/health returns
the same checks.`,
		Args: exactly(), RunE: verb(func([]string) error { return p.doctor(f, strict) }),
	}
	f.add(cmd, "human", "json", "yaml")
	cmd.Flags().BoolVar(&strict, "strict", false, "exit with 13 if there is a warning")
	return cmd
}

func (p *program) doctor(f *operateFlags, strict bool) error {
	printer, err := f.printer(p)
	if err != nil {
		return err
	}
	o := &operation{program: p, flags: f, printer: printer}
	server, err := f.named(p, swrun.Host{})
	if err != nil {
		return err
	}
	f.looks, f.reads = true, true
	return p.interruptibly(func(ctx context.Context) error {
		ask := func(d *remote.Deployment) error { return o.askHealth(ctx, d, strict) }
		if server != nil {
			return ask(server)
		}
		at, _ := f.location(p)
		file, _ := swrun.StoreFile(at)
		return p.shared(ctx, file, swrun.Host{}, ask, func() error { return o.examine(ctx, strict) })
	})
}

// askHealth prints the findings of a server.
func (o *operation) askHealth(ctx context.Context, d *remote.Deployment, strict bool) error {
	h, err := d.Health(ctx)
	if err != nil {
		return err
	}
	return o.diagnose(h, strict)
}

// examine prints the findings about a store that this process opens.
func (o *operation) examine(ctx context.Context, strict bool) error {
	f, p := o.flags, o.program
	var found []doctor.Finding
	_, because := f.location(p)
	s, err := f.openUnlessHeld(ctx, p)
	var exit *exitError
	switch {
	case errors.As(err, &exit) && exit.code == exitUsage:
		return err
	case isHeld(err):
		found = append(found, doctor.Unopened(err, because, heldHint))
	case err != nil:
		fix := "correct the server or --store, and run doctor again"
		if exit != nil && exit.commands == nil {
			fix = exit.hint
		}
		found = append(found, doctor.Unopened(err, because, fix))
	case s.missing != "":
		found = append(found, doctor.Missing(s.missing, because))
	default:
		defer s.Close() // it was only read
		found = append(found, doctor.Examine(ctx, s.Store, p.now, because)...)
		found = append(found, sinks.Examine(ctx, s.Store)...)
		found = append(found, deadletter.Examine(ctx, s.Store)...)
		found = append(found, doctor.Finding{
			Code: doctor.CodeSecrets, Level: doctor.OK, What: "only workers and servers know their secrets: GET /v1/health of a server lists the deployed workflows that lack secrets there",
		})
	}
	return o.diagnose(doctor.Report(found), strict)
}

// diagnose prints the findings of doctor, and ends with their exit code.
func (o *operation) diagnose(h api.Health, strict bool) error {
	if o.flags.output != "human" {
		if err := o.print(h); err != nil {
			return err
		}
	} else {
		l := o.outStyle()
		for _, c := range h.Checks {
			fmt.Fprintln(o.out, l.Text(fmt.Sprintf("%-8s %s  %s", c.Status, c.Code, terminal.Printable(c.Reason))))
			if c.Fix != "" {
				fmt.Fprintln(o.out, l.Text("         fix: "+terminal.Printable(c.Fix)))
			}
		}
	}
	switch {
	case h.Status == doctor.Error:
		return quietExit(exitStore)
	case h.Status == doctor.Warning && strict:
		return quietExit(exitFindings)
	}
	return nil
}
