package worker

import (
	"sync/atomic"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// Figures are the counters of the workers of a process. Counting is one atomic addition, so that its cost is negligible. Several workers
// may share them.
type Figures struct {
	Claimed   atomic.Int64 // runs that were taken
	TakenOver atomic.Int64 // claims after the loss of the former worker
	Lost      atomic.Int64 // runs that were taken from a worker because its lease expired

	Repair   RepairSettings // of the workers
	Checked  atomic.Int64   // partitions whose indexes were checked
	MadeUp   atomic.Int64   // late reports about attempts that no worker was given
	Compared atomic.Int64   // runs that were compared with the indexes

	Stored        Histogram    // how long the store took for a commit
	CommitRefused atomic.Int64 // by the store
	CommitFailed  atomic.Int64 // without an answer: these are sent again
	Late          Histogram    // how long after its time a timer or deadline came

	Ended map[string]*atomic.Int64 // runs, by why they were closed

	TasksStarted, TasksCompleted, TasksFaulted, TasksCancelled, TasksSkipped atomic.Int64
	TimedOut                                                                 atomic.Int64 // tasks and runs whose deadline has passed
	AttemptsFailed                                                           atomic.Int64 // attempts of effects that ended with an error
	Retries                                                                  atomic.Int64 // attempts that a policy has granted
}

// NewFigures returns figures at zero.
func NewFigures() *Figures {
	f := &Figures{Ended: map[string]*atomic.Int64{}}
	for _, reason := range store.ClosedReasons() {
		f.Ended[reason] = new(atomic.Int64)
	}
	return f
}

// count counts the contents of a commit.
func (f *Figures) count(c *store.Commit, history []interpreter.HistoryStep) {
	for _, step := range history {
		for n := range step.Events {
			f.countEvent(&step.Events[n])
		}
	}
	if c.Status.Final() {
		if ended := f.Ended[c.Reason]; ended != nil {
			ended.Add(1)
		}
	}
}

// claimed counts a run that a worker has taken.
func (f *Figures) claimed(r *store.Lifecycle) {
	f.Claimed.Add(1)
	if r.Deaths > 0 {
		f.TakenOver.Add(1)
	}
}

// answered counts how the store has answered a commit that was sent at a time.
func (f *Figures) answered(took time.Duration, err error) {
	switch {
	case err == nil:
		f.Stored.Observe(took)
	case store.RefusedAs(err) != "":
		f.CommitRefused.Add(1)
	default:
		f.CommitFailed.Add(1)
	}
}

func (f *Figures) countEvent(e *interpreter.HistoryEvent) {
	if e.Timeout != "" {
		f.countTimeout(e)
	}
	switch e.Type {
	case interpreter.TaskStarted:
		f.TasksStarted.Add(1)
	case interpreter.TaskCompleted:
		f.TasksCompleted.Add(1)
	case interpreter.TaskFaulted:
		f.TasksFaulted.Add(1)
	case interpreter.TaskCancelled:
		f.TasksCancelled.Add(1)
	case interpreter.TaskSkipped:
		f.TasksSkipped.Add(1)
	case interpreter.EffectFinished:
		if e.Error != nil {
			f.AttemptsFailed.Add(1)
		}
	case interpreter.EffectRetried:
		if e.Error != nil { // of an activity; otherwise it is made again after its worker was lost
			f.AttemptsFailed.Add(1)
			f.Retries.Add(1)
		}
	case interpreter.RetryScheduled:
		f.Retries.Add(1)
	}
}

// countTimeout counts a timeout once, where it was raised: the tasks around pass on the same error.
func (f *Figures) countTimeout(e *interpreter.HistoryEvent) {
	raisedHere := e.Type == interpreter.TaskFaulted && e.Error != nil && e.Error.Instance == e.Pointer.Instance()
	if raisedHere || e.Type == interpreter.WorkflowFaulted && e.Error != nil && e.Error.Instance == "/" {
		f.TimedOut.Add(1)
	}
}

// Histogram counts durations by how long they are.
type Histogram struct {
	buckets [bounded + 1]atomic.Int64
	sum     atomic.Int64 // nanoseconds
}

// bounded is how many buckets have an end.
const bounded = 14

// bounds returns where they end.
func bounds() [bounded]time.Duration {
	const ms = time.Millisecond
	return [bounded]time.Duration{ms, 2 * ms, 5 * ms, 10 * ms, 25 * ms, 50 * ms, 100 * ms, 250 * ms, 500 * ms, 1000 * ms, 2500 * ms, 5000 * ms, 10_000 * ms, 30_000 * ms}
}

// Observe counts a duration; one below zero counts as none.
func (h *Histogram) Observe(d time.Duration) {
	n, ends := 0, bounds()
	for n < bounded && d > ends[n] {
		n++
	}
	h.buckets[n].Add(1)
	h.sum.Add(int64(max(d, 0)))
}

// Read returns how many durations were counted, their sum, and how many of them were at most as long as each bound.
func (h *Histogram) Read() (count uint64, sum time.Duration, within map[time.Duration]uint64) {
	within = map[time.Duration]uint64{}
	ends := bounds()
	for n := range h.buckets {
		count += uint64(h.buckets[n].Load())
		if n < bounded {
			within[ends[n]] = count
		}
	}
	return count, time.Duration(h.sum.Load()), within
}
