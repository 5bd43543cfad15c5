package dsl

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/swrun/swrun/internal/lazyregexp"
)

var (
	clockTime    = lazyregexp.New(`^(\d+):([0-5]\d)(?::([0-5]\d))?$`)
	countedUnit  = lazyregexp.New(`(\d+)\s*(seconds?|secs?|s|minutes?|mins?|m|hours?|h|days?|d|weeks?|w)\b`)
	countedUnits = lazyregexp.New(`^(?:\d+\s*[a-z]+(?:\s*,\s*|\s+and\s+|\s+)?)+$`)
	dateAndTime  = lazyregexp.New(`^\d{4}-\d\d-\d\d(?:[T ]|$)`)
	withoutT     = lazyregexp.New(`^P(\d+)([SH])$`)
	daysAfterT   = lazyregexp.New(`^PT(\d+)D$`)
	repeated     = lazyregexp.New(`^R\d*/(P.+)$`)
	numbersOf    = lazyregexp.New(`^\s*[v^~=<>\s]*(\d+)(?:[.-](\d+|[x*]))?(?:[.-](\d+|[x*]))?(?:\.\d+)?\s*$`)
	everyMinutes = lazyregexp.New(`^(?:every\s+|\*/)(\d+)\s*(?:min|minutes?)$`)
	rateOf       = lazyregexp.New(`^(?:rate\((.+)\)|@every\s+(.+))$`)
	cronOf       = lazyregexp.New(`^cron\((.+)\)$`)
)

// durationElsewhere returns the ISO 8601 form of a duration in the notation of other tools, such as 00:00:05, 1 hour 30 minutes, P5S and R/PT5M, or "".
func durationElsewhere(text string) string {
	upper := strings.ToUpper(strings.TrimSpace(text))
	if m := clockTime().FindStringSubmatch(upper); m != nil {
		hours, minutes, seconds := m[1], m[2], m[3]
		if seconds == "" {
			return "" // minutes and seconds, or hours and minutes
		}
		return likelyDuration(fmt.Sprintf("PT%sH%sM%sS", hours, minutes, seconds))
	}
	if joined := strings.Join(strings.Fields(upper), ""); joined != upper && strings.HasPrefix(joined, "P") && likelyDuration(joined) != "" {
		return likelyDuration(joined)
	}
	if m := withoutT().FindStringSubmatch(upper); m != nil {
		return likelyDuration("PT" + m[1] + m[2])
	}
	if m := daysAfterT().FindStringSubmatch(upper); m != nil {
		return likelyDuration("P" + m[1] + "D")
	}
	if m := repeated().FindStringSubmatch(upper); m != nil {
		return likelyDuration(m[1])
	}
	if lower := strings.ToLower(text); countedUnits().MatchString(lower) {
		return likelyDuration(countedDuration(lower))
	}
	return ""
}

// countedDuration returns the ISO 8601 form of several numbers with their units: 1 hour 30 minutes.
func countedDuration(text string) string {
	date, clock := "", ""
	for _, m := range countedUnit().FindAllStringSubmatch(text, -1) {
		if unit := strings.ToUpper(m[2][:1]); unit == "D" || unit == "W" {
			date += m[1] + unit
		} else {
			clock += m[1] + unit
		}
	}
	if clock != "" {
		clock = "T" + clock
	}
	return "P" + date + clock
}

// likelyDuration returns a duration in its shortest form, or "" if the text is no duration.
func likelyDuration(text string) string {
	d, err := ParseDuration(text)
	if err != nil {
		return ""
	}
	return d.String()
}

// helpWithDuration returns the help for text that is no duration, and that cannot be repaired automatically.
func helpWithDuration(text string) string {
	text = strings.TrimSpace(text)
	fields := len(strings.Fields(text))
	clock := clockTime().FindStringSubmatch(text)
	switch {
	case clock != nil && clock[3] == "":
		return fmt.Sprintf("write `%s` for minutes and seconds, or `%s` for hours and minutes",
			likelyDuration(fmt.Sprintf("PT%sM%sS", clock[1], clock[2])), likelyDuration(fmt.Sprintf("PT%sH%sM", clock[1], clock[2])))
	case strings.HasPrefix(text, "."), strings.HasPrefix(text, "$") && !strings.Contains(text, "{"):
		return fmt.Sprintf("an expression needs `${ }`: write `'${ %s }'`", oneLine(text))
	case strings.HasPrefix(text, "-"):
		return "a duration cannot be negative"
	case dateAndTime().MatchString(text):
		return untilTime
	case fields == 5 && strings.ContainsAny(text, "*/"), strings.HasPrefix(text, "@"):
		return fmt.Sprintf("write a cron expression below `cron`: `cron: '%s'`", oneLine(text))
	case regexp.MustCompile(`^PT?\d+$`).MatchString(text):
		count := strings.TrimLeft(text, "PT")
		return fmt.Sprintf("a unit is missing: `PT%sS` counts seconds, and `PT%sM` counts minutes", count, count)
	}
	return ""
}

// untilTime is the help for a time in the place of a duration.
const untilTime = "a task waits for a length of time, and not until one: compute it, for example `'${ \"PT\\((.at | fromdate) - now | floor)S\" }'`"

// likelyVersion returns the version that was probably meant by text such as v1, 1.0, ^1.2.0 or 2026-01-31, or "".
func likelyVersion(text string) string {
	m := numbersOf().FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	parts := make([]string, 3)
	for i, digits := range m[1:4] {
		n, _ := strconv.Atoi(digits) // x, and an empty number, count as 0
		parts[i] = strconv.Itoa(n)
	}
	if version := strings.Join(parts, "."); IsVersion(version) {
		return version
	}
	return ""
}

// cronElsewhere returns the replacement of a schedule of another tool in the place of a cron expression.
func cronElsewhere(text string) string {
	text = strings.TrimSpace(text)
	yearLast := cronOf().FindStringSubmatch(text)
	if yearLast != nil {
		text = yearLast[1]
	}
	fields := strings.Fields(text)
	if length := meantDuration(text); length != "" {
		return fmt.Sprintf("write `every: %s` in the place of `cron`", length)
	}
	if m := rateOf().FindStringSubmatch(text); m != nil {
		if length := meantDuration(m[1] + m[2]); length != "" {
			return fmt.Sprintf("write `every: %s` in the place of `cron`", length)
		}
	}
	if m := everyMinutes().FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("write `*/%s * * * *`, or `every: { minutes: %s }` in the place of `cron`", m[1], m[1])
	}
	switch {
	case len(fields) == 6 && yearLast != nil:
		return fmt.Sprintf("write `%s`, without a year", oneLine(strings.Join(fields[:5], " ")))
	case len(fields) == 7 || len(fields) == 6: // seconds come first
		return fmt.Sprintf("write `%s`, without seconds", oneLine(strings.Join(fields[1:6], " ")))
	case len(fields) == 5 && fields[1] == "24":
		return "midnight is hour 0: " + fmt.Sprintf("`%s 0 %s`", oneLine(fields[0]), oneLine(strings.Join(fields[2:], " ")))
	case strings.Contains(text, "*/60"):
		return "write `0 * * * *` for every hour"
	case text == "@reboot" || text == "@startup":
		return "a schedule does not know when a machine starts: start the workflow by `swrun run` there"
	}
	return "for example `0 9 * * MON-FRI`: at nine on every working day"
}
