package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/swrun/swrun/internal/shorten"
)

// once is the value of a flag that takes one value. It refuses a second, different value: that value could add to the first or replace it, and a
// command that cancels runs must not guess.
type once struct {
	pflag.Value
	given string // the value on the command line
	is    bool   // a value was given
}

// Set sets the value, and refuses a different second value.
func (o *once) Set(text string) error {
	if o.is && text != o.given {
		return &givenTwiceError{first: o.given, second: text}
	}
	if err := o.Value.Set(text); err != nil {
		return err
	}
	o.given, o.is = text, true
	return nil
}

// givenTwiceError is the error of a flag that takes one value and got two.
type givenTwiceError struct{ first, second string }

// Error shows both values.
func (e *givenTwiceError) Error() string {
	return fmt.Sprintf("is given twice, as %q and as %q", shorten.To(e.first, maxShownValue), shorten.To(e.second, maxShownValue))
}

// hint returns how to use the flag with one value.
func (e *givenTwiceError) hint(flag string) string {
	switch flag {
	case "where":
		return "write all conditions in one --where, with spaces between them: all of them must hold"
	case "status", "workflow", "business-key":
		return "--where takes several values with commas between them, for example --where status=failed,cancelled"
	}
	return "give it once"
}

// takeOnce restricts every flag of a command, and of its subcommands, to one value, except for lists.
func takeOnce(cmd *cobra.Command) {
	wrap := func(f *pflag.Flag) {
		_, list := f.Value.(pflag.SliceValue)
		if _, wrapped := f.Value.(*once); !list && !wrapped {
			f.Value = &once{Value: f.Value}
		}
	}
	cmd.Flags().VisitAll(wrap)
	cmd.PersistentFlags().VisitAll(wrap)
	for _, below := range cmd.Commands() {
		takeOnce(below)
	}
}
