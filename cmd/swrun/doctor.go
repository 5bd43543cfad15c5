package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/doctor"
	"github.com/swrun/swrun/internal/terminal"
)

func (p *program) doctorCommand() *cobra.Command {
	f := &operateFlags{}
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check what a store needs, and whether it is well",
		Example: "  swrun doctor --store redis://localhost:6379",
		Long:    "Exit 0: all is well, perhaps with warnings; 7: something would lose runs, or the store cannot be reached.",
		Args:    exactly(), RunE: verb(func([]string) error { return p.doctor(f) }),
	}
	f.add(cmd, "human", "json")
	return cmd
}

// opened is the check whether the store can be opened.
const opened = "SD001"

func (p *program) doctor(f *operateFlags) error {
	if err := f.check(); err != nil {
		return err
	}
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
	if errors.As(err, &exit) && exit.code == exitUsage {
		return err
	}
	if err != nil {
		fix := "correct the server or --store, and run doctor again"
		if exit != nil && exit.hint != doctorHint {
			fix = exit.hint
		}
		found = append(found, doctor.Finding{Code: opened, Level: doctor.Error, What: err.Error() + " (" + because + ")", Fix: fix})
	} else if s.missing != "" {
		found = append(found, doctor.Finding{Code: opened, Level: doctor.OK, What: fmt.Sprintf("there is no store yet: the first run makes %s (%s)", s, because)})
	} else {
		defer s.Close() // it was only looked at
		found = append(found, doctor.Finding{Code: opened, Level: doctor.OK, What: fmt.Sprintf("the store %s can be opened and written to: %s (%s)", s, doctor.Layout(s.Layout()), because)})
		found = append(found, doctor.Examine(ctx, s.Store, p.now)...)
	}
	return (&operation{program: p, flags: f, printer: printer}).diagnose(found)
}

func (o *operation) diagnose(found []doctor.Finding) error {
	worst := doctor.OK
	values := []doctor.Finding{}
	l := o.outStyle()
	for _, x := range found {
		if x.Level == doctor.Error || worst == doctor.OK {
			worst = x.Level
		}
		values = append(values, x)
		if o.flags.output == "human" {
			fmt.Fprintln(o.out, l.Text(fmt.Sprintf("%-8s %s  %s", x.Level, x.Code, terminal.Printable(x.What))))
			if x.Fix != "" {
				fmt.Fprintln(o.out, l.Text("         fix: "+terminal.Printable(x.Fix)))
			}
		}
	}
	if o.flags.output == "json" {
		if err := o.print(map[string]any{"schema": "swrun/v1/doctor", "level": worst, "findings": values}); err != nil {
			return err
		}
	}
	if worst == doctor.Error {
		return quietExit(exitStore)
	}
	return nil
}
