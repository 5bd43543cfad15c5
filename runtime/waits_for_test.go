package runtime_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/filter"
	"github.com/swrun/swrun/runtime/presence"
	"github.com/swrun/swrun/runtime/queue"
	"github.com/swrun/swrun/runtime/store"
)

// TestWhatRunsWaitFor: lists, filters, counts and descriptions agree on the cause of a wait, in every state.
func TestWhatRunsWaitFor(t *testing.T) {
	const (
		listens = "{listen: {to: {one: {with: {type: never}}}}}"
		sleeps  = "{wait: P1D}"
		asks    = "{call: 'activity:1.0.0@default', with: {type: stamp, queue: far}}"
		held    = "{call: 'activity:1.0.0@default', with: {type: stamp, queue: paused}}"
		there   = "{run: {shell: {command: echo}}}"
		queued  = "{run: {shell: {command: echo}}, metadata: {swrun: {queue: paused}}}"
		missing = "{run: {shell: {command: echo}}, metadata: {swrun: {queue: nobody}}}"
		starts  = "{run: {workflow: {namespace: test, name: child, version: 0.1.0}}}"
		fails   = "{try: [{a: {raise: {error: {type: 'https://example.com/e', status: 500}}}}], catch: {retry: {delay: PT1H}}}"
	)
	both := func(a, b string) string { return "{fork: {branches: [{a: " + a + "}, {b: " + b + "}]}}" }
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = hanging
		h.deploy("child", "do: [{a: "+listens+"}]")
		h.rule("paused", func(r *queue.Rules) { r.Paused = &queue.Decision{At: time.Now()} })
		h.client = client.New(client.Config{Store: h.store, Compile: h.compile, Workers: func(ctx context.Context) ([]presence.Worker, error) {
			return presence.Workers(ctx, h.store)
		}})
		stop := h.takes("default paused", true)
		defer func() { stop() }()
		want := map[store.Instance]string{}
		begin := func(task, waits string) store.Instance {
			i := h.start("do: [{t: "+task+"}]", client.StartOptions{})
			want[i] = waits
			return i
		}
		begin(listens, "event")
		begin(sleeps, "timer")
		begin(asks, "activity")
		begin(held, "queue")
		begin(there, "")
		begin(queued, "queue")
		begin(missing, "worker")
		begin(starts, "child")
		retried := begin(fails, "timer")
		begin(both(listens, sleeps), "event timer")
		begin(both(starts, asks), "activity child")
		begin(both(queued, missing), "queue worker")
		begin(both(held, asks), "activity")
		begin("{set: {a: 1}}", "")
		suspended := begin(listens, "")
		delayed := h.start("do: [{t: "+listens+"}]", client.StartOptions{Delay: time.Hour})
		want[delayed] = "timer"
		time.Sleep(time.Second)
		if err := h.client.Suspend(h.Context(), suspended, ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		h.agree(want)
		stop()
		stop = func() {}
		want[h.start("do: [{t: "+listens+"}]", client.StartOptions{})] = "worker" // no worker takes it
		time.Sleep(time.Hour)                                                     // leases expired
		want[retried], want[delayed] = "worker", "worker"
		for i, waits := range want {
			if waits == "" && i != suspended && !h.record(i).Status.Final() {
				want[i] = "worker"
			}
		}
		h.agree(want)
	})
}

// agree checks the causes of waits in all views.
func (h *host) agree(want map[store.Instance]string) {
	h.Helper()
	page, err := h.client.List(h.Context(), client.Query{Limit: 100})
	if err != nil {
		h.Fatal(err)
	}
	counts := map[string]int{}
	for _, r := range page.Runs {
		waits, known := want[r.Instance]
		if !known { // a child
			waits = "event"
		}
		d, err := h.client.Describe(h.Context(), r.Instance)
		if err != nil {
			h.Fatal(err)
		}
		if got := strings.Join(r.Waiting, " "); got != waits {
			h.Errorf("%s is listed as waiting for %q, want %q: %s (%s)", r.Instance, got, waits, d.Why, r.Lifecycle.String())
		}
		if got := strings.Join(d.Waiting, " "); got != waits {
			h.Errorf("%s is described as waiting for %q, want %q: %s", r.Instance, got, waits, d.Why)
		}
		first, _, _ := strings.Cut(waits, " ")
		counts[first]++
		for _, one := range store.WaitingFor() {
			where, err := filter.Parse("waiting="+one+" id="+r.Instance.ID, time.Now())
			if err != nil {
				h.Fatal(err)
			}
			chosen := false
			if err := h.client.Each(h.Context(), where, func(*filter.Run) bool { chosen = true; return true }); err != nil {
				h.Fatal(err)
			}
			if is := slices.Contains(r.Waiting, one); is != chosen {
				h.Errorf("%s waits for %v, and waiting=%s chooses it: %v", r.Instance, r.Waiting, one, chosen)
			}
		}
	}
	groups, _, err := h.client.Count(h.Context(), filter.Filter{}, mustGroup(h.T, "waiting"))
	if err != nil {
		h.Fatal(err)
	}
	for _, g := range groups {
		if one := g.Values[0]; counts[one] != g.Runs {
			h.Errorf("%d runs are counted as waiting for %q, want %d", g.Runs, one, counts[one])
		}
	}
}
