package dsl

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/swrun/swrun/errors"
)

// This file is how people write spans of time outside of documents: 2h30m, 1d, 1.5s.

// spanUnit is a unit of such a span.
type spanUnit struct {
	name   string
	length time.Duration
}

// spanUnits are the units that spans are shown in, the longest first.
func spanUnits() []spanUnit {
	return []spanUnit{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond}}
}

// readUnits are the units that are read besides.
func readUnits() []spanUnit {
	return append(spanUnits(), spanUnit{"w", 7 * 24 * time.Hour}, spanUnit{"us", time.Microsecond}, spanUnit{"µs", time.Microsecond}, spanUnit{"ns", 1})
}

// Span writes a span of time as people do: 2d4h, 5m, 1.5s, 250ms. ParseSpan reads it back.
func Span(d time.Duration) string {
	if d == 0 {
		return "0s"
	}
	var b strings.Builder
	if d < 0 {
		b.WriteByte('-')
	}
	rest := uint64(max(d, -d)) // also of the least duration, which has no opposite
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
	for _, unit := range spanUnits()[:3] {
		if n := rest / uint64(unit.length); n > 0 {
			b.WriteString(strconv.FormatUint(n, 10) + unit.name)
			rest %= uint64(unit.length)
		}
	}
	if rest > 0 {
		b.WriteString(fraction(time.Second) + "s")
	}
	return b.String()
}

// RoughSpan writes a span as precisely as people want to know how long something took or will take: milliseconds below a
// second, tenths below a minute, and above that its two largest units.
func RoughSpan(d time.Duration) string {
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
	return Span(size)
}

var (
	spanPattern = regexp.MustCompile(`^(?:\d+(?:\.\d+)?(?:ms|us|µs|ns|w|d|h|m|s))+$`)
	spanPart    = regexp.MustCompile(`(\d+)(?:\.(\d+))?(ms|us|µs|ns|w|d|h|m|s)`)
	plainNumber = regexp.MustCompile(`^\d+(\.\d+)?$`)
)

var errTooLong = errors.New("is longer than a hundred years")

// ParseSpan reads a span of time as people write it (2h30m, 1d, 1w), as Span does, or in ISO 8601 (PT2H30M). It must have
// a fixed length: no years and no months. It is not negative, and at most a hundred years.
func ParseSpan(text string) (time.Duration, error) {
	switch {
	case text == "0":
		return 0, nil
	case plainNumber.MatchString(text):
		return 0, fmt.Errorf("%s has no unit, for example %ss or %sm", quoted(text), text, text)
	case strings.HasPrefix(text, "-"):
		return 0, fmt.Errorf("%s is negative", quoted(text))
	case spanPattern.MatchString(text):
		return parseParts(text)
	}
	d, err := ParseDuration(text)
	switch {
	case err != nil && strings.HasPrefix(text, "P"):
		return 0, err
	case err != nil:
		return 0, fmt.Errorf("%s is no duration such as 90s, 2h30m, 1d or PT2H30M", quoted(text))
	case d.Years != 0 || d.Months != 0:
		return 0, fmt.Errorf("%s has years or months, whose length depends on the date; write days", quoted(text))
	}
	return d.Exact, nil
}

func parseParts(text string) (sum time.Duration, err error) {
	for _, m := range spanPart.FindAllStringSubmatch(text, -1) {
		var part time.Duration
		for _, unit := range readUnits() {
			if unit.name == m[3] {
				part, err = spanLength(m[1], m[2], unit.length)
			}
		}
		if err != nil || part > MaxDuration-sum {
			return 0, fmt.Errorf("%s %w", quoted(text), errTooLong)
		}
		sum += part
	}
	return sum, nil
}

// spanLength returns whole.fraction units, in whole nanoseconds.
func spanLength(whole, fraction string, unit time.Duration) (time.Duration, error) {
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || n > int64(MaxDuration/unit) {
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
