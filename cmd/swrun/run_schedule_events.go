package main

import (
	"cmp"
	"slices"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/runtime/schedule"
)

// This file brings events to a schedule that is followed, and to its runs.

// ordered returns events in their order of arrival: events without a time come first.
func ordered(all []swrun.Arrival) []swrun.Arrival {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b swrun.Arrival) int { return cmp.Compare(afterStart(a), afterStart(b)) })
	return all
}

func afterStart(a swrun.Arrival) time.Duration {
	if !a.Timed {
		return 0
	}
	return a.After
}

func (f *followed) comesAt(a swrun.Arrival) time.Time { return f.began.Add(afterStart(a)) }

// startedByEvents reports whether events start the run, or the runs of a schedule that is followed.
func (j *job) startedByEvents() bool {
	s := j.document.Workflow.Schedule
	return s != nil && s.On != nil && len(j.flags.events) > 0 && len(j.flags.inputs) == 0
}

// lacksEvents reports whether no run has started because its events did not arrive.
func (f *followed) lacksEvents() bool {
	return f.started == 0 && f.next().IsZero() && !f.interrupted && f.job.startedByEvents()
}

// scheduledRun is a run that a schedule starts.
type scheduledRun struct {
	firing   schedule.Firing
	input    any
	arrivals []swrun.Arrival // its events; on the clock of this machine, events arrive through the feed
	feed     *feed           // nil on the virtual clock
}

// begin prepares a run. It receives the events from now on.
func (f *followed) begin(t schedule.Triggered) *scheduledRun {
	f.started++
	r := &scheduledRun{firing: t.Firing, input: t.Input}
	if t.Kind != schedule.KindOn {
		r.arrivals = slices.Clone(f.untimed) // they wait for a listener
	}
	if !f.job.virtual() {
		r.feed = &feed{to: make(chan swrun.Arrival), done: make(chan struct{})}
		f.feeds[r.feed] = true
		return r
	}
	for _, a := range f.events {
		a.After = f.comesAt(a).Sub(t.For)
		r.arrivals = append(r.arrivals, a)
	}
	return r
}

// take takes the next event, and returns the runs that it starts. On the clock of this machine, runs in progress receive it too.
func (f *followed) take(now time.Time) (all []*scheduledRun, err error) {
	next := f.events[0]
	if f.events = f.events[1:]; !next.Timed {
		f.untimed = append(f.untimed, next)
	}
	for to := range f.feeds {
		to.send(next)
	}
	if f.isOver() {
		return nil, nil
	}
	if f.started == 0 && len(f.ignored) <= maxUnmatched {
		f.explain(next.Event, now)
	}
	triggered, err := f.forecast.Arrived(next.Event, now)
	for _, t := range triggered {
		if t.Fault != nil {
			return all, &exitError{code: exitFaulted, message: f.job.mask.Text("the events start no run: " + t.Fault.Error())}
		}
		all = append(all, f.begin(t))
	}
	return all, err
}

// explain records why an event is ignored, if it is.
func (f *followed) explain(event map[string]any, now time.Time) {
	u := swrun.Unmatched{Event: event}
	for _, l := range f.forecast.Listening(event, now) {
		if len(l.Refusals) < len(l.Missing) {
			return
		}
		u.Refusals = l.Refusals // the last entry is about all filters
	}
	f.ignored = append(f.ignored, u)
}

// arrived takes an event of standard input; the event is the last one if open is false.
func (f *followed) arrived(a swrun.Arrival, open bool) {
	if open {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.events = ordered(append(f.events, a))
		return
	}
	if failed := f.job.events.failed.Load(); failed != nil {
		f.fail(*failed)
	}
	f.job.events.live = nil
}

// feed brings events to a run in progress.
type feed struct {
	to     chan swrun.Arrival
	done   chan struct{} // closed when the run is ended
	closed bool
}

// events returns the channel of the events; nil for a nil feed.
func (f *feed) events() chan swrun.Arrival {
	if f == nil {
		return nil
	}
	return f.to
}

func (f *feed) end() {
	if f != nil {
		close(f.done)
	}
}

// send passes an event to the run, unless the run is ended. A timed event arrives at its time, and does not wait for a listener.
func (f *feed) send(a swrun.Arrival) {
	if a.Timed {
		a.After = time.Nanosecond
	}
	select {
	case f.to <- a:
	case <-f.done:
	}
}

// closeFeeds signals the runs in progress that no event is left.
func (f *followed) closeFeeds() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for one := range f.feeds {
		if !one.closed {
			one.closed = true
			close(one.to)
		}
	}
}
