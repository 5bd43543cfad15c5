package schedule

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/runtime/definition"
)

// mustPlan returns the plan of a workflow with a schedule, and with options of the engine about it.
func mustPlan(t *testing.T, scheduled, options string) *plan {
	t.Helper()
	w, found := dsl.Parse("test.yaml", []byte(fmt.Sprintf(`
document: {dsl: 1.0.3, namespace: demo, name: tick, version: 1.0.0, metadata: {swrun: {schedule: {%s}}}}
schedule: {%s}
do: [{a: {set: {n: 1}}}]`, options, scheduled)))
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	p, err := newPlan(w, definition.Reference{Namespace: "demo", Name: "tick", Version: "1.0.0"}, "digest", nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func mustTime(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// TestTimesOfSchedules: when runs start, whatever passes between two looks (semantics 15.3, 15.4).
func TestTimesOfSchedules(t *testing.T) {
	for name, c := range map[string]struct {
		schedule, options string
		begins            string
		looks             []string // times of the checks
		want              string   // the times of the runs of each look, and how many are missed
		next              string
	}{
		"every, first after one interval":   {"every: PT1H", "", "2026-05-04T10:00:00Z", []string{"2026-05-04T10:59:59Z", "2026-05-04T11:00:00Z"}, "missed 0 | 2026-05-04T11:00 missed 0", "2026-05-04T12:00"},
		"every, late":                       {"every: PT1H", "", "2026-05-04T10:00:00Z", []string{"2026-05-04T11:40:00Z"}, "2026-05-04T11:00 missed 0", "2026-05-04T12:00"},
		"every, three passed, latest":       {"every: PT1H", "", "2026-05-04T10:00:00Z", []string{"2026-05-04T13:10:00Z"}, "2026-05-04T13:00 missed 2", "2026-05-04T14:00"},
		"every, three passed, all":          {"every: PT1H", "missed: all", "2026-05-04T10:00:00Z", []string{"2026-05-04T13:10:00Z"}, "2026-05-04T11:00 2026-05-04T12:00 2026-05-04T13:00 missed 0", "2026-05-04T14:00"},
		"every, three passed, all but two":  {"every: PT1H", "missed: all, max: 2", "2026-05-04T10:00:00Z", []string{"2026-05-04T13:10:00Z"}, "2026-05-04T12:00 2026-05-04T13:00 missed 1", "2026-05-04T14:00"},
		"every, three passed, skip":         {"every: PT1H", "missed: skip", "2026-05-04T10:00:00Z", []string{"2026-05-04T13:10:00Z"}, "missed 3", "2026-05-04T14:00"},
		"every, the last is on time, skip":  {"every: PT1H", "missed: skip", "2026-05-04T10:00:00Z", []string{"2026-05-04T13:00:30Z"}, "2026-05-04T13:00 missed 2", "2026-05-04T14:00"},
		"every, months from the end of one": {"every: P1M", "missed: all", "2026-01-31T00:00:00Z", []string{"2026-04-30T00:00:00Z"}, "2026-02-28T00:00 2026-03-31T00:00 2026-04-30T00:00 missed 0", "2026-05-31T00:00"},
		"every, years of absence":           {"every: PT1S", "", "2020-01-01T00:00:00Z", []string{"2026-05-04T10:00:00.5Z"}, "2026-05-04T10:00 missed many", "2026-05-04T10:00"},
		"every, a century":                  {"every: P100Y", "", "2026-05-04T10:00:00Z", []string{"2026-05-04T10:00:00Z"}, "missed 0", "2126-05-04T10:00"},
		"every, millennia of absence":       {"every: PT30S", "", "2026-05-04T10:00:00Z", []string{"5138-11-16T09:46:40Z"}, "5138-11-16T09:46 missed many", "5138-11-16T09:47"},
		"every, parts of a second":          {"every: PT1.5S", "", "2026-05-04T10:00:00Z", []string{"5138-11-16T09:46:40Z"}, "5138-11-16T09:46 missed many", "5138-11-16T09:46"},
		"every, months for millennia":       {"every: P1M", "", "2026-01-31T00:00:00Z", []string{"5138-11-16T09:46:40Z"}, "5138-10-31T00:00 missed many", "5138-11-30T00:00"},
		"cron, millennia of absence":        {"cron: '*/5 * * * *'", "", "2026-05-04T10:00:00Z", []string{"5138-11-16T09:46:40Z"}, "5138-11-16T09:45 missed many", "5138-11-16T09:50"},
		"cron in UTC":                       {"cron: '0 9 * * *'", "", "2026-05-04T10:00:00Z", []string{"2026-05-05T09:00:00Z"}, "2026-05-05T09:00 missed 0", "2026-05-06T09:00"},
		"cron in a time zone":               {"cron: '0 9 * * *'", "timeZone: Europe/Paris", "2026-05-04T10:00:00Z", []string{"2026-05-05T07:00:00Z"}, "2026-05-05T07:00 missed 0", "2026-05-06T07:00"},
		"cron, a week of absence":           {"cron: '0 9 * * *'", "", "2026-05-04T10:00:00Z", []string{"2026-05-11T10:00:00Z"}, "2026-05-11T09:00 missed 6", "2026-05-12T09:00"},
		"cron, a century of absence":        {"cron: '* * * * *'", "", "1926-05-04T10:00:00Z", []string{"2026-05-04T10:00:30Z"}, "2026-05-04T10:00 missed many", "2026-05-04T10:01"},
		"cron of leap days":                 {"cron: '0 0 29 2 *'", "missed: all", "2019-01-01T00:00:00Z", []string{"2026-05-04T10:00:00Z"}, "2020-02-29T00:00 2024-02-29T00:00 missed 0", "2028-02-29T00:00"},
		"after, and nothing before its end": {"after: PT1H", "", "2026-05-04T10:00:00Z", []string{"2026-05-04T11:00:00Z", "2026-05-04T19:00:00Z"}, "2026-05-04T11:00 missed 0 | missed 0", "0001-01-01T00:00"},
		"after, at once":                    {"after: PT0S", "", "2026-05-04T10:00:00Z", []string{"2026-05-04T10:00:00Z"}, "2026-05-04T10:00 missed 0", "0001-01-01T00:00"},
		"every and cron, each its own":      {"every: PT1H, cron: '0 11 * * *'", "", "2026-05-04T10:00:00Z", []string{"2026-05-04T11:00:00Z"}, "2026-05-04T11:00 2026-05-04T11:00 missed 0", "2026-05-04T12:00"},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustPlan(t, c.schedule, c.options)
			var s Schedule
			s.follow(p, mustTime(t, c.begins))
			var got []string
			for _, look := range c.looks {
				got = append(got, lookAt(t, &s, p, mustTime(t, look)))
			}
			if all := strings.Join(got, " | "); all != c.want {
				t.Errorf("got %s, want %s", all, c.want)
			}
			if next := s.Next().UTC().Format(minutes); next != c.next {
				t.Errorf("next %s, want %s", next, c.next)
			}
		})
	}
}

const minutes = "2006-01-02T15:04"

// lookAt returns the times of the runs that are started, and how many are missed.
func lookAt(t *testing.T, s *Schedule, p *plan, now time.Time) (text string) {
	t.Helper()
	s.Missed, s.Pending = 0, nil
	if due := s.isDue(now); s.decide(p, now) != due {
		t.Error("it is not decided what is due")
	}
	for _, f := range s.Pending {
		text += f.For.UTC().Format(minutes) + " "
	}
	if s.Missed >= maxCounted-1 {
		return text + "missed many"
	}
	return text + fmt.Sprint("missed ", s.Missed)
}

// TestFollowingVersions: a new version changes the schedule, and unchanged parts continue. Without a schedule nothing remains.
func TestFollowingVersions(t *testing.T) {
	begins := mustTime(t, "2026-05-04T10:00:00Z")
	var s Schedule
	s.follow(mustPlan(t, "every: PT1H, cron: '0 9 * * *'", ""), begins)
	s.follow(mustPlan(t, "every: PT1H, cron: '0 8 * * *'", ""), begins.Add(30*time.Minute))
	if got := s.Timers[0].Next.Format(time.TimeOnly) + " " + s.Timers[1].Next.Format(time.TimeOnly); got != "11:00:00 08:00:00" {
		t.Error(got)
	}
	s.follow(&plan{}, begins)
	if !s.isEmpty() {
		t.Error("something is left")
	}
}

// TestPausedSchedules: times that pass during a pause are neither started nor missed.
func TestPausedSchedules(t *testing.T) {
	p, now := mustPlan(t, "every: PT1H", "missed: all"), mustTime(t, "2026-05-04T10:00:00Z")
	var s Schedule
	s.follow(p, now)
	s.Paused = &Pause{At: now}
	if !s.Next().IsZero() || s.decide(p, now.Add(2*time.Hour)) {
		t.Error("it goes on")
	}
	s.resume(p, now.Add(150*time.Minute))
	if s.decide(p, now.Add(150*time.Minute)) || s.Missed != 0 || !s.Next().Equal(now.Add(3*time.Hour)) {
		t.Errorf("next %s, missed %d", s.Next(), s.Missed)
	}
}

// TestFailedFirings: a run that cannot be started is recorded, and the schedule continues.
func TestFailedFirings(t *testing.T) {
	p, now := mustPlan(t, "after: PT1H", ""), mustTime(t, "2026-05-04T10:00:00Z")
	var s Schedule
	s.follow(p, now)
	for range 2 * maxFailures {
		now = s.Next()
		s.decide(p, now)
		for _, f := range slices.Clone(s.Pending) {
			s.fired(p, f, fmt.Errorf("refused"), now)
			s.fired(p, f, nil, now) // another process comes later
		}
		if !s.Next().Equal(now.Add(time.Hour)) || len(s.Pending) != 0 || s.Last != nil {
			t.Fatalf("%+v", s)
		}
	}
	if len(s.Failures) != maxFailures || !s.Failures[0].At.Equal(now) {
		t.Errorf("%+v", s.Failures)
	}
}
