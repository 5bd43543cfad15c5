package runtime_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/activity"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/matching"
	"github.com/swrun/swrun/runtime/queue"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// busy is a store that calls a function before each commit that dismisses an activity of the first effect.
type busy struct {
	store.Store
	of    interpreter.EffectID
	times int // how often such a commit was asked for
	call  func(nth int)
}

func (b *busy) Commit(ctx context.Context, c store.Commit) (store.Committed, error) {
	dismisses := func(change store.ActivityChange) bool {
		return change.Effect == b.of && change.To == nil && change.Once == ""
	}
	if b.call != nil && slices.ContainsFunc(c.Activities, dismisses) {
		b.times++
		b.call(b.times)
	}
	return b.Store.Commit(ctx, c)
}

// TestVeryBusyWorkersChangeNothing: a worker changes its activity just before each commit that dismisses the activity. Each commit is
// refused, until one is stored without checking the activity. The run ends as without the interference: the next task is performed once, no
// activity is left, the permit of its queue is free, and a result accepted in between is in the history.
func TestVeryBusyWorkersChangeNothing(t *testing.T) {
	const work = "{work: {call: 'activity:1.0.0@default', with: {type: first}, timeout: {after: PT10S}}}"
	cuts := map[string]string{
		"a timeout": "{cut: {try: [" + work + "], catch: {do: [{caught: {set: {cut: true}}}]}}}",
		"a race":    "{cut: {fork: {compete: true, branches: [{work: {call: 'activity:1.0.0@default', with: {type: first}}}, {w: {do: [{w: {wait: PT10S}}, {s: {set: {cut: true}}}]}}]}}}",
	}
	for name, cut := range cuts {
		for _, after := range []int{0, 1, 10, 11} { // the commit before which the result comes; 0 for none
			for _, how := range []string{"is alive", "gives back"} {
				t.Run(fmt.Sprint(name, "/", how, "/", after), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { testBusy(t, cut, how, after) })
				})
			}
		}
	}
}

func testBusy(t *testing.T, cut, how string, after int) {
	a := &activities{host: newHost(t)}
	plain, kept := a.store, &busy{Store: a.store, of: 1}
	a.matcher = matching.New(matching.Config{Store: plain})
	a.rule("default", func(r *queue.Rules) { *r = queue.Rules{Concurrency: 1} })
	a.store = kept
	defer a.work(worker.Config{})()
	i := a.start("do: ["+cut+", {next: {call: 'activity:1.0.0@default', with: {type: second, input: '${ . }'}}}]", client.StartOptions{})
	task := a.poll()
	nonce, reported := task.Activity.Nonce, false
	change := func(op store.ActivityOperation) (done bool) {
		changed, err := plain.ChangeActivities(a.Context(), store.ChangeActivities{
			Partition: i.Partition(plain.Layout().Partitions), Activities: []store.ActivityID{task.ID}, Operation: op,
		})
		a.must(err)
		return changed[0].Refused == nil
	}
	kept.call = func(nth int) {
		switch {
		case reported:
		case nth == after:
			reported = change(activity.Complete{Nonce: nonce, Result: map[string]any{"cut": false}})
		case how == "is alive":
			change(activity.Heartbeat{Nonce: nonce, Progress: &interpreter.Value{V: nth}})
		case change(activity.Return{Nonce: nonce}):
			nonce = fmt.Sprint(nonce, nth)
			change(activity.Take{Worker: "w1", Nonce: nonce})
		}
	}
	next := a.poll()
	a.expect(next.Activity.Type, "second")
	a.must(a.matcher.Complete(a.Context(), next.Token, next.Input.V))
	o := a.wait(i)
	if kept.times < max(after, 1) || after == 0 && kept.times < 11 {
		a.Errorf("the activity was dismissed by %d commits", kept.times)
	}
	won := fmt.Sprint(o.Output) == "map[cut:false]"
	a.expect(won, reported && strings.Contains(cut, "fork") && after <= 10) // a result that arrives before a timeout is stored also counts as late
	a.expect(strings.Count(a.events(i), "result.late") == 1, reported && !won)
	if took := o.EndedAt.Sub(o.StartedAt); !reported && took > 12*time.Second {
		a.Errorf("the permit was given back so late that the run has taken %s", took)
	}
	time.Sleep(time.Minute)
	l, err := plain.Load(a.Context(), i)
	a.must(err)
	a.expect(len(l.Activities), 0)
}
