package runtime_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/presence"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// TestWhoIsGoneIsSaidToBeGone: a worker that has not renewed its lease, or that cannot be there.
func TestWhoIsGoneIsSaidToBeGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		i := h.start("do: [{a: "+task+"}]", client.StartOptions{})
		if d := h.described(i, false); d.Gone || strings.Contains(d.Why, "since") {
			t.Errorf("before anybody takes it, it is described so: %q, gone %t", d.Why, d.Gone)
		}
		time.Sleep(time.Minute)
		if d := h.described(i, false); !strings.Contains(d.Why, "for 1m: no worker has a free slot, or none is there") {
			t.Errorf("when nobody takes it, it is described so: %q", d.Why)
		}
		h.claim(i, 10*time.Second)
		time.Sleep(9 * time.Second)
		if d := h.described(i, false); d.Gone {
			t.Errorf("its worker is there, and it is described so: %q", d.Why)
		}
		if d := h.described(i, true); !d.Gone {
			t.Errorf("nobody else has the store, and it is described so: %q", d.Why)
		}
		time.Sleep(2 * time.Second)
		if d := h.described(i, false); !d.Gone {
			t.Errorf("its worker is gone, and it is described so: %q", d.Why)
		}
	})
}

// TestEffectsOfWhoIsGoneAreNotInProgress: effects of an absent worker are not described as in progress.
func TestEffectsOfWhoIsGoneAreNotInProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = hanging
		stop := h.work(worker.Config{Drain: time.Millisecond})
		i := h.start("do: [{a: "+task+"}]", client.StartOptions{})
		time.Sleep(time.Second)
		if d := h.described(i, false); !strings.Contains(d.Why, "performing run shell /do/0/a") {
			t.Errorf("while it is performed, it is described so: %q", d.Why)
		}
		if d := h.described(i, true); !strings.Contains(d.Why, "/do/0/a (test.yaml:2) was in progress when its worker was lost") {
			t.Errorf("without its worker, it is described so: %q", d.Why)
		}
		stop()
	})
}

// TestWhatIsOverdueIsSaidToBe, and never to happen in less than nothing.
func TestWhatIsOverdueIsSaidToBe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		stop := h.work(worker.Config{})
		i := h.start("timeout: {after: PT1H}\ndo: [{a: {wait: PT2H}}]", client.StartOptions{})
		time.Sleep(time.Second)
		stop()
		if d := h.described(i, false); !strings.HasPrefix(d.Then, "If nothing happens by ") {
			t.Errorf("before its deadline, it is described so: %q", d.Then)
		}
		time.Sleep(time.Hour + 4*time.Second)
		d := h.described(i, false)
		if !strings.HasPrefix(d.Then, "It is overdue by 5s (") || strings.Contains(d.Why+d.Then, "in -") || d.Deadlines[0].Left != -5*time.Second {
			t.Errorf("after its deadline, it is described so: %q, %s left", d.Then, d.Deadlines[0].Left)
		}
	})
}

// TestReasonsAreDescribed: the description has the actor and the reason of a cancellation or suspension, also after later events.
func TestReasonsAreDescribed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = func(ctx context.Context, _ interpreter.Request) (any, error) {
			select {
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			case <-time.After(30 * time.Second):
				return "done", nil
			}
		}
		defer h.work(worker.Config{})()
		i := h.start("do: [{a: "+task+"}, {b: "+task+"}]", client.StartOptions{})
		time.Sleep(5 * time.Second)
		h.must(h.client.Suspend(t.Context(), i, "lunch"))
		time.Sleep(time.Minute)
		if d := h.described(i, false); d.Reason != "lunch" || !strings.HasPrefix(d.Why, "it is suspended (lunch): ") {
			t.Errorf("suspended, it is described so: %q, reason %q", d.Why, d.Reason)
		}
		h.must(h.client.Resume(t.Context(), i, "coffee"))
		time.Sleep(time.Second)
		if d := h.described(i, false); d.Reason != "" {
			t.Errorf("resumed, it has the reason %q", d.Reason)
		}
		h.must(h.client.Cancel(t.Context(), i, "enough"))
		time.Sleep(time.Second)
		if d := h.described(i, false); d.Reason != "enough" || !strings.HasSuffix(d.Why, "Z (enough).") {
			t.Errorf("cancelled, it is described so: %q, reason %q", d.Why, d.Reason)
		}
	})
}

func (h *host) described(i store.Instance, alone bool) *client.Description {
	h.Helper()
	c := client.Config{Store: h.store, Compile: h.compile}
	if alone {
		c.Workers = func(context.Context) ([]presence.Worker, error) { return nil, nil }
	}
	d, err := client.New(c).Describe(h.Context(), i)
	h.must(err)
	return d
}

// claim takes a run as a worker does that then dies.
func (h *host) claim(i store.Instance, lease time.Duration) {
	h.Helper()
	claimed, err := h.store.Claim(h.Context(), store.Claim{
		Partition: i.Partition(h.store.Layout().Partitions), Instances: []store.Instance{i}, Worker: "dead", Nonce: "dead", Lease: lease,
	})
	h.must(err)
	if len(claimed) != 1 {
		h.Fatal("it was not claimed")
	}
}

func (h *host) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}
