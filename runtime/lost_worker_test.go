package runtime_test

import (
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/matching"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// TestTimeoutsOfALostWorker: any worker enforces every timeout, at its own moment, also of a run that another one had and was lost with
// (promises 17, 42, 152 and 160).
func TestTimeoutsOfALostWorker(t *testing.T) {
	activity := func(timeout string) string {
		return "do: [{a: {call: 'activity:1.0.0@default', with: {type: x, timeouts: {" + timeout + ": PT1M}}}}]"
	}
	for kind, c := range map[string]struct {
		document string
		options  client.StartOptions
		poll     bool
	}{
		interpreter.DeadlineTask:            {document: "do: [{a: {" + task[1:len(task)-1] + ", timeout: {after: PT1M}}}]"},
		interpreter.DeadlineWorkflow:        {document: "timeout: {after: PT1M}\ndo: [{a: " + task + "}]"},
		interpreter.DeadlineExecution:       {document: "do: [{a: " + task + "}]", options: client.StartOptions{ExecutionTimeout: time.Minute}},
		interpreter.DeadlineRun:             {document: "do: [{a: " + task + "}]", options: client.StartOptions{RunTimeout: time.Minute}},
		interpreter.DeadlineScheduleToStart: {document: activity("scheduleToStart")},
		interpreter.DeadlineScheduleToClose: {document: activity("scheduleToClose")},
		interpreter.DeadlineStartToClose:    {document: activity("startToClose"), poll: true},
		interpreter.DeadlineHeartbeat:       {document: activity("heartbeat"), poll: true},
	} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				h.perform = hanging
				whole, lost := h.store, &mortal{Store: h.store, commits: &atomic.Int64{}, died: make(chan struct{})}
				h.store = lost
				defer h.work(worker.Config{})()
				h.store = whole
				i := h.start(c.document, c.options)
				time.Sleep(time.Millisecond)
				if c.poll {
					tasks, err := matching.New(matching.Config{Store: whole}).Poll(t.Context(), matching.Poll{Queues: []string{"default"}, Limit: 1})
					if err != nil || len(tasks) != 1 {
						t.Fatalf("polled %v, %v", tasks, err)
					}
				}
				time.Sleep(time.Second)
				lost.dead.Store(true)
				defer h.work(worker.Config{})()
				o := h.wait(i)
				if !o.TimedOut || o.Fault.Extensions["timeoutKind"] != kind || took(o) != time.Minute {
					t.Errorf("got %s after %s: %v", o.Status, took(o), o.Fault)
				}
			})
		})
	}
}

// TestDeadlineOfAWorkerInTrouble is promise 158: a deadline that passes during an outage of the store is enforced after it, and the error
// is logged.
func TestDeadlineOfAWorkerInTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = hanging
		troubled := &mortal{Store: h.store, commits: &atomic.Int64{}, died: make(chan struct{})}
		h.store = troubled
		var log logged
		defer h.work(worker.Config{Log: slog.New(slog.NewTextHandler(&log, nil))})()
		i := h.start("timeout: {after: PT10S}\ndo: [{a: "+task+"}]", client.StartOptions{})
		waiting := h.start("timeout: {after: PT10S}\ndo: [{a: {wait: PT1H}}]", client.StartOptions{})
		time.Sleep(5 * time.Second)
		troubled.dead.Store(true)
		time.Sleep(15 * time.Second)
		if log.count("level=WARN")+log.count("level=ERROR") == 0 {
			t.Errorf("the log says %s", log.text.String())
		}
		troubled.dead.Store(false)
		for _, i := range []store.Instance{i, waiting} {
			if o := h.wait(i); !o.TimedOut || took(o) < 20*time.Second || took(o) > 30*time.Second {
				t.Errorf("got %s after %s: %v", o.Status, took(o), o.Fault)
			}
		}
	})
}

// TestOutermostOfAnActivity: if several deadlines of an activity passed while no worker was present, the deadline of all attempts ends it,
// otherwise the deadline of the attempt. No other attempt begins after its time.
func TestOutermostOfAnActivity(t *testing.T) {
	for name, c := range map[string]struct{ with, kind, events string }{
		"of all attempts, with attempts left": {
			"timeouts: {startToClose: PT5S, scheduleToClose: PT1M}, retry: {maxAttempts: 5, backoff: [PT0S]}", interpreter.DeadlineScheduleToClose, "effect.finished 1 schedule_to_close"},
		"of all attempts, in the last one": {
			"timeouts: {startToClose: PT5S, scheduleToClose: PT1M}", interpreter.DeadlineScheduleToClose, "effect.finished 1 schedule_to_close"},
		"of the attempt before its heartbeats": {
			"timeouts: {startToClose: PT1M, heartbeat: PT5S}", interpreter.DeadlineStartToClose, "effect.finished 1 start_to_close"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &activities{host: newHost(t)}
				a.matcher = matching.New(matching.Config{Store: a.store})
				stop := a.work(worker.Config{})
				i := a.activity(c.with)
				a.poll()
				time.Sleep(time.Second)
				stop()
				time.Sleep(time.Hour) // no worker is present
				defer a.work(worker.Config{})()
				caught, _ := a.caught(i)
				a.expect(caught["kind"], c.kind)
				a.expect(a.events(i), c.events+" by w1")
			})
		})
	}
}

// TestScopesAroundAnActivity: if the deadline of a task or of the run passed as well as the deadline of an activity in it, while no worker
// was present, the outermost fires.
func TestScopesAroundAnActivity(t *testing.T) {
	const activity = "call: 'activity:1.0.0@default', with: {type: x, timeouts: {scheduleToStart: PT5M}"
	for name, c := range map[string]struct{ document, kind string }{
		"a task's":     {"do: [{a: {" + activity + "}, timeout: {after: PT10M}}}]", interpreter.DeadlineTask},
		"the run's":    {"timeout: {after: PT10M}\ndo: [{a: {" + activity + ", retry: {maxAttempts: 5, backoff: [PT0S]}}}}]", interpreter.DeadlineWorkflow},
		"around a try": {"timeout: {after: PT10M}\ndo: [{t: {try: [{a: {" + activity + "}}}], catch: {do: [{late: {wait: P1D}}]}}}]", interpreter.DeadlineWorkflow},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				stop := h.work(worker.Config{})
				i := h.start(c.document, client.StartOptions{})
				time.Sleep(time.Minute)
				stop()
				time.Sleep(time.Hour) // no worker is present
				defer h.work(worker.Config{})()
				if o := h.wait(i); !o.TimedOut || o.Fault.Extensions["timeoutKind"] != c.kind {
					t.Errorf("got %s: %v", o.Status, o.Fault)
				}
				if all := h.records(i); len(all) > 8 {
					t.Errorf("its history is %q", all)
				}
			})
		})
	}
}
