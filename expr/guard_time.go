package expr

import (
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
