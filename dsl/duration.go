package dsl

import "time"

// Duration is a span of time as written: calendar parts, an exact part, or an expression that yields one.
type Duration struct {
	Pointer    Pointer
	Expression string // ${ } expression; all else is zero then
	Years      int
	Months     int
	Exact      time.Duration // weeks (7 days), days (24 h), hours and below
}

// AddTo returns the instant d after t: years and months by the calendar, all else exactly.
func (d Duration) AddTo(t time.Time) time.Time {
	if d.Years != 0 || d.Months != 0 {
		t = t.AddDate(d.Years, d.Months, 0)
	}
	return t.Add(d.Exact)
}
