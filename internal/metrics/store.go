package metrics

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/deadletter"
	"github.com/swrun/swrun/internal/doctor"
	"github.com/swrun/swrun/runtime/presence"
	"github.com/swrun/swrun/runtime/queue"
	"github.com/swrun/swrun/runtime/store"
)

// storeCollector exports the counters of the store, for all processes that share it.
type storeCollector struct {
	store   *swrun.Store
	monitor *doctor.Monitor
	now     func() time.Time

	mu   sync.Mutex
	last reading
}

// reading is an answer of the store.
type reading struct {
	at      time.Time // zero for never
	counted store.Statistics
	clock   time.Time // of the store
	workers []presence.Worker
	queues  []queue.State
	letters []deadletter.Box
	// undeliverable is the number of unreadable messages in outboxes.
	undeliverable int
	err           error
	unknown       bool // the workers and the pollers of queues are not known
}

const (
	// readEvery is the maximum age of an answer of the store: several callers cost it no more than one.
	readEvery = 5 * time.Second
	// readWithin is the time limit of the store.
	readWithin = 5 * time.Second
)

func (c *storeCollector) read() reading {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if !c.last.at.IsZero() && now.Sub(c.last.at) < readEvery {
		return c.last
	}
	ctx, cancel := context.WithTimeout(context.Background(), readWithin)
	defer cancel()
	c.last = ask(ctx, c.store)
	c.last.at = now
	return c.last
}

func ask(ctx context.Context, s *swrun.Store) (r reading) {
	if r.counted, r.err = store.Total(ctx, s); r.err != nil {
		return r
	}
	work, err := s.Poll(ctx, 0, 1, false)
	if r.err = err; err != nil {
		return r
	}
	r.clock = work.At
	r.workers, r.err = s.Workers(ctx)
	if r.unknown = errors.As(r.err, new(*store.UnheardError)); r.unknown {
		r.err = nil
	}
	if r.err == nil {
		r.queues, r.err = queue.States(ctx, s, r.workers)
	}
	if r.err == nil {
		r.letters, r.err = deadletter.All(ctx, s, nil)
	}
	if r.err == nil && r.counted.Outbox > 0 {
		r.undeliverable, _, r.err = doctor.Undeliverable(ctx, s)
	}
	return r
}

// Describe describes nothing: there are fewer metrics while the store does not answer.
func (c *storeCollector) Describe(chan<- *prometheus.Desc) {}

func (c *storeCollector) Collect(all chan<- prometheus.Metric) {
	var r reading
	refuses, ill := c.verdict(all)
	if refuses < store.RefusesAll {
		r = c.read()
	}
	up, is := describe("swrun_store_up", "1 if the store is well, 0 otherwise. Without an answer of the store, its own counts are absent."), 1.0
	if ill || r.err != nil {
		is = 0
	}
	all <- number(up, prometheus.GaugeValue, is)
	if refuses < store.RefusesAll && r.err == nil {
		c.counted(all, r)
	}
}

// verdict exports the ailments of the store, and returns the refused kind of requests.
func (c *storeCollector) verdict(all chan<- prometheus.Metric) (refuses store.Refusing, ill bool) {
	ctx, cancel := context.WithTimeout(context.Background(), readWithin)
	defer cancel()
	v := c.monitor.Verdict(ctx)
	for _, reason := range store.Reasons() {
		is := 0.0
		if slices.ContainsFunc(v.Ailments, func(a store.Ailment) bool { return a.Reason == reason }) {
			is = 1
		}
		all <- number(describe("swrun_store_unwell", "1 if the store is not well, or will not be for long, for a reason.", "reason"), prometheus.GaugeValue, is, string(reason))
	}
	_, ill = v.Ill()
	return v.Refuses(), ill
}

// counted exports the counters of the store.
func (c *storeCollector) counted(all chan<- prometheus.Metric, r reading) {
	st := r.counted
	runs := describe("swrun_runs", "Runs in the store: ready for a worker, held by one, waiting for a time or an event, or closed.", "state")
	for state, n := range map[string]int64{"ready": st.Ready, "held": st.Held, "waiting": st.Waiting - st.Held, "closed": st.Closed} {
		all <- number(runs, prometheus.GaugeValue, float64(n), state)
	}
	oldest := time.Duration(0)
	if !st.Oldest.IsZero() {
		oldest = max(0, r.clock.Sub(st.Oldest))
	}
	for _, g := range []struct {
		name, help string
		kind       prometheus.ValueType
		value      float64
	}{
		{"swrun_ready_oldest_age_seconds", "Time for which the oldest ready run waits for a worker; 0 without one.", prometheus.GaugeValue, oldest.Seconds()},
		{"swrun_runs_quarantined", "Runs that stay as they are until they are released.", prometheus.GaugeValue, float64(st.Quarantined)},
		{"swrun_runs_unreadable", "Runs that cannot be read: damaged, or written by a newer swrun. They do not continue.", prometheus.GaugeValue, float64(st.Unreadable)},
		{"swrun_tasks_retrying", "Runs with a task or an activity that is tried again, or that waits for its next attempt.", prometheus.GaugeValue, float64(st.Retrying)},
		{"swrun_retry_backlog", "Runs with a task or an activity whose next attempt waits for its time or for a worker.", prometheus.GaugeValue, float64(st.Backlog)},
		{"swrun_outbox_messages", "Messages on their way between runs.", prometheus.GaugeValue, float64(st.Outbox)},
		{"swrun_outbox_messages_undeliverable", "Messages on their way between runs that cannot be read: damaged, or written by a newer swrun. They are not delivered.", prometheus.GaugeValue, float64(r.undeliverable)},
		{"swrun_store_repairs_total", "Entries of indexes that had to be repaired.", prometheus.CounterValue, float64(st.Repairs)},
		{"swrun_store_losses_total", "Number of times that the store lost confirmed writes.", prometheus.CounterValue, float64(st.Losses)},
		{"swrun_store_clock_jumps_total", "Number of jumps of the store's clock.", prometheus.CounterValue, float64(st.Jumps)},
	} {
		all <- number(describe(g.name, g.help), g.kind, g.value)
	}
	if !r.unknown {
		all <- number(describe("swrun_workers", "Connected workers; absent while they are not known."), prometheus.GaugeValue, float64(len(r.workers)))
		c.slots(all, r.workers)
	}
	queues(all, &r)
	letters(all, r.letters)
}

// letters exports the number of kept messages of sources that could not be published.
func letters(all chan<- prometheus.Metric, boxes []deadletter.Box) {
	kept := describe("swrun_source_dead_letters", "Messages of a source that could not be published, and are kept in the store.", "source", "kind")
	for _, b := range boxes {
		all <- number(kept, prometheus.GaugeValue, float64(len(b.Letters)), b.Source, b.Kind)
	}
}

// maxQueues is the maximum number of exported queues: the queues with the oldest waiting work. Workflows may invent names.
const maxQueues = 100

// queues exports the waiting work of task queues.
func queues(all chan<- prometheus.Metric, r *reading) {
	states := slices.SortedStableFunc(slices.Values(r.queues), func(a, b queue.State) int { return cmp.Compare(b.Oldest, a.Oldest) })
	set := func(yes bool) float64 {
		if yes {
			return 1
		}
		return 0
	}
	for _, q := range states[:min(len(states), maxQueues)] {
		for _, g := range []struct {
			name, help string
			value      float64
		}{
			{"swrun_queue_waiting", "Activities and runs that wait in a task queue.", float64(q.Activities + q.Runs)},
			{"swrun_queue_oldest_age_seconds", "Time for which the first waiting activity or run waits; 0 without one.", max(0, q.Oldest.Seconds())},
			{"swrun_queue_performing", "Activities and runs of the queue that are in progress.", float64(q.Performing)},
			{"swrun_queue_paused", "1 if the queue is paused.", set(q.Rules.Paused != nil)},
			{"swrun_queue_workers", "Workers that take the queue; absent while that is not known.", float64(len(q.Workers))},
			{"swrun_queue_unpolled", "1 if activities wait in the queue without a recent poll; absent while that is not known.", set(q.Unpolled())},
		} {
			if !r.unknown || !announced(g.name) {
				all <- number(describe(g.name, g.help, "queue"), prometheus.GaugeValue, g.value, q.Name)
			}
		}
	}
}

// announced reports whether a metric of a queue comes from the announcements of workers.
func announced(name string) bool {
	return name == "swrun_queue_workers" || name == "swrun_queue_unpolled"
}

// slots exports the use of the slots of all workers together.
func (c *storeCollector) slots(all chan<- prometheus.Metric, workers []presence.Worker) {
	taken, of := 0, 0
	for _, w := range workers {
		taken += w.Performing
		of += w.Concurrency
	}
	slots := describe("swrun_slots", "Runs that may perform tasks at a time, at all workers: used and free places.", "state")
	all <- number(slots, prometheus.GaugeValue, float64(taken), "taken")
	all <- number(slots, prometheus.GaugeValue, float64(max(0, of-taken)), "free")
}
