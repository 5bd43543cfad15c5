package main

import (
	"time"

	"github.com/swrun/swrun/internal/duration"
)

// parseSpan reads the value of a flag that is a span of time; an empty text is 0.
func parseSpan(source, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := duration.Parse(text)
	if err != nil {
		return 0, spanError(source, err)
	}
	return d, nil
}

// spanError returns the error of a flag whose value is no span of time.
func spanError(flag string, err error) error {
	return usagef("for example 90s, 2h30m, 1d or PT2H30M", "%s: %s", flag, err)
}
