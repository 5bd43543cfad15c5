// Package matching brings queued activities to the outside workers that poll for them, and the workers' reports to the runs. Servers use
// it. It performs no activity, and package activity, not matching, decides the transitions of activities.
package matching

import (
	"context"
	crypto "crypto/rand"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/activity"
	"github.com/swrun/swrun/runtime/queue"
	"github.com/swrun/swrun/runtime/store"
)

// Config configures a matcher. Store is required.
type Config struct {
	Store store.Store
	Nonce func() string    // default random
	Now   func() time.Time // default time.Now; only differences of it count
	Turn  func() int       // any number; default random
	// Due is called with the time, by the store's clock, at which an activity needs attention; may be nil.
	Due func(partition int, at time.Time)
	// Report passes the end of an attempt to the executor of the run in this process, and reports whether it is stored. Otherwise the end
	// is stored directly. Report is nil if no runs are executed here.
	Report func(context.Context, Report) (stored bool)
	// Gate is asked before an activity is handed out; default one of its own.
	Gate *queue.Gate
	Log  *slog.Logger // default none
	// MadeUp counts the late reports about attempts that were never handed out; may be nil.
	MadeUp *atomic.Int64
	// Look is how often a poll looks for activities without a hint; default 1 s. While Watched is called, it is restLooks times as long.
	Look time.Duration
}

// Matcher answers the polls of outside workers. Several goroutines may use it.
type Matcher struct {
	c Config

	mu      sync.Mutex
	queues  map[string]map[string]*known // by name and by scope: see scopeOf
	kept    int                          // how many are known
	watched time.Time                    // last call of Watched, by Config.Now; zero for never
	polled  map[string][]string          // pollers of queues since the last record
	noted   time.Time                    // when it was; zero for never
	taken   map[attempt]*store.Activity  // by workers that have polled here, as they were stored last
	sealKey string                       // with which tokens are sealed; empty if it is not known yet
	madeUp  toldMadeUp
}

// attempt names an attempt at an activity.
type attempt struct {
	store.ActivityID
	nonce string
}

// known is a matcher's knowledge of a queue, as seen by polls for some namespaces. Polls for other namespaces have a separate known: a
// partition without work for one may hold work for another.
type known struct {
	unseen []bool      // the partitions that may have something
	next   []time.Time // when something becomes available in each, by Config.Now; zero for never
	looked time.Time   // when all partitions counted as unseen for the last time
	from   int         // the partition to look at first
	// waiting are the waiters for news, the longest first. Each is woken once.
	waiting []chan struct{}
}

// New returns a matcher.
func New(c Config) *Matcher {
	if c.Nonce == nil {
		c.Nonce = func() string { return crypto.Text()[:16] }
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Turn == nil {
		c.Turn = rand.Int
	}
	if c.Due == nil {
		c.Due = func(int, time.Time) {}
	}
	if c.Report == nil {
		c.Report = func(context.Context, Report) bool { return false }
	}
	if c.Look == 0 {
		c.Look = time.Second
	}
	if c.MadeUp == nil {
		c.MadeUp = new(atomic.Int64)
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Gate == nil {
		c.Gate = queue.NewGate(c.Store, c.Now)
	}
	m := &Matcher{c: c, queues: map[string]map[string]*known{}}
	c.Gate.WhenFreed(m.freed)
	return m
}

// freed reports that activities of a queue with a limit may be taken again.
func (m *Matcher) freed(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, q := range m.queues[name] {
		if slices.Contains(q.unseen, true) {
			q.wake()
		}
	}
}

// Changed reports that there may be activities in a queue of a partition; an empty name means any queue.
func (m *Matcher) Changed(name string, partition int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if partition < 0 || partition >= m.c.Store.Layout().Partitions {
		return
	}
	if name != "" {
		markAll(m.queues[name], partition)
		return
	}
	for _, scopes := range m.queues {
		markAll(scopes, partition)
	}
}

// markAll has a partition of a queue looked at, by one poll for each of the combinations of namespaces that are polled for.
func markAll(scopes map[string]*known, partition int) {
	for _, q := range scopes {
		q.mark(partition)
	}
}

// mark has a partition looked at, by the poll that has waited longest.
func (q *known) mark(partition int) {
	q.unseen[partition] = true
	q.wake()
}

func (q *known) wake() {
	if len(q.waiting) == 0 {
		return
	}
	select {
	case q.waiting[0] <- struct{}{}:
	default: // another queue has woken it
	}
	q.waiting = q.waiting[1:]
}

// maxQueues bounds how many queues are known: their names come from outside.
const maxQueues = 10_000

// of returns the knowledge of a queue for the namespaces of a poll. It is called with the lock held.
func (m *Matcher) of(p *Poll, name string) *known {
	scope := p.scope()
	if q := m.queues[name][scope]; q != nil {
		return q
	}
	if m.kept >= maxQueues {
		m.forgetIdle()
	}
	if m.queues[name] == nil {
		m.queues[name] = map[string]*known{}
	}
	n := m.c.Store.Layout().Partitions
	q := &known{unseen: make([]bool, n), next: make([]time.Time, n)}
	m.queues[name][scope] = q
	m.kept++
	return q
}

// forgetIdle forgets the queues for which no poll waits. The next poll looks at all of their partitions. Those for which polls wait stay, since
// otherwise no news would reach these polls.
func (m *Matcher) forgetIdle() {
	for name, scopes := range m.queues {
		maps.DeleteFunc(scopes, func(_ string, q *known) bool { return len(q.waiting) == 0 })
		if len(scopes) == 0 {
			delete(m.queues, name)
		}
	}
	m.kept = 0
	for _, scopes := range m.queues {
		m.kept += len(scopes)
	}
}

// Poll asks for activities.
type Poll struct {
	Queues     []string // at least one
	Namespaces []string // nil for all
	Limit      int      // maximum number of activities
	Worker     string   // name of the polling worker, for people
	// Until is closed when the worker must be answered, even with an empty answer; nil waits until ctx ends, which means that the worker is
	// gone.
	Until <-chan struct{}
}

// scope names the namespaces of a poll: two polls for the same ones have the same scope.
func (p *Poll) scope() string {
	if p.Namespaces == nil {
		return ""
	}
	return "=" + strings.Join(slices.Compact(slices.Sorted(slices.Values(p.Namespaces))), " ") // names hold no space
}

// Task is an activity in the hands of an outside worker.
type Task struct {
	ID       store.ActivityID
	Token    string // for its reports
	Activity *activity.Activity
	Input    interpreter.Value
}

// Poll hands out activities to the worker. Without available activities it waits until there are some, or Until is closed, or ctx ends; in
// the latter cases the answer is empty.
func (m *Matcher) Poll(ctx context.Context, p Poll) ([]Task, error) {
	for {
		m.notePoll(ctx, &p)
		open, again := m.open(ctx, p.Queues)
		now := p
		now.Queues = open
		tasks, err := m.look(ctx, now)
		if len(tasks) > 0 && ctx.Err() != nil { // the worker is gone
			return nil, m.returnAll(ctx, tasks)
		}
		if len(tasks) > 0 || err != nil || ctx.Err() != nil {
			return tasks, err
		}
		if !m.wait(ctx, &p, open, again) {
			return nil, nil
		}
	}
}

// open returns the queues from which activities may be taken now, and when to ask for the others again; zero without others.
func (m *Matcher) open(ctx context.Context, names []string) (open []string, again time.Time) {
	for _, name := range names {
		if at, ok := m.c.Gate.Open(ctx, name); ok {
			open = append(open, name)
		} else {
			again = interpreter.Earlier(again, at)
		}
	}
	return open, again
}

// returnAll gives back activities that did not reach their worker.
func (m *Matcher) returnAll(ctx context.Context, tasks []Task) (failed error) {
	returning, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeWithin)
	defer cancel()
	for _, t := range tasks {
		failed = errors.Join(failed, m.Return(returning, t.Token))
	}
	return failed
}

// look takes the activities that are available now.
func (m *Matcher) look(ctx context.Context, p Poll) (tasks []Task, err error) {
	for _, partition := range m.unseen(&p) {
		if !m.see(&p, partition) {
			continue // another poll looks at it
		}
		some, more, err := m.takeEach(ctx, p, partition, p.Limit-len(tasks))
		if more || err != nil {
			m.lookAgain(&p, partition)
		}
		if tasks = append(tasks, some...); err != nil {
			if len(tasks) > 0 {
				return tasks, nil // the worker has them; the error comes again
			}
			return nil, err
		}
		if len(tasks) >= p.Limit {
			break
		}
	}
	return tasks, nil
}

// lookAgain marks a partition for another look, for the namespaces of a poll.
func (m *Matcher) lookAgain(p *Poll, partition int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range p.Queues {
		m.of(p, name).mark(partition)
	}
}

// unseen returns the partitions that may have something for a poll, another one first each time.
func (m *Matcher) unseen(poll *Poll) (all []int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.c.Now()
	marked := make([]bool, m.c.Store.Layout().Partitions)
	from := 0
	for _, name := range poll.Queues {
		q := m.of(poll, name)
		stale := now.Sub(q.looked) >= m.rest(now)
		if stale {
			q.looked = now
		}
		for p := range marked {
			due := !q.next[p].IsZero() && !now.Before(q.next[p])
			q.unseen[p] = q.unseen[p] || stale || due
			marked[p] = marked[p] || q.unseen[p]
		}
		from, q.from = q.from, (q.from+1)%len(marked)
	}
	for n := range marked {
		if p := (from + n) % len(marked); marked[p] {
			all = append(all, p)
		}
	}
	return all
}

// see notes that a poll looks at a partition, and reports whether that was still to be done for its namespaces.
func (m *Matcher) see(p *Poll, partition int) (unseen bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range p.Queues {
		q := m.of(p, name)
		unseen = unseen || q.unseen[partition]
		q.unseen[partition], q.next[partition] = false, time.Time{}
	}
	return unseen
}

const (
	// maxTaken bounds how many activities are known that workers have: they may never report.
	maxTaken = 10_000
	// maxKnown is how large, in bytes, the record of one may be. The store is asked about others.
	maxKnown = 4 << 10
)

// know records the result of a change of an activity that a worker holds.
func (m *Matcher) know(of attempt, c store.ActivityChanged) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c.Refused != nil || c.Activity == nil || !c.Activity.Available.IsZero() || len(c.Activity.Data) > maxKnown {
		delete(m.taken, of)
		return
	}
	if m.taken == nil || len(m.taken) >= maxTaken {
		m.taken = map[attempt]*store.Activity{}
	}
	m.taken[of] = c.Activity
}

// forget returns and removes the known record of an activity whose attempt ended.
func (m *Matcher) forget(of attempt) (is *store.Activity) {
	m.mu.Lock()
	defer m.mu.Unlock()
	is = m.taken[of]
	delete(m.taken, of)
	return is
}

// forgetActivity forgets all attempts at an activity: the store is asked about its next report.
func (m *Matcher) forgetActivity(id store.ActivityID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.taken, func(of attempt, _ *store.Activity) bool { return of.ActivityID == id })
}

// due reports when a changed activity needs attention.
func (m *Matcher) due(partition int, c store.ActivityChanged) {
	if c.Activity != nil && !c.Activity.Due.IsZero() {
		m.c.Due(partition, c.Activity.Due)
	}
}

// expect notes when to look at a partition again.
func (m *Matcher) expect(p *Poll, partition int, o store.Offered) {
	if o.Next.IsZero() {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.c.Now().Add(o.Next.Sub(o.At))
	for _, name := range p.Queues {
		q := m.of(p, name)
		q.next[partition] = interpreter.Earlier(q.next[partition], at)
	}
}
