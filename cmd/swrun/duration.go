package main

import (
	"strconv"
	"strings"
	"time"

	"github.com/swrun/swrun/dsl"
)

// elapsed shows how long something took, or has left: 3ms, 1.5s, 4m47s, 30d. What is less than nothing is nothing.
func elapsed(d time.Duration) string { return dsl.RoughSpan(max(d, 0)) }

// written shows a duration of the document.
func written(d *dsl.Duration) string {
	if d.Expression != "" {
		return printable(bounded(d.Expression, 40))
	}
	var parts []string
	if d.Years != 0 {
		parts = append(parts, strconv.Itoa(d.Years)+"y")
	}
	if d.Months != 0 {
		parts = append(parts, strconv.Itoa(d.Months)+"mo")
	}
	if d.Exact != 0 || len(parts) == 0 {
		parts = append(parts, dsl.Span(d.Exact))
	}
	return strings.Join(parts, "")
}

// parseSpan reads the value of a flag that is a span of time; none is 0.
func parseSpan(flag, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := dsl.ParseSpan(text)
	if err != nil {
		return 0, usagef("for example 90s, 2h30m, 1d or PT2H30M", "%s: %s", flag, err)
	}
	return d, nil
}
