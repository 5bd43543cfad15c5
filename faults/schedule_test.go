package faults

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/filter"
)

// TestKillScheduled: workers are killed at random while workflows start automatically, also all of them at the same time. There is one run for each
// time, and none is missing (reliability 1.3.5; decision 37).
func TestKillScheduled(t *testing.T) {
	w := newWorld(t, 0)
	const workflows = 30
	for n := range workflows {
		document := fmt.Sprintf("document: {dsl: 1.0.3, namespace: test, name: tick%d, version: 0.1.0, metadata: {swrun: {schedule: {missed: all}}}}\nschedule: {every: PT1S}\ndo: [{a: {set: {n: 1}}}]\n", n)
		if _, err := w.client.Deploy(t.Context(), definition.Definition{Document: document}); err != nil {
			t.Fatal(err)
		}
	}
	alive := []*worker{w.work(), w.work()}
	for n := range of(8) {
		time.Sleep(500*time.Millisecond + rand.N(500*time.Millisecond))
		for victim := range alive {
			if n%4 == 3 || victim == rand.IntN(2) {
				alive[victim].kill()
			}
		}
		for victim := range alive {
			if alive[victim].command.ProcessState != nil {
				alive[victim] = w.work()
			}
		}
	}
	for began := time.Now(); ; time.Sleep(time.Second) { // missed starts happen within some seconds
		all, gaps := w.scheduled(), []string(nil)
		for name, times := range all {
			if len(times) < of(8)/2 {
				gaps = append(gaps, fmt.Sprintf("%s has started %d times", name, len(times)))
			}
			slices.SortFunc(times, time.Time.Compare)
			for n := 1; n < len(times); n++ {
				if times[n].Sub(times[n-1]) != time.Second {
					gaps = append(gaps, fmt.Sprintf("%s: nothing between %s and %s", name, times[n-1], times[n]))
				}
			}
		}
		if len(all) == workflows && len(gaps) == 0 {
			return
		}
		if time.Since(began) > pacetest.Patience {
			t.Fatalf("%d workflows have started:\n%s", len(all), strings.Join(gaps, "\n"))
		}
	}
}

// scheduled returns the times for which runs of each workflow were started.
func (w *world) scheduled() map[string][]time.Time {
	w.Helper()
	times := map[string][]time.Time{}
	err := w.client.Each(w.Context(), filter.Filter{}, func(r *filter.Run) bool {
		name, at, _ := strings.Cut(r.Instance.ID, "-every-")
		parsed, err := time.Parse("20060102T150405.999Z", at)
		if err != nil {
			w.Errorf("%s: %v", r.Instance, err)
		}
		if s := r.Lifecycle.Status; s.Final() && s != interpreter.StatusCompleted {
			w.Errorf("%s is %s", r.Instance, s)
		}
		times[name] = append(times[name], parsed)
		return true
	})
	if err != nil {
		w.Fatal(err)
	}
	return times
}
