package schedule

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/dsl"
)

// made is a schedule that a seed makes, and its options.
type made struct {
	*rand.Rand
	schedule, options string
	skips             bool
	most              int // runs of times that have passed that are started
}

func newMade(seed uint64) *made {
	m := &made{Rand: rand.New(rand.NewPCG(seed, 1)), most: 1}
	every := []string{"PT1S", "PT7M", "PT1H", "P1D", "P1M", "PT1.5S", "{hours: 1, minutes: 30}"}
	crons := []string{"*/15 * * * *", "30 2 * * *", "0 0 * * *", "15 1,2,3 * * *", "0 * * * *", "30 1 * * SUN", "0 0 L * *"}
	switch m.IntN(3) {
	case 0:
		m.schedule = "every: " + every[m.IntN(len(every))]
	case 1:
		m.schedule = "cron: '" + crons[m.IntN(len(crons))] + "'"
		m.options = "timeZone: " + []string{"Europe/Paris", "America/New_York", "Australia/Lord_Howe", "UTC"}[m.IntN(4)] + ", "
	case 2:
		m.schedule = "after: " + every[m.IntN(len(every))]
		return m
	}
	switch m.IntN(3) {
	case 0:
		m.options += "missed: skip"
		m.skips = true
	case 1:
		m.most = 1 + m.IntN(5)
		m.options += fmt.Sprintf("missed: all, max: %d", m.most)
	}
	return m
}

// TestForetoldTimesHappen: the next run starts at the next time of the schedule, and not before, for every, cron and after, also at changes
// of clocks. After a period without a process, the number of started or missed runs equals the number of consecutive next times, and the
// policy decides which.
func TestForetoldTimesHappen(t *testing.T) {
	tried := map[string]int{}
	for seed := range uint64(400) {
		m := newMade(seed)
		p := mustPlan(t, m.schedule, strings.TrimSuffix(m.options, ", "))
		now := []time.Time{mustTime(t, "2026-03-07T20:17:11Z"), mustTime(t, "2026-03-28T22:00:00Z"), mustTime(t, "2026-10-24T21:30:00Z"), mustTime(t, "2026-10-31T23:59:59Z")}[m.IntN(4)]
		var s Schedule
		s.follow(p, now)
		for range 20 {
			next := s.Next()
			if s.Timers[0].Kind == KindAfter || m.IntN(2) == 0 {
				m.onTime(t, &s, p, next)
				tried["on time"]++
			} else {
				m.absent(t, &s, p, tried)
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d: %s, %s", seed, m.schedule, m.options)
		}
	}
	for _, kind := range []string{"on time", "several passed", "skipped", "dropped"} {
		if tried[kind] == 0 {
			t.Errorf("this was not tried: %s; %v", kind, tried)
		}
	}
}

// onTime looks shortly before the next time and at it. The run of `after` ends a while later.
func (m *made) onTime(t *testing.T, s *Schedule, p *plan, next time.Time) {
	t.Helper()
	if s.decide(p, next.Add(-time.Millisecond)) {
		t.Errorf("a run starts before %s", next)
	}
	if !s.decide(p, next) || len(s.Pending) != 1 || !s.Pending[0].For.Equal(next) || !s.Next().IsZero() && !s.Next().After(next) {
		t.Errorf("at %s, %v starts, and the next time is %s", next, s.Pending, s.Next())
	}
	id := s.Pending[0].ID
	s.Pending, s.Missed = nil, 0
	if s.Timers[0].Kind != KindAfter {
		return
	}
	ended := next.Add(time.Duration(m.IntN(100_000)) * time.Millisecond)
	s.endOf(p, map[string]time.Time{id: ended})
	if want := p.timers[0].every.AddTo(ended); !s.Next().Equal(want) && !s.Next().Equal(next.Add(dsl.MinInterval)) {
		t.Errorf("after a run that ended at %s the next one is to start at %s, want %s", ended, s.Next(), want)
	}
}

// absent lets times pass without a look at the schedule, and looks then.
func (m *made) absent(t *testing.T, s *Schedule, p *plan, tried map[string]int) {
	t.Helper()
	named := *s
	named.Timers = slices.Clone(s.Timers)
	var passed []time.Time
	for range m.IntN(8) + 1 { // the next times, if a process looks at each time
		next := named.Next()
		passed = append(passed, next)
		named.Pending = nil
		named.decide(p, next)
	}
	now := passed[len(passed)-1].Add(time.Duration(m.IntN(int(min(named.Next().Sub(passed[len(passed)-1]), 3*time.Minute)))))
	want, skipped := passed[max(0, len(passed)-m.most):], m.skips && now.Sub(passed[len(passed)-1]) >= late
	if skipped {
		want = nil
		tried["skipped"]++
	}
	s.decide(p, now)
	var got []time.Time
	for _, f := range s.Pending {
		got = append(got, f.For)
	}
	if !slices.EqualFunc(got, want, time.Time.Equal) || s.Missed != len(passed)-len(want) || !s.Next().Equal(named.Next()) {
		t.Errorf("at %s, %v start and %d are missed of %v, and %s is next, not %s", now, got, s.Missed, passed, s.Next(), named.Next())
	}
	if len(passed) > 1 {
		tried["several passed"]++
	}
	if s.Missed > 0 && !skipped {
		tried["dropped"]++
	}
	s.Pending, s.Missed = nil, 0
}
