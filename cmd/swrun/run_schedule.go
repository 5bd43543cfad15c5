package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/duration"
	"github.com/swrun/swrun/internal/progress"
	"github.com/swrun/swrun/runtime/schedule"
)

// This file follows the schedule of a document that is not deployed.

// checkSchedule refuses flags that conflict with --follow-schedule.
func (f *runFlags) checkSchedule() error {
	switch {
	case !f.follow && f.until != "":
		return usagef("for example --follow-schedule --until 8h", "--until is how long a schedule is followed")
	case !f.follow:
		return nil
	case f.durable():
		return usagef("swrun deploy, and swrun worker", "in a store, the schedules of deployed documents are followed")
	case len(f.inputs) > 0:
		return usagef("leave out -i", "the input of a run of a schedule is {}, or the events that start the run")
	}
	return nil
}

// followed is a schedule that is followed.
type followed struct {
	job         *job
	forecast    *schedule.Forecast
	began       time.Time
	end         time.Time       // zero for no end
	events      []swrun.Arrival // future events, in order
	once        bool            // the first run that events start is the only one
	interrupted bool
	untimed     []swrun.Arrival   // past events without a time
	ignored     []swrun.Unmatched // some of the events that started nothing
	started     int               // number of runs

	mu      sync.Mutex // for the fields below, and to print one run at a time
	failed  error      // the error of the first failed run
	changed chan struct{}
	feeds   map[*feed]bool // of the runs in progress
}

// followSchedule runs the workflow according to its schedule, or once, after its events have arrived. The result of each run is printed when it is
// ended; the first failed run determines the exit code.
func (j *job) followSchedule() error {
	f, err := j.followed()
	if err != nil {
		return err
	}
	if !f.once {
		f.announce()
		if j.flags.progress == progress.Auto {
			j.flags.progress = progress.None // several runs may be in progress
		}
	}
	if j.virtual() {
		err = f.simulate()
	} else {
		err = f.follow()
	}
	if err == nil {
		err = f.failed
	}
	if err == nil && f.lacksEvents() {
		return j.noEventLeft("the schedule, which has started nothing, waits", &swrun.ListeningError{Tasks: f.forecast.Listening(nil, f.began), Unmatched: f.ignored})
	}
	return err
}

// followed returns the schedule with its events and its end.
func (j *job) followed() (*followed, error) {
	s := j.document.Workflow.Schedule
	switch {
	case s == nil || len(s.Kinds()) == 0:
		return nil, usagef("swrun run without --follow-schedule runs it once", "%s has no schedule", title(j.document))
	case slices.Equal(s.Kinds(), []string{"on"}) && len(j.flags.events) == 0:
		return nil, usagef("give it events: --event FILE, or --event - for standard input", "only events start %s, and none will come", title(j.document))
	case j.flags.follow && j.virtual() && j.flags.until == "" && !slices.Equal(s.Kinds(), []string{"on"}):
		return nil, usagef("for example --until P30D", "on the virtual clock a schedule has no end: --until is required")
	}
	now := j.program.now()
	forecast, err := j.document.Forecast(j.host, now)
	if err != nil {
		return nil, err
	}
	f := &followed{
		job: j, forecast: forecast, began: now, events: ordered(j.events.arrivals),
		once: !j.flags.follow, changed: make(chan struct{}, 1), feeds: map[*feed]bool{},
	}
	if j.flags.until != "" {
		length, err := duration.Parse(j.flags.until)
		if err != nil {
			return nil, usagef("for example --until 8h", "--until: %s", err)
		}
		f.end = now.Add(length)
	}
	return f, nil
}

// announce prints when the first run starts.
func (f *followed) announce() {
	if f.job.flags.progress == progress.None || f.job.flags.progress == progress.JSON || f.job.flags.errors == "json" {
		return
	}
	when, next := "at "+api.Time(f.forecast.Next()), f.forecast.Next()
	switch {
	case next.IsZero():
		when = "when its events arrive"
	case f.job.startedByEvents():
		when += ", or when its events arrive"
	case !f.end.IsZero() && next.After(f.end):
		when = fmt.Sprintf("at %s, which is after the %s of --until", api.Time(next), f.job.flags.until)
	case f.job.virtual():
		return
	}
	fmt.Fprintf(f.job.program.err, "%s runs by its schedule; the first run starts %s\n", f.job.document, when)
}

// simulate runs on the virtual clock, one run after the other. Runs that are in progress at the same time do not affect each other.
func (f *followed) simulate() error {
	for {
		next := f.next()
		if f.isOver() || next.IsZero() || !f.end.IsZero() && next.After(f.end) {
			return nil
		}
		due, err := f.due(next)
		if err != nil {
			return err
		}
		for _, one := range due {
			f.forecast.Ended(one.firing.ID, f.run(one, func() time.Time { return one.firing.For }))
		}
	}
}

// follow runs on the clock of this machine.
func (f *followed) follow() error {
	ctx, interrupted, stop := f.job.program.interruptible()
	defer stop()
	if !f.end.IsZero() {
		var cancel func()
		ctx, cancel = context.WithDeadline(ctx, f.end)
		defer cancel()
	}
	var runs sync.WaitGroup
	for f.wait(ctx) {
		due, err := f.due(f.job.program.now())
		if err != nil {
			f.fail(err)
		}
		for _, one := range due {
			runs.Go(func() {
				ended := f.run(one, f.job.program.now)
				f.mu.Lock()
				defer f.mu.Unlock()
				f.forecast.Ended(one.firing.ID, ended)
				delete(f.feeds, one.feed)
				f.tell()
			})
		}
	}
	if f.interrupted = interrupted() != nil; !f.interrupted { // the runs are interrupted, too
		f.closeFeeds()
	}
	runs.Wait()
	return nil
}

// due returns the runs whose time or events have arrived.
func (f *followed) due(now time.Time) (all []*scheduledRun, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.events) > 0 && !f.comesAt(f.events[0]).After(now) {
		return f.take(now) // one at a time: the runs that it starts get the next one
	}
	if f.once {
		return nil, nil
	}
	for _, firing := range f.forecast.Due(now) {
		all = append(all, f.begin(schedule.Triggered{Firing: firing}))
	}
	return all, nil
}

// next returns the time of the next start or event; zero if neither is known.
func (f *followed) next() (next time.Time) {
	if !f.once {
		next = f.forecast.Next()
	}
	if len(f.events) > 0 && (next.IsZero() || f.comesAt(f.events[0]).Before(next)) {
		next = f.comesAt(f.events[0])
	}
	return next
}

// isOver reports whether no further run is started.
func (f *followed) isOver() bool { return f.once && f.started > 0 }

// wait waits for the next time, event, or end of a run. It returns false when the schedule is over.
func (f *followed) wait(ctx context.Context) bool {
	f.mu.Lock()
	next, live, running := f.next(), f.job.events.live, len(f.feeds)
	f.mu.Unlock()
	if len(f.events) == 0 && live == nil {
		f.closeFeeds()
	}
	if next.IsZero() && live == nil && running == 0 || f.isOver() && running == 0 {
		return false
	}
	var come <-chan time.Time
	if !next.IsZero() {
		timer := time.NewTimer(next.Sub(f.job.program.now()))
		defer timer.Stop()
		come = timer.C
	}
	select {
	case <-come:
	case <-f.changed:
	case arrival, open := <-live:
		f.arrived(arrival, open)
	case <-ctx.Done():
		return false
	}
	return true
}

// tell wakes wait.
func (f *followed) tell() {
	select {
	case f.changed <- struct{}{}:
	default: // it is awake already
	}
}

func (f *followed) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed == nil {
		f.failed = err
	}
}

// run runs the workflow once, and returns the time of its end.
func (f *followed) run(r *scheduledRun, now func() time.Time) (ended time.Time) {
	one := *f.job
	one.id, one.now, one.view, one.history, one.seen = r.firing.ID, now, nil, nil, 0
	one.host.Publish = one.publish
	one.input, one.events = r.input, &runEvents{arrivals: r.arrivals, live: r.feed.events()}
	if f.once {
		err := one.run()
		r.feed.end()
		f.fail(err)
		return now()
	}
	var out strings.Builder
	printed := *one.printer
	printed.w = &out
	one.printer = &printed
	err := one.run()
	r.feed.end() // a sender of events to it holds the lock
	f.mu.Lock()
	defer f.mu.Unlock()
	fmt.Fprint(f.job.program.out, out.String())
	if err = f.job.program.reportFailure(f.job.flags.errors, err); err != nil && f.failed == nil {
		f.failed = err
	}
	if one.last.IsZero() {
		return now()
	}
	return one.last
}
