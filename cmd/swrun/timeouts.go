package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/duration"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/client"
)

// timeoutFlags are the flags of start and run that limit the time of a run.
type timeoutFlags struct{ execution, run, deadline string }

func (f *timeoutFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.execution, "execution-timeout", "", "timeout of the whole execution, at least 1s; replaces the timeout of the document, none removes it")
	flags.StringVar(&f.run, "run-timeout", "", "timeout of one run of the execution, at least 1s; replaces the run timeout of the document, none removes it")
	flags.StringVar(&f.deadline, "deadline", "", "time at which the execution ends at the latest, for example 2026-12-24T18:00:00Z")
}

// read adds the values of the flags to the options of a start.
func (f *timeoutFlags) read(o *client.StartOptions) (err error) {
	if o.ExecutionTimeout, err = parseTimeout("--execution-timeout", f.execution); err != nil {
		return err
	}
	if o.RunTimeout, err = parseTimeout("--run-timeout", f.run); err != nil {
		return err
	}
	if f.deadline != "" {
		if o.Deadline, err = client.ParseTime(f.deadline); err != nil {
			return usagef("", "--deadline: %s", err)
		}
	}
	return nil
}

func parseTimeout(flag, text string) (time.Duration, error) {
	if text == "none" {
		return client.NoTimeout, nil
	}
	if text == "" {
		return 0, nil
	}
	d, err := duration.ParseSigned(text)
	if err != nil {
		return 0, spanError(flag, err)
	}
	var short *client.OptionError
	if errors.As(client.CheckTimeout(flag, d), &short) {
		return d, usagef("", "%s %s", flag, short.Detail)
	}
	return d, nil
}

// notPast refuses a deadline that is not in the future.
func (f *timeoutFlags) notPast(o client.StartOptions, now time.Time) error {
	if late, is := o.Late(now); is {
		return usagef("give a time in the future, for example "+api.Time(now.Add(time.Hour).Truncate(time.Second)), "--deadline %s is past, by %s", f.deadline, terminal.Elapsed(late))
	}
	return nil
}
