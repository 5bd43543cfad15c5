package runtime_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

func (h *host) asker() *client.Client {
	return client.New(client.Config{Store: h.store, Compile: h.compile})
}

// mustFork forks a run.
func (h *host) mustFork(i store.Instance, o client.ForkOptions) client.Forked {
	h.Helper()
	forked, err := h.asker().Fork(h.Context(), i, o)
	if err != nil {
		h.Fatal(err)
	}
	return forked
}

// TestForkFromTheFailedTask is promises 162, 163 and 187: a failed run continues from the failed task as another run, with its data and its
// remaining time. The failed run is unchanged.
func TestForkFromTheFailedTask(t *testing.T) {
	for name, c := range map[string]struct {
		document, from string
		options        client.StartOptions
		fails          func(h *host, i store.Instance)
		want           any
	}{
		"a fault":                   {`do: [{a: {set: {n: 1}, export: {as: "{kept: .n}"}}}, {b: {wait: PT1S}}, {c: ` + task + `}, {d: {set: {n: "${ $context.kept }"}}}]`, "/do/2/c", client.StartOptions{}, nil, map[string]any{"n": 1}},
		"inside of a loop":          {`do: [{l: {for: {in: "[1,2,3]"}, do: [{w: {wait: PT1S}}, {c: {if: "$item == 2", do: [{x: ` + task + `}]}}, {s: {set: {last: "${ $item }"}}}]}}]`, "/do/0/l[1]/do/1/c/do/0/x", client.StartOptions{}, nil, map[string]any{"last": 3}},
		"all of its attempts again": {`do: [{t: {try: [{c: ` + task + `}], catch: {retry: {delay: PT1S, limit: {attempt: {count: 2}}}}}}]`, "/do/0/t/try/0/c", client.StartOptions{}, nil, "done"},
		"in a catch":                {`do: [{t: {try: [{r: {raise: {error: {type: "https://a.b/c", status: 400}}}}], catch: {as: e, do: [{c: ` + task + `}, {s: {set: {status: "${ $e.status }"}}}]}}}]`, "/do/0/t/catch/do/0/c", client.StartOptions{}, nil, map[string]any{"status": 400}},
		"a branch of a fork":        {`do: [{f: {fork: {branches: [{a: {wait: PT5S}}, {b: {do: [{c: ` + task + `}]}}]}}}]`, "/do/0/f/fork/branches/1/b/do/0/c", client.StartOptions{}, nil, []any{map[string]any{}, "done"}},
		"its time was over":         {`do: [{w: {wait: PT2S}}, {c: ` + task + `}]`, "/do/1/c", client.StartOptions{ExecutionTimeout: 5 * time.Second}, func(*host, store.Instance) {}, "done"},
		"it was cancelled": {`do: [{w: {wait: PT2S}}, {c: ` + task + `}]`, "/do/1/c", client.StartOptions{}, func(h *host, i store.Instance) {
			time.Sleep(3 * time.Second)
			_ = h.client.Cancel(h.Context(), i, "") // the wait reports if it does not end
		}, "done"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				var fixed atomic.Bool
				h.perform = func(ctx context.Context, r interpreter.Request) (any, error) {
					switch {
					case fixed.Load():
						return effortless(ctx, r)
					case c.fails != nil:
						return hanging(ctx, r)
					}
					return nil, errors.Runtimef("broken")
				}
				defer h.work(worker.Config{})()
				i := h.start(c.document, c.options)
				if c.fails != nil {
					c.fails(h, i)
				}
				o := h.wait(i)
				before := h.record(i)
				fixed.Store(true)
				forked := h.mustFork(i, client.ForkOptions{})
				if string(forked.Task) != c.from || len(forked.Repeats) == 0 {
					t.Errorf("it goes on from %s and repeats %v", forked.Task, forked.Repeats)
				}
				if diff := cmp.Diff(c.want, h.wait(forked.Instance).Output); diff != "" {
					t.Errorf("%v: %s", o.Fault, diff)
				}
				before.Continuation = forked.Instance.ID
				if after := h.record(i); after != before {
					t.Errorf("the failed run was %+v, and is %+v", before, after)
				}
				if got := strings.Join(h.records(forked.Instance), " "); !strings.HasPrefix(got, "workflow.started workflow.forked ") {
					t.Error(got)
				}
			})
		})
	}
}

// TestForkHasTheTimeThatWasLeft: of all scopes; another deadline, or none, is taken in its place.
func TestForkHasTheTimeThatWasLeft(t *testing.T) {
	for name, c := range map[string]struct {
		options client.ForkOptions
		after   time.Duration
	}{
		"the time that was left": {client.ForkOptions{}, 8 * time.Second},
		"another timeout":        {client.ForkOptions{ExecutionTimeout: 3 * time.Second}, 3 * time.Second},
		"all the time":           {client.ForkOptions{NoDeadline: true}, 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				h.perform = hanging
				defer h.work(worker.Config{})()
				i := h.start("timeout: {after: PT10S}\ndo: [{w: {wait: PT2S}}, {l: {timeout: {after: PT20S}, do: [{c: "+task+"}]}}]", client.StartOptions{})
				h.wait(i)
				time.Sleep(time.Hour)
				if o := h.wait(h.mustFork(i, c.options).Instance); !o.TimedOut || took(o) != c.after {
					t.Errorf("it has taken %s: %v", took(o), o.Fault)
				}
			})
		})
	}
}

// TestForkOntoAnotherVersion: fix, deploy, and the same work completes; with other data where the task begins.
func TestForkOntoAnotherVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		defer h.work(worker.Config{})()
		h.deploy("w", "do: [{a: {set: {n: 5}}}, {b: {wait: PT1S}}, {c: {set: {n: '${ .n + 1 | error }'}}}]")
		i, err := h.asker().Start(t.Context(), definition.Reference{Namespace: "test", Name: "w", Version: "latest"}, nil, client.StartOptions{})
		if err != nil {
			t.Fatal(err)
		}
		h.wait(i)
		for version, tasks := range map[string]string{
			"0.2.0": "do: [{a: {set: {n: 5}}}, {b: {wait: PT1S}}, {c: {set: {n: '${ .n + 1 }'}}}, {d: {set: {fixed: '${ .n }'}}}]",
			"0.3.0": "do: [{a: {set: {n: 5}}}, {c: {set: {n: 1}}}]",
			"0.4.0": "do: [{a: {set: {n: 5}}}, {b: {wait: PT1S}}, {c: {wait: PT1S}}]",
		} {
			if _, err := h.client.Deploy(t.Context(), definition.Definition{Document: "document: {dsl: 1.0.3, namespace: test, name: w, version: " + version + "}\n" + tasks}); err != nil {
				t.Fatal(err)
			}
		}
		if o := h.wait(h.mustFork(i, client.ForkOptions{Version: "0.2.0"}).Instance); cmp.Diff(o.Output, any(map[string]any{"fixed": 6})) != "" {
			t.Errorf("got %+v", o)
		}
		var input any = map[string]any{"n": 41}
		if o := h.wait(h.mustFork(i, client.ForkOptions{Version: "0.2.0", Input: &input, Again: true}).Instance); cmp.Diff(o.Output, any(map[string]any{"fixed": 42})) != "" {
			t.Errorf("got %+v", o)
		}
		if o := h.wait(h.mustFork(i, client.ForkOptions{From: "/do/0/a", Version: "0.3.0", Again: true}).Instance); cmp.Diff(o.Output, any(map[string]any{"n": 1})) != "" {
			t.Errorf("got %+v", o)
		}
		for version, why := range map[string]string{"0.3.0": "test/w:0.3.0 has no task /do/2/c", "9.0.0": "there is no"} {
			if _, err := h.asker().Fork(t.Context(), i, client.ForkOptions{Version: version, Again: true}); err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("%s: got %v", version, err)
			}
		}
		if _, err := h.asker().Fork(t.Context(), i, client.ForkOptions{From: "/do/9/x", Again: true}); err == nil || !strings.Contains(err.Error(), "never begun a task /do/9/x") {
			t.Errorf("got %v", err)
		}
	})
}
