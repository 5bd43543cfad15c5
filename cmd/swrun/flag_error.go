package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/suggest"
)

// flagError adds the flag that was probably meant.
func flagError(cmd *cobra.Command, err error) error {
	if before := cmd.Flags().Args(); cmd.HasSubCommands() && len(before) > 0 { // its flags are not the mistake
		return unknownCommand(cmd, before[0])
	}
	message := err.Error()
	if name, ok := strings.CutPrefix(message, "unknown flag: --"); ok {
		if near := suggest.Nearest(name, flagNames(cmd)); near != "" {
			message += ", did you mean --" + near + "?"
		}
	}
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		message = invalidValue(invalid)
	}
	var twice *givenTwiceError
	if errors.As(err, &twice) {
		name := invalid.GetFlag().Name
		return usagef(twice.hint(name), "--%s %s", name, twice)
	}
	return usagef(flagHint(cmd, strings.TrimPrefix(err.Error(), "unknown flag: --")), "%s", message)
}

// invalidValue returns the message about an invalid value of a flag.
func invalidValue(e *pflag.InvalidValueError) string {
	takes := map[string]string{"bool": "true or false", "int": "a whole number", "float64": "a number"}[e.GetFlag().Value.Type()]
	value := shorten.To(e.GetValue(), maxShownValue)
	switch {
	case takes == "":
		return e.Error()
	case errors.Is(e, strconv.ErrRange):
		return fmt.Sprintf("--%s takes %s, and %s is too large", e.GetFlag().Name, takes, value)
	}
	return fmt.Sprintf("--%s takes %s, got %q", e.GetFlag().Name, takes, value)
}

// maxShownValue is the maximum length of a flag's wrong value in a message, in bytes.
const maxShownValue = 60
