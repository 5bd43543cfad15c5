package runtime_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/memstore"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// counting is a store that counts the commands that a store on Redis needs for its calls (redisstore TestCommandsOfAnIdleWorker), and gives
// no hints. Tests may pretend that its indexes lost entries.
type counting struct {
	store.Store
	mu       sync.Mutex
	commands int
	entries  int         // pretended number in each partition
	lost     map[int]int // by partition; scrubbing repairs them
}

func (c *counting) count(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.commands += n
}

func (c *counting) Hints(ctx context.Context) <-chan store.Hint {
	none := make(chan store.Hint)
	context.AfterFunc(ctx, func() { close(none) })
	return none
}

func (c *counting) Written(ctx context.Context) ([]store.Written, error) {
	c.count(2)
	return c.Store.Written(ctx)
}

func (c *counting) Poll(ctx context.Context, partition, n int, expired bool) (store.Work, error) {
	c.count(6)
	return c.Store.Poll(ctx, partition, n, expired)
}

func (c *counting) Drift(_ context.Context, d store.Drift) (store.Drifted, error) {
	c.count(9)
	c.mu.Lock()
	defer c.mu.Unlock()
	if next := d.Compared + d.N; next < c.entries {
		return store.Drifted{Compared: next}, nil
	}
	return store.Drifted{Wrong: c.lost[d.Partition]}, nil
}

func (c *counting) Scrub(ctx context.Context, s store.Scrub) (store.Scrubbed, error) {
	done, err := c.Store.Scrub(ctx, s)
	c.count(10 + done.Compared)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost[s.Partition] = 0
	return done, err
}

// idling makes a host of 64 partitions whose commands are counted.
func idling(t *testing.T) (*host, *counting) {
	h := newHost(t)
	c := &counting{Store: memstore.New(memstore.Config{Partitions: store.DefaultPartitions}), lost: map[int]int{}}
	h.store, h.client = c, client.New(client.Config{Store: c})
	return h, c
}

// TestIdleWorker: workers that have nothing to do ask the store for little, whether or not runs sleep there.
func TestIdleWorker(t *testing.T) {
	for name, c := range map[string]struct{ sleepers, workers, entries int }{
		"nothing": {0, 1, 0}, "many sleep": {pacetest.Fewer(7_000, 10), 1, 110}, "several workers": {100, 3, 2}, "100 000 sleep": {1_000, 1, 1_600}, "ten million sleep": {1_000, 1, 160_000},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, counted := idling(t)
				counted.entries = c.entries
				for range c.sleepers {
					h.start("do: [{w: {wait: P30D}}]", client.StartOptions{})
				}
				for range c.workers {
					defer h.work(worker.Config{Retention: time.Hour})()
				}
				time.Sleep(2 * time.Minute)
				counted.mu.Lock()
				before := counted.commands
				counted.mu.Unlock()
				lasting := time.Duration(pacetest.Fewer(30, 10)) * time.Minute
				time.Sleep(lasting)
				counted.mu.Lock()
				defer counted.mu.Unlock()
				if rate := float64(counted.commands-before) / lasting.Seconds() / float64(c.workers); rate > 45 || rate < 2 {
					t.Errorf("%.1f commands a second and worker", rate)
				}
			})
		})
	}
}

// TestWithoutHints: hints only reduce latency. A write to a resting partition is seen within a poll.
func TestWithoutHints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := idling(t)
		h.perform = effortless
		defer h.work(worker.Config{})()
		for range pacetest.Fewer(20, 10) {
			time.Sleep(10 * time.Minute)
			began := time.Now()
			i := h.start("do: [{a: "+task+"}]", client.StartOptions{})
			if o := h.wait(i); o.Status != interpreter.StatusCompleted || time.Since(began) > 1200*time.Millisecond {
				t.Errorf("it ended after %s: %+v", time.Since(began), o)
			}
		}
	})
}

// TestRestingPartitionIsInTime: due work in a resting partition is not late.
func TestRestingPartitionIsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := idling(t)
		defer h.work(worker.Config{Retention: 90 * time.Second})()
		began := time.Now()
		i := h.start("do: [{w: {wait: PT7M}}]", client.StartOptions{})
		o := h.wait(i)
		if late := o.EndedAt.Sub(o.StartedAt) - 7*time.Minute; late < 0 || late > 10*time.Millisecond {
			t.Errorf("it woke %s late, after %s", late, time.Since(began))
		}
		time.Sleep(90*time.Second - time.Since(o.EndedAt) - time.Second)
		if _, err := h.store.Load(t.Context(), i); err != nil {
			t.Errorf("before its retention is over: %v", err)
		}
		time.Sleep(1100 * time.Millisecond)
		if _, err := h.store.Load(t.Context(), i); store.RefusedAs(err) != store.NoSuch {
			t.Errorf("after its retention: %v", err)
		}
	})
}

// TestLostEntriesAreFound: an entry of an index that is lost is found within a minute of the worker's start, or of the
// loss.
func TestLostEntriesAreFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, c := idling(t)
		c.lost[0], c.lost[31], c.lost[63] = 1, 2, 3
		c.entries = 1_600
		defer h.work(worker.Config{})()
		for range 3 {
			time.Sleep(time.Minute)
			c.mu.Lock()
			for p, drift := range c.lost {
				if drift != 0 {
					t.Errorf("partition %d still lacks %d", p, drift)
				}
			}
			c.lost[17], c.lost[40] = 2, 1
			c.mu.Unlock()
		}
	})
}

// TestChecksAreConfigured are promises 109 and 110: how often indexes are checked is a setting, and so is how many entries are compared at
// a time.
func TestChecksAreConfigured(t *testing.T) {
	for name, c := range map[string]struct {
		config worker.Config
		within time.Duration
		found  bool
	}{
		"often":                       {worker.Config{CheckInterval: 2 * time.Second}, time.Minute, true},
		"seldom":                      {worker.Config{CheckInterval: time.Hour}, 30 * time.Second, false},
		"few at a time take longer":   {worker.Config{CheckInterval: 2 * time.Second, ScanLimit: 10}, 30 * time.Second, false},
		"by looking at every run":     {worker.Config{CheckInterval: 24 * time.Hour, SweepInterval: 2 * time.Second}, 3 * time.Second, true},
		"not by looking at every run": {worker.Config{CheckInterval: 24 * time.Hour}, 30 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, counted := idling(t)
				for p := range 64 {
					counted.lost[p] = 1
				}
				counted.entries = 1_600
				defer h.work(c.config)()
				time.Sleep(c.within)
				counted.mu.Lock()
				defer counted.mu.Unlock()
				left := 0
				for _, drift := range counted.lost {
					left += drift
				}
				if found := left == 0; found != c.found && (c.found || left < 60) {
					t.Errorf("%d of 64 are left", left)
				}
			})
		})
	}
}
