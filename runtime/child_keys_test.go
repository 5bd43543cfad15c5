package runtime_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// runs is a task that runs a workflow.
func runs(name, more string) string {
	return "{run: {workflow: {namespace: test, name: " + name + ", version: latest}}" + more + "}"
}

// TestChildrenKeepKeys: the calls of a child that is started again, by a try or by a fork of its parent, keep their keys, and the plan of a
// fork lists them. A child that may still continue, or that succeeded, gets new keys.
func TestChildrenKeepKeys(t *testing.T) {
	const abandoned = ", metadata: {swrun: {parentClose: abandon}}"
	for name, c := range map[string]struct {
		parent, child       string
		first, forks, tells string // the requests of the run and of its fork, and the calls of children in the plan of the fork
		from                string
	}{
		"a child": {
			"do: [{r: " + runs("child", "") + "}]", "do: [{a: " + task + "}, {b: " + task + "}]", "a1/0 b1/1", "a1/0 b1/1", "/do/0/a succeeded true, /do/1/b failed true", "",
		},
		"a child's child": {
			"do: [{r: " + runs("middle", "") + "}]", "do: [{b: " + task + "}]", "b1/0", "b1/0", "/do/0/m failed true, /do/0/b failed true", "",
		},
		"a child in a try": {
			"do: [{t: {try: [{r: " + runs("child", "") + "}], catch: {retry: {delay: PT1S, limit: {attempt: {count: 2}}}}}}]", "do: [{b: " + task + "}]",
			"b1/0 b1/0 b1/0", "b1/0", "/do/0/b failed true", "",
		},
		"a child that may go on": {
			"do: [{r: " + runs("child", abandoned) + "}]", "do: [{b: " + task + "}]", "b1/0", "b1/1", "/do/0/b failed false", "",
		},
		"a child that has succeeded": {
			"do: [{r: " + runs("child", "") + "}, {b: " + task + "}]", "do: [{a: " + task + "}]", "a1/0 b1/1", "a1/2 b2/1", "/do/0/a succeeded false", "/do/0/r",
		},
		"a child in a loop": {
			"do: [{l: {for: {in: '[1, 2]'}, do: [{r: " + runs("child", "") + "}]}}]", "do: [{a: " + task + "}, {c: {if: '. == 0', run: {shell: {command: x}}}}, {b: " + task + "}]",
			"a1/0 b1/1", "a1/0 b1/1 a1/2 b1/3", "/do/0/a succeeded true, /do/2/b failed true", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, sent, keys := newHost(t), &requests{fails: named("b")}, []string{}
				h.perform = sent.perform
				h.deploy("child", c.child)
				h.deploy("middle", "do: [{m: "+runs("child", "")+"}]")
				defer h.work(worker.Config{})()
				i := h.start(c.parent, client.StartOptions{})
				if o := h.wait(i); o.Fault == nil {
					t.Error("the run has not failed")
				}
				if got := sent.take(&keys); got != c.first {
					t.Errorf("the requests are %s, not %s", got, c.first)
				}
				sent.fail(nil)
				o := client.ForkOptions{}
				o.From = dsl.Pointer(c.from)
				dry := o
				dry.Dry = true
				planned := h.mustFork(i, dry)
				forked := h.mustFork(i, o)
				var told []string
				for n, r := range forked.Repeats {
					if r.In.ID != "" {
						told = append(told, fmt.Sprintf("%s %s %t", r.Pointer, r.Outcome, r.SameKey))
					}
					if p := planned.Repeats[n]; p.Path != r.Path || p.In != r.In || p.SameKey != r.SameKey {
						t.Errorf("%+v was planned, and %+v is repeated", p, r)
					}
				}
				if got := strings.Join(told, ", "); got != c.tells {
					t.Errorf("told of children: %s, not %s", got, c.tells)
				}
				if o := h.wait(forked.Instance); o.Fault != nil {
					t.Error(o.Fault)
				}
				if got := sent.take(&keys); got != c.forks {
					t.Errorf("the requests of the fork are %s, not %s", got, c.forks)
				}
			})
		})
	}
}

// TestForksOfEarlierVersions: a run that was forked when records did not name the fork yet is refused, and its record names the fork from then on.
func TestForksOfEarlierVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, sent := newHost(t), &requests{fails: everything}
		h.perform = sent.perform
		defer h.work(worker.Config{})()
		i := h.start("do: [{c: "+task+"}]", client.StartOptions{})
		h.wait(i)
		l, err := h.store.Load(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		info, err := execution.ParseInvocation(l.Invocation)
		if err != nil {
			t.Fatal(err)
		}
		fork := store.Instance{Namespace: i.Namespace, ID: "early"}
		info.Fork = &execution.ForkedFrom{Instance: i}
		start, err := info.StartRequest(fork, limits.Set{}, h.store.Layout().Partitions)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.store.Start(t.Context(), start); err != nil {
			t.Fatal(err)
		}
		entry := store.RegistryEntry[[]store.Instance]{Kind: store.RegistryForks, Key: i.String()}
		if _, err := entry.Change(t.Context(), h.store, func(all *[]store.Instance) error { *all = []store.Instance{fork}; return nil }, func(*[]store.Instance) bool { return false }); err != nil {
			t.Fatal(err)
		}
		_, err = h.asker().Fork(t.Context(), i, client.ForkOptions{})
		var continued *client.ContinuedError
		if !errors.As(err, &continued) || continued.Fork != fork || h.record(i).Continuation != fork.ID {
			t.Errorf("the answer is %v, the record names %q", err, h.record(i).Continuation)
		}
	})
}
