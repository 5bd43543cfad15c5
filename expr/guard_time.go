package expr

import (
	"strings"
	"time"

	"github.com/itchyny/timefmt-go"
)

// parseTime replaces jq's strptime, which takes the names of time zones (%Z) from the host: here only UTC is known.
func parseTime(f native, input any, args []any) any {
	s, ok := input.(string)
	format, isText := args[0].(string)
	if !ok || !isText {
		return f(input, args)
	}
	if !meterOf(args).chargeWork(len(s) + len(format)) {
		return haltError()
	}
	t, err := timefmt.ParseInLocation(s, format, time.UTC)
	if err != nil {
		return f(input, args) // which returns the error
	}
	t = t.UTC()
	return []any{
		t.Year(), int(t.Month()) - 1, t.Day(), t.Hour(), t.Minute(),
		float64(t.Second()) + float64(t.Nanosecond())/1e9, int(t.Weekday()), t.YearDay() - 1,
	}
}

// nativeSeconds is the function that reads a date in the form of RFC 3339. Programs cannot contain its name, because it is not a known name.
const nativeSeconds = "_seconds"

// secondsOf returns the seconds since 1970 of a date, with the fraction that it may contain; nil if the input is no date.
func secondsOf(input any, _ []any) any {
	text, ok := input.(string)
	if !ok {
		return nil
	}
	t, err := time.Parse(time.RFC3339Nano, strings.ToUpper(text))
	switch {
	case err != nil:
		return nil
	case t.Nanosecond() == 0:
		return int(t.Unix())
	}
	return float64(t.Unix()) + float64(t.Nanosecond())/1e9
}
