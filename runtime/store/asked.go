package store

import "time"

// Asked counts requests that a document can multiply: starts of runs, and events that start runs. The store adds them to the count of the
// originating run together with the commit, before any of them is carried out. Counts are kept per day.
type Asked struct {
	Of   Instance // the run that has led to it
	Kind AskedKind
	N    int // how many the commit asks for; 0 for none
	Max  int // how many may be asked for within a day; a commit that asks for more is refused as TooMany
}

// AskedKind is a kind of request. Each kind is counted separately.
type AskedKind string

// The kinds.
const (
	AskedRuns     AskedKind = "runs"   // starts of runs, by the run and by its descendants
	AskedByEvents AskedKind = "events" // starts and events, by the runs that events of the run have started, directly or not
)

// Key returns the name of the counter, among the counters of a day.
func (a *Asked) Key() string { return a.Of.String() + " " + string(a.Kind) }

// HasRoom reports whether N more requests are allowed after the given number of earlier requests.
func (a *Asked) HasRoom(before int64) bool { return before+int64(a.N) <= int64(a.Max) }

// Day returns the number of the day on which something counts.
func Day(now time.Time) int64 { return now.Unix() / int64((24 * time.Hour).Seconds()) }
