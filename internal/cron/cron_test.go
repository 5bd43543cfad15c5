package cron_test

import (
	"bufio"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/cron"
)

// TestNext compares with testdata/next.txt, whose times another program has found by trying every minute.
func TestNext(t *testing.T) {
	f, err := os.Open("testdata/next.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cases := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		cases++
		part := strings.Split(lines.Text(), " | ")
		if got := next(t, part[0], part[1], part[2], 4); got != part[3] {
			t.Errorf("%s in %s after %s\n got %s\nwant %s", part[0], part[1], part[2], got, part[3])
		}
	}
	if cases < 140 {
		t.Errorf("there are %d cases", cases)
	}
}

func next(t *testing.T, text, zone, after string, n int) string {
	t.Helper()
	in, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	e, err := cron.Parse(text, in)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	at, err := time.Parse(time.RFC3339, after)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for range n {
		if at = e.Next(at); at.IsZero() {
			break
		}
		all = append(all, at.UTC().Format("2006-01-02T15:04"))
	}
	return strings.Join(all, " ")
}

// TestZone: an expression may name its zone.
func TestZone(t *testing.T) {
	for _, text := range []string{"CRON_TZ=Europe/Paris 0 9 * * *", "TZ=Europe/Paris 0 9 * * *"} {
		if got := next(t, text, "UTC", "2026-07-01T00:00:00Z", 1); got != "2026-07-01T07:00" {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// TestWrong: each wrong expression is refused with the reason.
func TestWrong(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "it has 0 fields, and takes five: minute, hour",
		"  \t ":                                 "it has 0 fields",
		"* * * *":                               "it has 4 fields",
		"* * * * * *":                           "there are no seconds",
		"0 0 * * * 2027":                        "there are no seconds",
		"60 * * * *":                            "above maximum (59)",
		"* 24 * * *":                            "above maximum (23)",
		"0 0 0 * *":                             "below minimum (1)",
		"0 0 * 13 *":                            "above maximum (12)",
		"0 0 * * 8":                             "above maximum (7)",
		"a * * * *":                             `"a" stands where a number`,
		"-1 * * * *":                            `"" stands where a number`,
		"*/0 * * * *":                           "positive",
		"1,,2 * * * *":                          "a comma with nothing",
		"1, * * * *":                            "a comma with nothing",
		"0 0 31 2 *":                            "no date is like that",
		"0 0 30 2 *":                            "no date is like that",
		"0 0 31 4,6,9,11 *":                     "no date is like that",
		"@every 5m":                             "@every",
		"@often":                                `"@often" is none of @yearly`,
		"@daily 5":                              "nothing may follow @daily",
		"x":                                     "it has one field, and takes five",
		"CRON_TZ=Mars/Base 0 0 * * *":           `there is no time zone "Mars/Base"`,
		"CRON_TZ= 0 0 * * *":                    `there is no time zone ""`,
		"H * * * *":                             "",
		strings.Repeat("1,", 600) + "1 * * * *": "too long",
		"٣ * * * *":                             "",
	} {
		if _, err := cron.Parse(text, time.UTC); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v", text, err)
		}
	}
	if at := (cron.Expression{}).Next(time.Now()); !at.IsZero() {
		t.Errorf("nothing happens at %s", at)
	}
}

// FuzzNext: each time is later than the one before, and so is the time on the clock, except at changes of the clocks.
func FuzzNext(f *testing.F) {
	for _, text := range []string{"* * * * *", "30 2 * * *", "0 0 L * FRI#2", "*/7 1-3 * * *", "CRON_TZ=Asia/Beirut 0 0 * * *"} {
		f.Add(text, int64(1_800_000_000))
	}
	paris, err := time.LoadLocation("Europe/Paris")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string, seconds int64) {
		e, err := cron.Parse(text, paris)
		if err != nil {
			return
		}
		at := time.Unix(seconds%8_000_000_000, 0)
		for range 5 {
			next := e.Next(at)
			if next.IsZero() {
				return
			}
			if !next.After(at) {
				t.Fatalf("%q: %s follows %s", text, next, at)
			}
			at = next
		}
	})
}

func BenchmarkNext(b *testing.B) {
	e, err := cron.Parse("30 2 * * *", time.UTC)
	if err != nil {
		b.Fatal(err)
	}
	at := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	for b.Loop() {
		at = e.Next(at)
	}
}
