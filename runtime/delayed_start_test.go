package runtime_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// TestCommandsToASuspendedDelayedStart: a run that was suspended before its start is not a run that has started.
func TestCommandsToASuspendedDelayedStart(t *testing.T) {
	const delay = time.Minute
	for name, command := range map[string]func(*client.Client, store.Instance) error{
		"resume":  func(c *client.Client, i store.Instance) error { return c.Resume(context.Background(), i, "") },
		"cancel":  func(c *client.Client, i store.Instance) error { return c.Cancel(context.Background(), i, "") },
		"suspend": func(c *client.Client, i store.Instance) error { return c.Suspend(context.Background(), i, "") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				h.perform = effortless
				defer h.work(worker.Config{})()
				began := time.Now()
				i := h.start("do: [{a: "+task+"}]", client.StartOptions{Delay: delay})
				time.Sleep(time.Second)
				if err := h.client.Suspend(t.Context(), i, ""); err != nil {
					t.Fatal(err)
				}
				time.Sleep(5 * time.Second)
				if err := command(h.client, i); err != nil {
					t.Fatal(err)
				}
				time.Sleep(5 * time.Second)
				if r := h.record(i); r.Held() {
					t.Errorf("it is held: %+v", r)
				}
				want := interpreter.StatusCancelled
				if name != "cancel" {
					if name == "suspend" {
						time.Sleep(delay)
						if err := h.client.Resume(t.Context(), i, ""); err != nil {
							t.Fatal(err)
						}
					}
					want = interpreter.StatusCompleted
				}
				if o := h.wait(i); o.Status != want || want == interpreter.StatusCompleted && o.StartedAt.Before(began.Add(delay)) {
					t.Errorf("it ended as %+v", o)
				}
			})
		})
	}
}

// TestAcceptedTimeoutOfADelayedStart: a timeout that counts from the acceptance may pass before the start.
func TestAcceptedTimeoutOfADelayedStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = hanging
		defer h.work(worker.Config{})()
		began := time.Now()
		i := h.start("do: [{a: "+task+"}]", client.StartOptions{ExecutionTimeout: 5 * time.Second, TimeoutsFromAccept: true, Delay: time.Hour})
		o := h.wait(i)
		if took := time.Since(began); o.Status != interpreter.StatusFaulted || took < 5*time.Second || took > 6*time.Second {
			t.Errorf("after %s it ended as %+v", took, o)
		}
	})
}

// TestMessageShortlyBeforeADelayedStart: it starts in time, and there is no busy waiting for it.
func TestMessageShortlyBeforeADelayedStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = effortless
		defer h.work(worker.Config{})()
		began := time.Now()
		i := h.start("do: [{a: "+task+"}]", client.StartOptions{Delay: 2 * time.Second})
		time.Sleep(1500 * time.Millisecond)
		if err := h.client.Resume(t.Context(), i, ""); err != nil {
			t.Fatal(err)
		}
		o := h.wait(i)
		if r := h.record(i); r.Epoch != 1 || o.StartedAt.Sub(began) < 2*time.Second || o.EndedAt.Sub(began) > 2100*time.Millisecond {
			t.Errorf("after %s: %+v, %+v", o.EndedAt.Sub(began), o, r)
		}
	})
}

// TestLateStartIsStored: a start whose time the store has not fixed is stored before anything begins.
func TestLateStartIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		var i store.Instance
		h.perform = func(context.Context, interpreter.Request) (any, error) {
			if r := h.record(i); r.Status == interpreter.StatusPending {
				t.Errorf("the record is %+v", r)
			}
			return "done", nil
		}
		stop := h.work(worker.Config{})
		i = h.start("do: [{a: "+task+"}]", client.StartOptions{Delay: 2 * time.Second})
		time.Sleep(1200 * time.Millisecond)
		if err := h.client.Resume(t.Context(), i, ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(300 * time.Millisecond)
		stop()
		h.store = &unanswering{Store: h.store, takes: time.Second}
		defer h.work(worker.Config{})()
		h.wait(i)
	})
}

// TestQueuedStartIsFree: waiting in line does not use up the timeout, unless it was asked for (promises 172).
func TestQueuedStartIsFree(t *testing.T) {
	for accepted, want := range map[bool]time.Duration{false: 5 * time.Second, true: time.Second} {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t)
			h.perform = hanging
			i := h.start("do: [{a: "+task+"}]", client.StartOptions{ExecutionTimeout: 5 * time.Second, TimeoutsFromAccept: accepted})
			time.Sleep(4 * time.Second)
			defer h.work(worker.Config{})()
			if o := h.wait(i); took(o) != want {
				t.Errorf("accepted %v: it ended after %s", accepted, took(o))
			}
		})
	}
}

// TestDelay: a delayed run starts in time, and one whose deadline passes before never starts (promises 173, 182).
func TestDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = effortless
		defer h.work(worker.Config{})()
		began := time.Now()
		i := h.start("do: [{a: "+task+"}]", client.StartOptions{Delay: time.Hour})
		timed := h.start("do: [{w: {wait: PT10S}}]", client.StartOptions{Delay: time.Hour, ExecutionTimeout: 5 * time.Second})
		never := h.start("do: [{a: "+task+"}]", client.StartOptions{Delay: time.Hour, Deadline: began.Add(time.Minute)})
		if o := h.wait(never); o.Status != interpreter.StatusFaulted || time.Since(began) > 61*time.Second {
			t.Errorf("got %+v after %s", o, time.Since(began))
		}
		for _, r := range h.records(never) {
			if strings.HasPrefix(r, "task.") {
				t.Errorf("a task ran: %s", r)
			}
		}
		if o := h.wait(i); o.Status != interpreter.StatusCompleted || time.Since(began).Round(time.Second) != time.Hour {
			t.Errorf("got %+v after %s", o, time.Since(began))
		}
		if o := h.wait(timed); !o.TimedOut || took(o) != 5*time.Second || o.EndedAt.Sub(began).Round(time.Second) != time.Hour+5*time.Second {
			t.Errorf("the delay counts: it ended %s after its start: %+v", took(o), o)
		}
	})
}

// TestCommandsBeforeTheStart: a run that is cancelled or suspended before a worker takes it starts no task. The history has the events in
// their order.
func TestCommandsBeforeTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = effortless
		document := "do: [{a: {set: {x: 1}}}, {b: " + task + "}]"
		cancelled, suspended := h.start(document, client.StartOptions{}), h.start(document, client.StartOptions{})
		if err := errors.Join(h.client.Cancel(t.Context(), cancelled, ""), h.client.Suspend(t.Context(), suspended, "")); err != nil {
			t.Fatal(err)
		}
		defer h.work(worker.Config{})()
		if o := h.wait(cancelled); o.Status != interpreter.StatusCancelled {
			t.Errorf("got %+v", o)
		}
		time.Sleep(time.Minute)
		for _, i := range []store.Instance{cancelled, suspended} {
			for _, r := range h.records(i) {
				if strings.HasPrefix(r, "task.") {
					t.Errorf("a task ran: %s", r)
				}
			}
		}
		if err := h.client.Resume(t.Context(), suspended, ""); err != nil {
			t.Fatal(err)
		}
		if o := h.wait(suspended); o.Status != interpreter.StatusCompleted {
			t.Errorf("got %+v", o)
		}
		if got := h.records(suspended)[:3]; !slices.Equal(got, []string{"workflow.suspended", "workflow.started", "workflow.resumed"}) {
			t.Errorf("its history begins with %q", got)
		}
	})
}

// TestCancelledWhileSuspended: a run that was suspended before it started can be cancelled.
func TestCancelledWhileSuspended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = effortless
		i := h.start("do: [{a: {set: {x: 1}}}, {b: "+task+"}]", client.StartOptions{})
		if err := errors.Join(h.client.Suspend(t.Context(), i, ""), h.client.Cancel(t.Context(), i, "")); err != nil {
			t.Fatal(err)
		}
		defer h.work(worker.Config{Concurrency: -1})()
		if o := h.wait(i); o.Status != interpreter.StatusCancelled {
			t.Errorf("got %+v", o)
		}
	})
}
