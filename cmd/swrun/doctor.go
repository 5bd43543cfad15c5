package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/doctor"
	"github.com/swrun/swrun/internal/terminal"
)

func (p *program) doctorCommand() *cobra.Command {
	f, strict := &operateFlags{}, false
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check what a store needs, and whether it is well",
		Example: "  swrun doctor --store redis://localhost:6379",
		Long: `Exit 0: all is well, perhaps with warnings; 7: something would lose runs, or the store cannot be reached. With --strict a warning ends
with 13; notes never count. GET /v1/health of swrun serve answers with the same checks.`,
		Args: exactly(), RunE: verb(func([]string) error { return p.doctor(f, strict) }),
	}
	f.add(cmd, "human", "json")
	cmd.Flags().BoolVar(&strict, "strict", false, "exit with 13 if there is a warning")
	return cmd
}

func (p *program) doctor(f *operateFlags, strict bool) error {
	printer, err := f.printer(p)
	if err != nil {
		return err
	}
	ctx, _, stop := p.interruptible()
	defer stop()
	var found []doctor.Finding
	_, because := f.location(p)
	f.looks = true
	s, err := f.open(ctx, p)
	var exit *exitError
	switch {
	case errors.As(err, &exit) && exit.code == exitUsage:
		return err
	case err != nil:
		fix := "correct the server or --store, and run doctor again"
		if exit != nil && exit.hint != doctorHint {
			fix = exit.hint
		}
		found = append(found, doctor.Unopened(err, because, fix))
	case s.missing != "":
		found = append(found, doctor.Missing(s.missing, because))
	default:
		defer s.Close() // it was only looked at
		found = append(found, doctor.Opened(s.Store, because))
		found = append(found, doctor.Examine(ctx, s.Store, p.now)...)
	}
	return (&operation{program: p, flags: f, printer: printer}).diagnose(doctor.Report(found), strict)
}

// diagnose prints what doctor has found, and ends with the exit code that it means.
func (o *operation) diagnose(h api.Health, strict bool) error {
	if o.flags.output == "json" {
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
