package runtime_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/queue"
	"github.com/swrun/swrun/runtime/worker"
)

// TestChildrenBesideThatCannotStart: a parent continues and ends although a child beside it could not start, for every close policy of the
// child.
func TestChildrenBesideThatCannotStart(t *testing.T) {
	for name, child := range map[string]string{
		"it is not deployed":         "",
		"its input is refused":       "input: {schema: {format: json, document: {type: object, required: [n]}}}\ndo: [{a: {wait: PT1H}}]",
		"it has no time at all":      "timeout: {after: PT0S}\ndo: [{a: {wait: PT1H}}]",
		"it fails at once":           "do: [{e: {raise: {error: {type: about:blank, status: 500}}}}]",
		"its timeout cannot be told": "timeout: {after: '${ .none }'}\ndo: [{a: {wait: PT1H}}]",
	} {
		for _, policy := range []string{"cancel", "terminate"} {
			for _, tried := range []bool{false, true} {
				t.Run(name+" "+policy, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						h := newHost(t)
						stop := h.work(worker.Config{})
						if child != "" {
							h.deploy("child", child)
						}
						task := beside(policy)
						if tried {
							task = "{t: {try: [" + task + "], catch: {}}}"
						}
						i := h.start("do: ["+task+", {w: {wait: PT5M}}]", client.StartOptions{})
						time.Sleep(time.Minute)
						stop() // another worker restores the stored state
						defer h.work(worker.Config{})()
						o := h.wait(i)
						if o.Status != interpreter.StatusCompleted && (child != "" || tried) {
							t.Errorf("the parent has ended as %+v", o)
						}
						if took(o) > 6*time.Minute {
							t.Errorf("the parent took %s", took(o))
						}
					})
				})
			}
		}
	}
}

// TestChildrenBesideARollOver: a child continues when its parent's history rolls over, and ends with the parent.
func TestChildrenBesideARollOver(t *testing.T) {
	for policy, want := range map[string]string{"cancel": "cancelled", "terminate": "terminated", "abandon": "completed"} {
		t.Run(policy, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				h.perform = func(context.Context, interpreter.Request) (any, error) {
					time.Sleep(time.Second)
					return map[string]any{}, nil
				}
				config := worker.Config{Limits: limits.Set{limits.History: 60}}
				stop := h.work(config)
				h.deploy("child", "do: [{a: {wait: PT1H}}]")
				i := h.start("do: ["+beside(policy)+", {l: {for: {in: '[range(60)]'}, do: [{a: "+task+"}, {b: {set: {n: 1}}}]}}]", client.StartOptions{})
				time.Sleep(40 * time.Second)
				stop() // another worker restores the stored state
				defer h.work(config)()
				child := h.child(i)
				if n := h.described(i, false).RunNumber(); n < 2 || h.record(child).Status.Final() {
					t.Fatalf("in run %d of its parent the child is %s", n, h.record(child).Reason)
				}
				h.wait(i)
				if h.wait(child); h.record(child).Reason != want {
					t.Errorf("the child is closed as %s", h.record(child).Reason)
				}
			})
		})
	}
}

// TestParkedInALimitedQueue: an activity of a suspended run occupies no place in a queue with limits, delays no other activity, and is
// handed out when its run is resumed.
func TestParkedInALimitedQueue(t *testing.T) {
	for name, limit := range map[string]func(*queue.Rules) error{
		"concurrency": func(r *queue.Rules) error { return r.SetConcurrency("1") },
		"rate":        func(r *queue.Rules) error { return r.SetRate("1/1m") },
	} {
		t.Run(name, func(t *testing.T) {
			withActivities(t, func(a *activities) {
				a.rule("default", func(r *queue.Rules) { a.must(limit(r)) })
				parked := a.activity("timeouts: {scheduleToStart: PT5H}")
				a.suspend(parked)
				if got := a.polled(time.Minute, "default"); len(got) != 0 {
					t.Errorf("%v is handed out while its run is suspended", got)
				}
				next := a.activity("timeouts: {scheduleToStart: PT5H}")
				time.Sleep(2 * time.Minute)
				got := a.polled(2*time.Minute, "default")
				if len(got) != 1 || got[0].ID.Run != next {
					t.Fatalf("the activity of the other run is not handed out: %v", got)
				}
				a.resume(parked)
				time.Sleep(2 * time.Minute)
				if again := a.polled(time.Minute, "default"); name == "concurrency" && len(again) != 0 {
					t.Errorf("%v is handed out beside another one", again)
				} else {
					a.must(a.matcher.Complete(a.Context(), got[0].Token, nil))
					if got = again; name == "concurrency" {
						got = a.polled(2*time.Minute, "default")
					}
				}
				if len(got) != 1 || got[0].ID.Run != parked || strings.Contains(a.described(parked, false).Why, "suspended") {
					t.Fatalf("after the resume %v is handed out", got)
				}
				a.must(a.matcher.Complete(a.Context(), got[0].Token, nil))
				a.wait(parked)
				a.wait(next)
			})
		})
	}
}
