package runtime_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/internal/timeline"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/filter"
	"github.com/swrun/swrun/runtime/matching"
	"github.com/swrun/swrun/runtime/store"
)

// timedOut returns the kinds of the deadlines that have passed since a time, the first one first, and when the first was.
func (a *activities) timedOut(i store.Instance, since time.Time) (kinds []string, at time.Time) {
	a.Helper()
	_, err := a.client.History(a.Context(), i, 0, func(e client.HistoryEntry) error {
		for _, r := range e.Events {
			if r.Timeout != "" && e.At.After(since) {
				kinds = append(kinds, r.Timeout)
				if at.IsZero() {
					at = e.At
				}
			}
		}
		return nil
	})
	a.must(err)
	return kinds, at
}

// timed is a document with timeouts of all kinds, each there or not, and the options of its start.
func timed(r *rand.Rand) (document string, o client.StartOptions) {
	seconds := func(from, to int) string { return fmt.Sprintf("PT%d.%03dS", from+r.IntN(to-from), r.IntN(1000)) }
	maybe := func(text string) string {
		if r.IntN(2) == 0 {
			return ""
		}
		return text
	}
	var timeouts []string
	for name, most := range map[string]int{"scheduleToStart": 20, "startToClose": 30, "scheduleToClose": 60, "heartbeat": 20} {
		if text := maybe(name + ": " + seconds(1, most)); text != "" {
			timeouts = append(timeouts, text)
		}
	}
	with := fmt.Sprintf("type: x, timeouts: {%s}, retry: {maxAttempts: %d, backoff: [%s]}", strings.Join(timeouts, ", "), 1+r.IntN(4), seconds(1, 5))
	task := "{work: {call: 'activity:1.0.0@default', with: {" + with + "}" + maybe(", timeout: {after: "+seconds(20, 120)+"}") + "}}"
	task = "{outer: {" + maybe("timeout: {after: "+seconds(20, 120)+"}, ") + "do: [" + task + "]}}"
	if r.IntN(2) == 0 {
		task = "{caught: {try: [" + task + "], catch: {errors: {with: {status: 408}}, do: [{wait: {listen: {to: {one: {with: {type: never}}}}}}]}}}"
	}
	document = maybe("timeout: {after: "+seconds(30, 200)+"}\n") + "do: [" + task + "]"
	if r.IntN(2) == 0 {
		o.ExecutionTimeout = time.Duration(30_000+r.IntN(200_000)) * time.Millisecond
	}
	if r.IntN(2) == 0 {
		o.RunTimeout = time.Duration(30_000+r.IntN(200_000)) * time.Millisecond
	}
	if r.IntN(3) == 0 {
		o.Deadline = time.Now().Add(time.Duration(30_000+r.IntN(200_000)) * time.Millisecond).Truncate(time.Millisecond)
	}
	return document, o
}

// TestTheDeadlineNamedFirstFiresFirst: for all kinds of timeouts, the deadline that describe names as the first fires at its time, if
// nothing happens before. Lists of deadlines contain it, too.
func TestTheDeadlineNamedFirstFiresFirst(t *testing.T) {
	fired := map[string]int{}
	for seed := range uint64(pacetest.Fewer(150, 3)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			withOutsideWorkers(t, seed%2 == 0, func(a *activities) {
				r := rand.New(rand.NewPCG(seed, 0))
				document, o := timed(r)
				i := a.start(document, o)
				for range 20 {
					time.Sleep(10 * time.Millisecond)
					if r.IntN(2) == 0 { // a worker takes the activity, and is never heard of again
						closed := make(chan struct{})
						close(closed)
						_, err := a.matcher.Poll(a.Context(), matching.Poll{Queues: []string{"default"}, Limit: 1, Worker: "w", Until: closed})
						a.must(err)
					}
					kind := a.foretold(i)
					if kind == "" {
						break
					}
					fired[kind]++
				}
				if t.Failed() {
					t.Logf("the document is\n%s\nand the options are %+v", document, o)
				}
				if r := a.record(i); !r.Status.Final() {
					a.must(a.client.Terminate(a.Context(), i, ""))
					a.wait(i)
				}
			})
		})
	}
	expectCounted(t, fired, interpreter.DeadlineWorkflow, interpreter.DeadlineExecution, interpreter.DeadlineRun, interpreter.DeadlineTask,
		interpreter.DeadlineScheduleToStart, interpreter.DeadlineStartToClose, interpreter.DeadlineScheduleToClose, interpreter.DeadlineHeartbeat)
}

// foretold lets the deadline pass that describe names first, and returns its kind; empty without deadlines.
func (a *activities) foretold(i store.Instance) string {
	a.Helper()
	d, err := a.client.Describe(a.Context(), i)
	a.must(err)
	if d.Lifecycle.Status.Final() || len(d.Deadlines) == 0 {
		return ""
	}
	first, now := d.Deadlines[0], time.Now()
	listed := false
	a.must(a.client.Upcoming(a.Context(), first.At, func(found store.Instance) error {
		listed = listed || found == i
		return nil
	}))
	if !listed {
		a.Errorf("%s at %s is in no list of what passes until then", first.Kind, first.At)
	}
	if n := d.FiresFirst(); n != 0 {
		a.Errorf("%s at %s passes first, and the deadline %d is said to fire first", first.Kind, first.At, n)
	}
	a.expectTold(d)
	time.Sleep(first.At.Sub(now) + 100*time.Millisecond)
	kinds, at := a.timedOut(i, now)
	if len(kinds) == 0 || kinds[0] != first.Kind || at.Before(first.At) || at.Sub(first.At) > 100*time.Millisecond {
		a.Errorf("%s at %s is named first, and %v fired at %s", first.Kind, first.At, kinds, at)
	}
	return first.Kind
}

// expectTold compares the deadlines of a run with its history, and with its timeline drawing.
func (a *activities) expectTold(d *client.Description) {
	a.Helper()
	var told interpreter.ToldDeadlines
	drawing := timeline.New("")
	_, err := a.client.History(a.Context(), d.Instance, 0, func(e client.HistoryEntry) error {
		for _, r := range e.Events {
			told.Add(r)
			drawing.Add(r)
		}
		return nil
	})
	a.must(err)
	var described, history []string
	for _, in := range d.Deadlines {
		drawing.InForce([]interpreter.ActiveDeadline{in.ActiveDeadline})
		if slices.Contains(toldKinds(), in.Kind) {
			described = append(described, in.Kind+" "+string(in.Pointer)+" "+in.At.String())
		}
	}
	for _, in := range told.InForce() {
		history = append(history, in.Kind+" "+string(in.Pointer)+" "+in.At.String())
	}
	slices.Sort(described)
	slices.Sort(history)
	if !slices.Equal(described, history) {
		a.Errorf("described are the deadlines %v, and the history tells %v", described, history)
	}
	svg := drawing.SVG(d.At, false)
	for _, in := range d.Deadlines {
		scope := cmp.Or(string(in.Pointer), "the run")
		if tick := "deadline of " + scope + ": " + in.At.UTC().Format(time.RFC3339Nano); !strings.Contains(svg, tick) {
			a.Errorf("%q is not drawn", tick)
		}
	}
}

// toldKinds returns the kinds of the deadlines that a history contains before they pass. The other deadlines belong to retry policies and
// activities.
func toldKinds() []string {
	return []string{interpreter.DeadlineWorkflow, interpreter.DeadlineExecution, interpreter.DeadlineRun, interpreter.DeadlineTask}
}

func (a *activities) mustFilter(text string) filter.Filter {
	a.Helper()
	where, err := filter.Parse(text, time.Now())
	a.must(err)
	return where
}

// TestListsKnowDeadlinesOfActivities: lists and filters of runs count the deadlines of the activities that these wait for.
func TestListsKnowDeadlinesOfActivities(t *testing.T) {
	for name, timeouts := range map[string]string{"a queue": "scheduleToStart: PT2M", "all attempts": "scheduleToClose: PT2M", "a worker": "startToClose: PT2M", "heartbeats": "heartbeat: PT2M"} {
		t.Run(name, func(t *testing.T) {
			withActivities(t, func(a *activities) {
				i := a.activity("timeouts: {" + timeouts + "}")
				time.Sleep(time.Second)
				if strings.HasPrefix(timeouts, "start") || strings.HasPrefix(timeouts, "heart") {
					a.poll()
				}
				time.Sleep(10 * time.Second) // it is parked
				for where, want := range map[string]int{"deadline<5m": 1, "deadline<1m": 0, "deadline=*": 1, "deadline>1m": 1, "deadline!=*": 0, "status=waiting": 1} {
					page, err := a.client.List(a.Context(), client.Query{Where: a.mustFilter(where), Limit: 10})
					a.must(err)
					if len(page.Runs) != want {
						a.Errorf("%s finds %d runs", where, len(page.Runs))
					}
					for _, run := range page.Runs {
						if left := time.Until(run.Deadline()); left < 100*time.Second || left > 2*time.Minute {
							a.Errorf("%s: the deadline comes in %s", where, left)
						}
					}
					groups, _, err := a.client.Count(a.Context(), a.mustFilter(where), nil)
					a.must(err)
					a.expect(groups[0].Runs, want)
				}
				a.must(a.client.Cancel(a.Context(), i, ""))
				a.wait(i)
			})
		})
	}
}
