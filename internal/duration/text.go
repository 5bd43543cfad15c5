// Package duration parses and formats lengths of time outside of documents, such as 2h30m or 1.5s, and parses ISO 8601. Flags, logs, messages and
// package dsl use it. It knows nothing about workflows, and never reads a clock.
package duration

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/swrun/swrun/internal/lazyregexp"
	"github.com/swrun/swrun/internal/shorten"
)

// unit is a unit of time with its name.
type unit struct {
	name   string
	length time.Duration
}

// writtenUnits are the units of Format, the longest first.
func writtenUnits() []unit {
	return []unit{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond}}
}

// readUnits are the units of Parse.
func readUnits() []unit {
	return append(writtenUnits(), unit{"w", 7 * 24 * time.Hour}, unit{"us", time.Microsecond}, unit{"µs", time.Microsecond}, unit{"ns", 1})
}

// Format formats a duration for people: 2d4h, 5m, 1.5s, 250ms. Parse reads it back.
func Format(d time.Duration) string {
	if d == 0 {
		return "0s"
	}
	var b strings.Builder
	if d < 0 {
		b.WriteByte('-')
	}
	rest := uint64(max(d, -d)) // the smallest duration too, which has no negative
	fraction := func(unit time.Duration) string {
		text := strconv.FormatUint(rest/uint64(unit), 10)
		if below := rest % uint64(unit); below > 0 {
			digits := len(strconv.FormatInt(int64(unit), 10)) - 1
			text += "." + strings.TrimRight(fmt.Sprintf("%0*d", digits, below), "0")
		}
		return text
	}
	if rest < uint64(time.Second) {
		return b.String() + fraction(time.Millisecond) + "ms"
	}
	for _, u := range writtenUnits()[:3] {
		if n := rest / uint64(u.length); n > 0 {
			b.WriteString(strconv.FormatUint(n, 10) + u.name)
			rest %= uint64(u.length)
		}
	}
	if rest > 0 {
		b.WriteString(fraction(time.Second) + "s")
	}
	return b.String()
}

// FormatRough formats a duration with the precision that people need for elapsed and remaining times: milliseconds below a second, tenths below a
// minute, and above that its two largest units.
func FormatRough(d time.Duration) string {
	size := max(d, -d)
	switch {
	case 0 < size && size < time.Millisecond:
		size = time.Millisecond
	case size < time.Second-time.Millisecond/2:
		size = size.Round(time.Millisecond)
	case size < time.Minute-50*time.Millisecond:
		size = size.Round(100 * time.Millisecond)
	case size < time.Hour-time.Second/2:
		size = size.Round(time.Second)
	case size < 24*time.Hour-time.Minute/2:
		size = size.Round(time.Minute)
	default:
		size = size.Round(time.Hour)
	}
	if d < 0 {
		size = -size
	}
	return Format(size)
}

var (
	shortPattern = lazyregexp.New(`^(?:\d+(?:\.\d+)?(?:ms|us|µs|ns|w|d|h|m|s))+$`)
	shortPart    = lazyregexp.New(`(\d+)(?:\.(\d+))?(ms|us|µs|ns|w|d|h|m|s)`)
	plainNumber  = lazyregexp.New(`^\d+(\.\d+)?$`)
)

// ParseSigned is Parse for durations that may be negative: the caller reports the minimum.
func ParseSigned(text string) (time.Duration, error) {
	if rest, negative := strings.CutPrefix(text, "-"); negative && !strings.HasPrefix(rest, "-") {
		d, err := Parse(rest)
		return -d, err
	}
	return Parse(text)
}

var errTooLong = errors.New("is longer than a hundred years")

// Parse parses a duration in the forms of people (2h30m, 1d, 1w), of Format, or of ISO 8601 (PT2H30M). Its length must be fixed: years and months are
// refused. It is not negative, and at most a hundred years.
func Parse(text string) (time.Duration, error) {
	switch {
	case text == "0":
		return 0, nil
	case plainNumber().MatchString(text):
		return 0, fmt.Errorf("%s has no unit, for example %ss or %sm", shorten.Quoted(text), text, text)
	case strings.HasPrefix(text, "-"):
		return 0, fmt.Errorf("%s is negative", shorten.Quoted(text))
	case shortPattern().MatchString(text):
		return parseParts(text)
	}
	d, err := ParseISO(text)
	switch {
	case err != nil && strings.HasPrefix(text, "P"):
		return 0, err
	case err != nil:
		return 0, fmt.Errorf("%s is not a duration such as 90s, 2h30m, 1d or PT2H30M", shorten.Quoted(text))
	case d.Years != 0 || d.Months != 0:
		return 0, fmt.Errorf("%s has years or months, whose length depends on the date; write days", shorten.Quoted(text))
	}
	return d.Exact, nil
}

func parseParts(text string) (sum time.Duration, err error) {
	for _, m := range shortPart().FindAllStringSubmatch(text, -1) {
		var part time.Duration
		for _, u := range readUnits() {
			if u.name == m[3] {
				part, err = amountOf(m[1], m[2], u.length)
			}
		}
		if err != nil || part > Max-sum {
			return 0, fmt.Errorf("%s %w", shorten.Quoted(text), errTooLong)
		}
		sum += part
	}
	return sum, nil
}

// amountOf returns whole.fraction units, in whole nanoseconds.
func amountOf(whole, fraction string, unit time.Duration) (time.Duration, error) {
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || n > int64(Max/unit) {
		return 0, errTooLong
	}
	d := time.Duration(n) * unit
	if fraction != "" {
		part, err := strconv.ParseFloat("0."+fraction, 64)
		if err != nil {
			return 0, err
		}
		d += amount(part, unit)
	}
	return d, nil
}
