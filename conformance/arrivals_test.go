package conformance

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/cloudevent"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/local"
)

// arrivals returns the events that reach the case, as `run --event` takes them.
func (c testCase) arrivals(t *testing.T) (all []local.Arrival) {
	t.Helper()
	r := cloudevent.NewReader(strings.NewReader(c.files["arrivals.json"]), "arrivals.json")
	for {
		a, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, local.Arrival{After: a.After, Timed: a.Timed, Event: a.Event})
	}
}

// arrival hands out the events of a case in order: timed events at their time, the others when a run listens.
type arrival struct {
	timed, waiting []local.Arrival
	seen           map[[2]any]bool // by source and id
}

func newArrival(t *testing.T, c testCase) *arrival {
	a := &arrival{seen: map[[2]any]bool{}}
	for _, one := range c.arrivals(t) {
		if one.Timed {
			a.timed = append(a.timed, one)
		} else {
			a.waiting = append(a.waiting, one)
		}
	}
	return a
}

// next returns the event that arrives now, if there is one.
func (a *arrival) next(now time.Time, listens bool) (event map[string]any, comes bool) {
	switch {
	case len(a.timed) > 0 && !now.Before(a.at()):
		event, a.timed = a.timed[0].Event, a.timed[1:]
	case len(a.waiting) > 0 && listens:
		event, a.waiting = a.waiting[0].Event, a.waiting[1:]
	}
	return event, event != nil
}

// isNew reports whether an event arrives for the first time.
func (a *arrival) isNew(event map[string]any) bool {
	id := [2]any{event["source"], event["id"]}
	seen := a.seen[id]
	a.seen[id] = true
	return !seen
}

// at returns the time of the next timed event; zero if there is no such event.
func (a *arrival) at() time.Time {
	if len(a.timed) == 0 {
		return time.Time{}
	}
	return epoch().Add(a.timed[0].After)
}

// listens reports whether a run of the case listens.
func (d *driver) listens() bool {
	for _, i := range d.live {
		if len(i.state.EventFilters()) > 0 {
			return true
		}
	}
	return false
}

// arrive hands an event to every run that listens.
func (d *driver) arrive(event map[string]any) {
	if !d.arrival.isNew(event) {
		return
	}
	for _, i := range append([]*caseRun{}, d.live...) {
		if len(i.state.EventFilters()) > 0 {
			d.step(i, interpreter.Arrived{Event: event})
		}
	}
}
