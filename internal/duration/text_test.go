package duration_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/duration"
)

const day = 24 * time.Hour

func TestFormat(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0s": 0, "1ms": time.Millisecond, "0.000001ms": 1, "250ms": 250 * time.Millisecond, "1s": time.Second, "1.5s": 1500 * time.Millisecond,
		"1m": time.Minute, "1m0.000000001s": time.Minute + 1, "2h30m": 150 * time.Minute, "1d": day, "100d": 100 * day, "2d4h0.25s": 2*day + 4*time.Hour + 250*time.Millisecond,
		"-5s": -5 * time.Second, "-106751d23h47m16.854775808s": math.MinInt64,
	} {
		if got := duration.Format(d); got != want {
			t.Errorf("Format(%d) = %q, want %q", d, got, want)
		}
	}
}

func TestParseReadsWhatFormatWrites(t *testing.T) {
	check := func(d time.Duration) {
		t.Helper()
		if got, err := duration.Parse(duration.Format(d)); err != nil || got != d {
			t.Errorf("Parse(Format(%d) = %q) = %d, %v", d, duration.Format(d), got, err)
		}
	}
	const seed = 7
	r := rand.New(rand.NewPCG(seed, seed))
	for range 20_000 {
		d := time.Duration(r.Int64N(int64(100 * 366 * day)))
		check(d)
		check(d.Truncate(time.Millisecond))
		check(d % (2 * time.Minute))
		check(d % time.Second)
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "1d": day, "100d": 100 * day, "1w": 7 * day, "1w2d": 9 * day, "2h30m": 150 * time.Minute, "PT5M": 5 * time.Minute, "P1DT12H": 36 * time.Hour, "P2W": 14 * day,
		"1.5h": 90 * time.Minute, "90s": 90 * time.Second, "500us": 500 * time.Microsecond, "3µs": 3 * time.Microsecond, "7ns": 7, "36600d": 36600 * day,
	} {
		if got, err := duration.Parse(text); err != nil || got != want {
			t.Errorf("Parse(%q) = %s, %v, want %s", text, got, err, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"": "not a duration", " ": "not a duration", "30": "has no unit, for example 30s", "1.5": "has no unit", "-5m": "is negative", "5 m": "not a duration", "1y": "not a duration", "m": "not a duration",
		"1d ": "not a duration", "P": "ISO 8601", "PT": "ISO 8601", "P1M": "years or months", "P1Y": "years or months", "36601d": "a hundred years", "9999999999999999999d": "a hundred years",
		"36600d1ns": "a hundred years", strings.Repeat("9", 400) + "h": "a hundred years", "1e3s": "not a duration", "٣s": "not a duration", "1,5s": "not a duration", ".5s": "not a duration", "Inf": "not a duration",
	} {
		if got, err := duration.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%.40q) = %s, %v, want an error with %q", text, got, err, want)
		}
	}
}

func TestFormatRough(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0s": 0, "1ms": 1, "3ms": 2700 * time.Microsecond, "1s": 999_700 * time.Microsecond, "1.5s": 1490 * time.Millisecond, "1m": 59_960 * time.Millisecond,
		"4m47s": 4*time.Minute + 47_300*time.Millisecond, "1h": time.Hour - 400*time.Millisecond, "2h30m": 150*time.Minute + 20*time.Second, "1d": day - 1, "2d4h": 52*time.Hour + 20*time.Minute,
		"-5s": -5 * time.Second,
	} {
		if got := duration.FormatRough(d); got != want {
			t.Errorf("RoughFormat(%d) = %q, want %q", d, got, want)
		}
	}
}
