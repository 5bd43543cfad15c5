package dsl_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/dsl"
)

// TestParseDuration reads ISO 8601 as the DSL's pattern allows it.
func TestParseDuration(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		text    string
		want    dsl.Duration
		written string
	}{
		{"PT2S", dsl.Duration{Exact: 2 * time.Second}, "PT2S"},
		{"PT0S", dsl.Duration{}, "PT0S"},
		{"PT0.5S", dsl.Duration{Exact: 500 * time.Millisecond}, "PT0.5S"},
		{"PT1.000000001S", dsl.Duration{Exact: time.Second + 1}, "PT1.000000001S"},
		{"PT0.1S", dsl.Duration{Exact: 100 * time.Millisecond}, "PT0.1S"},
		{"PT0.3S", dsl.Duration{Exact: 300 * time.Millisecond}, "PT0.3S"},
		{"PT100000.123456789S", dsl.Duration{Exact: 100_000*time.Second + 123_456_789}, "P1DT3H46M40.123456789S"},
		{"PT1.5H", dsl.Duration{Exact: 90 * time.Minute}, "PT1H30M"},
		{"PT0.1H", dsl.Duration{Exact: 6 * time.Minute}, "PT6M"},
		{"P1W", dsl.Duration{Exact: 7 * day}, "P7D"},
		{"P1Y2M3W4DT5H6M7.5S", dsl.Duration{Years: 1, Months: 2, Exact: 25*day + 5*time.Hour + 6*time.Minute + 7500*time.Millisecond}, "P1Y2M25DT5H6M7.5S"},
		{"P1.0Y", dsl.Duration{Years: 1}, "P1Y"},
		{"P14M", dsl.Duration{Months: 14}, "P14M"},
		{"PT1H2M", dsl.Duration{Exact: 62 * time.Minute}, "PT1H2M"},
		{"PT876000H", dsl.Duration{Exact: 876000 * time.Hour}, "P36500D"},
	} {
		got, err := dsl.ParseDuration(c.text)
		if err != nil || got != c.want || got.String() != c.written {
			t.Errorf("%s: got %+v, %v, written %s", c.text, got, err, got)
		}
	}
}

// TestParseDurationRefuses: text that the pattern does not match, and a duration that is out of range, are refused.
func TestParseDurationRefuses(t *testing.T) {
	for _, text := range []string{
		"", "P", "PT", "P1DT", "1S", "T1S", "PT1", "PT1,5S", "-PT1S", "PT-1S", "P1M1Y", "PT1H2H", "PT1S1M", "pt1s", " PT1S", "PT1S\n",
		"P0.5Y", "P1.5M", "PT99999999999H", "PT1e3S", "P101Y", "P1201M", "PT.5S", "PT1.S", "P٣D", strings.Repeat("9", 400) + "S",
		"PT" + strings.Repeat("9", 400) + "S", "P" + strings.Repeat("9", 400) + "Y",
	} {
		if d, err := dsl.ParseDuration(text); err == nil {
			t.Errorf("%q is read as %v", text, d)
		}
	}
}

// TestDurationValue reads values of expressions.
func TestDurationValue(t *testing.T) {
	for _, c := range []struct {
		name string
		v    any
		want string
	}{
		{"text", "PT90S", "PT1M30S"},
		{"an object", map[string]any{"minutes": 1, "seconds": 30}, "PT1M30S"},
		{"whole floats, as JSON has them", map[string]any{"days": 1.0}, "P1D"},
		{"a json.Number", map[string]any{"seconds": json.Number("5")}, "PT5S"},
		{"zero", map[string]any{"seconds": 0}, "PT0S"},
	} {
		if got, err := dsl.DurationValue(c.v); err != nil || got.String() != c.want {
			t.Errorf("%s: got %v, %v, want %s", c.name, got, err, c.want)
		}
	}
	for _, c := range []struct {
		name, want string
		v          any
	}{
		{"nothing", "must be ISO 8601 text", nil},
		{"a number", "must be ISO 8601 text", 5},
		{"an empty object", "must be ISO 8601 text", map[string]any{}},
		{"other text", "is not an ISO 8601 duration", "5s"},
		{"an unknown unit", "not a duration unit", map[string]any{"second": 1}},
		{"a fraction", "whole number", map[string]any{"seconds": 1.5}},
		{"text for a number", "whole number", map[string]any{"seconds": "1"}},
		{"a negative number", "must not be negative", map[string]any{"seconds": -1}},
		{"too long", "hundred years", map[string]any{"days": 40_000}},
		{"too long in sum", "hundred years", map[string]any{"days": 36_000, "hours": 24_000}},
		{"a number too large for all", "", map[string]any{"days": json.Number("99999999999999999999999")}},
		{"a float too large for an int", "", map[string]any{"days": 1e300}},
	} {
		if got, err := dsl.DurationValue(c.v); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, %v, want %q", c.name, got, err, c.want)
		}
	}
}

// TestAddTo adds years and months by the calendar.
func TestAddTo(t *testing.T) {
	start := time.Date(2027, 12, 31, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{"P1M": "2028-01-31", "P1Y": "2028-12-31", "P1D": "2028-01-01", "P1Y1MT24H": "2029-02-01"} {
		d, err := dsl.ParseDuration(text)
		if got := d.AddTo(start).Format(time.DateOnly); err != nil || got != want {
			t.Errorf("%s: got %s, %v, want %s", text, got, err, want)
		}
	}
}
