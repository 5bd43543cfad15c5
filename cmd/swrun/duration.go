package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/swrun/swrun/dsl"
)

// elapsed shows how long something took: 3ms, 1.0s, 4m47s, 30d.
func elapsed(d time.Duration) string {
	switch {
	case d < 0:
		return "0ms"
	case d < time.Millisecond && d > 0:
		return "1ms"
	case d.Round(time.Millisecond) < time.Second:
		return fmt.Sprintf("%dms", d.Round(time.Millisecond).Milliseconds())
	case d.Round(100*time.Millisecond) < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + "s"
	}
	return span(d.Round(time.Second))
}

// left shows how much time remains, exactly only while it is short.
func left(d time.Duration) string {
	if d < 10*time.Second {
		return strconv.FormatFloat(max(d, 0).Seconds(), 'f', 1, 64) + "s"
	}
	return span(d.Round(time.Second))
}

// span shows a length of time as people write it, in up to two units once it has minutes: 1.5s, 5m, 2d4h.
func span(d time.Duration) string {
	if d < time.Second {
		return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', -1, 64) + "ms"
	}
	if d < time.Minute {
		return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
	}
	var parts []string
	rest := d.Round(time.Second)
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if n := rest / unit.length; n > 0 {
			parts = append(parts, strconv.Itoa(int(n))+unit.name)
			rest -= n * unit.length
		}
	}
	return strings.Join(parts[:min(2, len(parts))], "")
}

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
		parts = append(parts, span(d.Exact))
	}
	return strings.Join(parts, "")
}
