package store

import "time"

// Asked is what a commit asks for that a document can multiply: starts of runs, and events that start runs. The store counts it together with the
// commit, before anything of it is done, for the run that has led to it. It is counted by days.
type Asked struct {
	Of   Instance // the run that has led to it
	Kind AskedKind
	N    int // how many the commit asks for; 0 for none
	Max  int // how many may be asked for within a day; a commit that asks for more is refused as TooMany
}

// AskedKind is what is counted. Each kind is counted by itself.
type AskedKind string

// The kinds.
const (
	AskedRuns     AskedKind = "runs"   // starts of runs, by the run and by those that it has started, directly or not
	AskedByEvents AskedKind = "events" // starts and events, by the runs that events of the run have started, directly or not
)

// Key returns the name of the counter, among those of a day.
func (a *Asked) Key() string { return a.Of.String() + " " + string(a.Kind) }

// HasRoom reports whether so many may be asked for, if others were asked for before.
func (a *Asked) HasRoom(before int64) bool { return before+int64(a.N) <= int64(a.Max) }

// Day returns the number of the day on which something counts.
func Day(now time.Time) int64 { return now.Unix() / int64((24 * time.Hour).Seconds()) }
