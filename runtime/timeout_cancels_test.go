package runtime_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// TestTimeoutCancelsEverything: promises 18 to 20. When the deadline of a run, of the execution or of a task passes, effects in flight,
// activities of outside workers, waits and pending retries end too, each with an event of its own.
func TestTimeoutCancelsEverything(t *testing.T) {
	const branches = `{fork: {branches: [
    {effect: {run: {shell: {command: x}}}},
    {outside: {call: 'activity:1.0.0@default', with: {type: x}}},
    {waits: {wait: PT1H}},
    {again: {try: [{bad: {raise: {error: {type: about:blank, status: 500}}}}], catch: {retry: {delay: PT1H}}}},
    {child: {run: {workflow: {namespace: test, name: child, version: latest}}}}]}}`
	for name, c := range map[string]struct {
		document string
		options  client.StartOptions
	}{
		"the workflow's":  {"timeout: {after: PT5S}\ndo: [{f: " + branches + "}]", client.StartOptions{}},
		"the execution's": {"do: [{f: " + branches + "}]", client.StartOptions{ExecutionTimeout: 5 * time.Second}},
		"the run's":       {"do: [{f: " + branches + "}]", client.StartOptions{RunTimeout: 5 * time.Second}},
		"a task's":        {"do: [{f: {timeout: {after: PT5S}, do: [{g: " + branches + "}]}}]", client.StartOptions{}},
	} {
		t.Run(name, func(t *testing.T) {
			withOutsideWorkers(t, false, func(a *activities) {
				var cancelled atomic.Bool
				a.perform = func(ctx context.Context, _ interpreter.Request) (any, error) {
					<-ctx.Done()
					cancelled.Store(true)
					return nil, ctx.Err()
				}
				a.deploy("child", "do: [{a: {wait: P1D}}]")
				i := a.start(c.document, c.options)
				token := a.poll().Token
				if o := a.wait(i); !o.TimedOut || took(o) != 5*time.Second {
					t.Errorf("got %+v after %s", o, took(o))
				}
				time.Sleep(time.Second)
				if stop, err := a.matcher.Heartbeat(t.Context(), token, nil); !cancelled.Load() || !stop || err != nil {
					t.Errorf("the effect is cancelled: %t, the activity: %t, %v", cancelled.Load(), stop, err)
				}
				if r := a.record(a.child(i)); r.Reason != "timed_out" { // it has no more time than its parent
					t.Errorf("the child is closed as %q", r.Reason)
				}
				a.expect(a.cancelledTasks(i), "again child effect outside waits")
				if r := a.record(i); !r.Wake.IsZero() || !r.Deadline.IsZero() || r.Held() {
					t.Errorf("something is left of it: %+v", r)
				}
			})
		})
	}
}

// cancelledTasks returns the names of the branches that were cancelled by a timeout according to the history.
func (a *activities) cancelledTasks(i store.Instance) string {
	a.Helper()
	var all []string
	_, err := a.client.History(a.Context(), i, 0, func(e client.HistoryEntry) error {
		for _, r := range e.Events {
			if _, name, inside := strings.Cut(string(r.Pointer), "/fork/branches/"); inside && r.Type == interpreter.TaskCancelled && r.Error != nil && r.Error.Status == 408 {
				all = append(all, name[len("0/"):])
			}
		}
		return nil
	})
	a.must(err)
	slices.Sort(all)
	return fmt.Sprint(strings.Join(all, " "))
}
