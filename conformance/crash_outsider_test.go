package conformance

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/runtime/activity"
	"github.com/swrun/swrun/runtime/store"
)

// outsider is a worker outside of the deployment, which performs activities. No crash of the deployment affects it.
type outsider struct {
	waits bool // until no worker of the deployment holds a run: then the runs are parked
	taken int
	now   *attempt // in progress, or nil
}

// attempt is an attempt of an activity that an outsider has taken.
type attempt struct {
	id     store.ActivityID
	number int
	nonce  string
	beaten bool
}

// work does the next step of the outsider, and reports whether there was a step. It reports progress of the first attempt and fails, is silent in the
// second attempt, and completes the third attempt after a heartbeat.
func (o *outsider) work(d *durable) bool {
	d.t.Helper()
	if o == nil || o.waits && len(d.held) > 0 {
		return false
	}
	if o.now == nil {
		return o.take(d)
	}
	a := o.now
	switch {
	case a.number == 2:
		o.now = nil
	case !a.beaten:
		a.beaten = true
		d.change(a.id, activity.Heartbeat{Nonce: a.nonce, Progress: &interpreter.Value{V: a.number}})
	case a.number == 1:
		o.now = nil
		d.change(a.id, activity.Fail{Nonce: a.nonce, Error: &errors.Error{Type: errors.Communication, Status: 503, Title: "Unavailable", Detail: "the first attempt fails"}})
	default:
		o.now = nil
		d.change(a.id, activity.Complete{Nonce: a.nonce, Result: map[string]any{"attempt": a.number}})
	}
	return true
}

// take takes an activity that is offered. Each attempt is offered once, whatever is lost.
func (o *outsider) take(d *durable) bool {
	d.t.Helper()
	for p := range d.bench.store.Layout().Partitions {
		offered, err := d.bench.store.Available(d.t.Context(), store.Available{Partition: p, Queues: []string{"default"}, N: 1})
		d.must(err)
		for _, id := range offered.Activities {
			o.taken++
			o.now = &attempt{id: id, nonce: fmt.Sprintf("outside%d", o.taken)}
			if got := d.change(id, activity.Take{Worker: "outside", Nonce: o.now.nonce}); got != nil {
				o.now.number = got.Attempt
			}
			if o.now.number != o.taken {
				d.t.Fatalf("the attempt %d is taken as the %d. one", o.now.number, o.taken)
			}
			return true
		}
	}
	return false
}

// next returns the time at which the outsider can take the next activity of a partition; zero if no activity waits for its time.
func (o *outsider) next(d *durable, partition int) time.Time {
	d.t.Helper()
	if o == nil {
		return time.Time{}
	}
	offered, err := d.bench.store.Available(d.t.Context(), store.Available{Partition: partition, Queues: []string{"default"}, N: 1})
	d.must(err)
	return offered.Next
}

// change does an operation on an activity as a commit that can be lost, and returns the activity; nil if it is ended. If the answer is lost, the
// operation is repeated.
func (d *durable) change(id store.ActivityID, op activity.Operation) *activity.Activity {
	d.t.Helper()
	c := store.ChangeActivities{Partition: id.Run.Partition(d.bench.store.Layout().Partitions), Activities: []store.ActivityID{id}, Operation: op}
	d.commits++
	times := 1
	if d.commits == d.loseAt {
		times = 2
	}
	var changed *store.Activity
	for range times {
		got, err := d.bench.store.ChangeActivities(d.t.Context(), c)
		d.must(err)
		d.must(got[0].Refused)
		changed = got[0].Activity
	}
	if d.commits == d.crashAt {
		d.crash()
	}
	if changed == nil {
		return nil
	}
	a, err := activity.Parse(changed)
	d.must(err)
	return a
}

// TestCrashesWithOutsideWorker: the worker of the deployment is lost at each commit around an activity and at each step of the outside worker, and so
// is each answer. Every attempt is made once, and the run ends with the result of the last attempt.
func TestCrashesWithOutsideWorker(t *testing.T) {
	server := redistest.Start(t, "--appendonly", "yes")
	redisClient := redis.NewClient(&redis.Options{Addr: server.Addr, DisableIdentity: true})
	t.Cleanup(func() { redisClient.Close() }) // the server is already stopped
	var deployments atomic.Int64
	c := testCase{name: "outside", files: map[string]string{
		"workflow.yaml": `
document: {dsl: 1.0.3, namespace: test, name: case, version: 0.1.0}
do:
- before: {set: {n: 1}}
- work: {call: 'activity:1.0.0@default', with: {type: x, input: '${ . }', timeouts: {heartbeat: PT30S}, retry: {maxAttempts: 3, backoff: [PT1S, PT20S]}}}
- after: {set: '${ {done: .} }'}
`,
		"output.json": `{"done": {"attempt": 3}}`,
	}}
	for name, open := range map[string]func(*testing.T) bench{
		"memory": memoryBench, "file": fileBench,
		"redis": func(t *testing.T) bench { return mustDeployment(t, server.URL(), redisClient, deployments.Add(1)) },
	} {
		for _, parked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, parked=%v", name, parked), func(t *testing.T) {
				verifyCrashes(t, 1, 1, func() *durable {
					d := newDurable(t, c, open(t))
					d.outsider = &outsider{waits: parked}
					return d
				})
			})
		}
	}
}
