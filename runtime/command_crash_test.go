package runtime_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// mortal is the store as one worker sees it, which is lost at a commit: before it is stored, or after that and before the answer.
type mortal struct {
	store.Store
	commits *atomic.Int64
	at      int64
	stored  bool
	dead    atomic.Bool
	died    chan struct{}
}

var errDead = errors.New("the worker is dead")

func (m *mortal) Commit(ctx context.Context, c store.Commit) (store.Committed, error) {
	if m.dead.Load() {
		return store.Committed{}, errDead
	}
	if m.commits.Add(1) == m.at {
		m.dead.Store(true)
		close(m.died)
		if m.stored {
			_, err := m.Store.Commit(ctx, c)
			return store.Committed{}, errors.Join(errDead, err)
		}
		return store.Committed{}, errDead
	}
	return m.Store.Commit(ctx, c)
}

func (m *mortal) Renew(ctx context.Context, all store.Renew) ([]store.Renewed, error) {
	if m.dead.Load() {
		return nil, errDead
	}
	return m.Store.Renew(ctx, all)
}

func (m *mortal) Claim(ctx context.Context, c store.Claim) ([]store.Claimed, error) {
	if m.dead.Load() {
		return nil, errDead
	}
	return m.Store.Claim(ctx, c)
}

// commandedRun is the result of a run that received commands.
type commandedRun struct {
	Output  any
	Took    time.Duration
	Events  string
	Version string
}

// TestCommandsSurviveCrashes: changes of deadlines, migrations, immediate retries and forks have the same result for a loss of the worker
// at any commit.
func TestCommandsSurviveCrashes(t *testing.T) {
	calm, commits := commanded(t, "calm", 0, false)
	if calm.Version != "2.0.0" || calm.Output == nil || commits < 7 {
		t.Fatalf("got %+v with %d commits", calm, commits)
	}
	for at := int64(1); at <= commits; at++ {
		for _, stored := range []bool{false, true} {
			name := fmt.Sprintf("commit %d of %d, stored %v", at, commits, stored)
			crashed, _ := commanded(t, name, at, stored)
			if late := crashed.Took - calm.Took; late < 0 || late > 10*time.Second { // until the lease of the lost worker ends
				t.Errorf("%s: it took %s, and %s otherwise", name, crashed.Took, calm.Took)
			}
			crashed.Took = calm.Took
			if diff := cmp.Diff(calm, crashed); diff != "" {
				t.Errorf("%s (-calm +crashed):\n%s", name, diff)
			}
		}
	}
}

// commanded runs a document and gives it commands, while its first worker is lost at a commit. It returns the end, and how many commits there were.
func commanded(t *testing.T, name string, at int64, stored bool) (ended commandedRun, commits int64) {
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t)
			h.perform = effortless
			real, counted := h.store, new(atomic.Int64)
			first := &mortal{Store: real, commits: counted, at: at, stored: stored, died: make(chan struct{})}
			h.store = first
			stop := h.work(worker.Config{ParkAfter: time.Millisecond})
			h.store = real
			defer stop()
			go func() {
				select {
				case <-first.died:
					defer h.work(worker.Config{ParkAfter: time.Millisecond})()
				case <-t.Context().Done():
				}
				<-t.Context().Done()
			}()
			i := h.begin(`
timeout: {after: PT30S}
do:
- t: {try: [{r: {if: '$context.n == null', raise: {error: {type: https://a.b/c, status: 400}}}}], catch: {retry: {delay: PT1H, limit: {attempt: {count: 1}}}, do: [{s: {set: {n: 1}, export: {as: '${ . }'}}}]}}
- a: {wait: PT40S}
- b: `+task+`
- c: {set: {n: 1}}
`, client.StartOptions{})
			h.version("2.0.0", `
do:
- t: {try: [{r: {if: '$context.n == null', raise: {error: {type: https://a.b/c, status: 400}}}}], catch: {retry: {delay: PT1H, limit: {attempt: {count: 1}}}, do: [{s: {set: {n: 1}, export: {as: '${ . }'}}}]}}
- x: {set: {n: 3}}
- a: {wait: PT1H}
- b: `+task+`
- w: {wait: PT5S}
- c: {raise: {error: {type: https://a.b/d, status: 400}}}
`)
			time.Sleep(10 * time.Second)
			h.must(h.asker().RetryNow(t.Context(), i, ""))
			time.Sleep(10 * time.Second)
			h.mustMove(i, client.DeadlineChange{By: time.Minute})
			h.must(h.migrate(i, client.Migration{To: "2.0.0", Map: interpreter.PointerMap{"/do/1/a": "/do/2/a", "/do/2/b": "/do/3/b"}}))
			o := h.wait(i)
			h.verifyReplay(i)
			h.version("3.0.0", `
do:
- t: {try: [{r: {set: {n: 1}}}], catch: {do: []}}
- x: {set: {n: 3}}
- a: {wait: PT1H}
- b: `+task+`
- w: {wait: PT5S}
- c: {set: {fixed: true}}
`)
			forked := h.mustFork(i, client.ForkOptions{Version: "3.0.0"})
			ended = commandedRun{h.wait(forked.Instance).Output, took(o), strings.ReplaceAll(strings.Join(h.records(i), " "), string(interpreter.WorkflowWorkerLost)+" ", ""), h.described(i, false).Invocation.Workflow.Version}
			h.verifyReplay(forked.Instance)
			commits = counted.Load()
		})
	})
	return ended, commits
}
