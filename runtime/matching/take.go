package matching

import (
	"context"
	"slices"
	"time"

	"github.com/swrun/swrun/runtime/activity"
	"github.com/swrun/swrun/runtime/queue"
	"github.com/swrun/swrun/runtime/store"
)

// This file takes activities of a partition for a worker that polls, as far as the limits of their queues allow.

// takeWithin is how long taking may last when its caller is gone.
const takeWithin = 10 * time.Second

// notePoll records in the store, from time to time, the pollers of queues.
func (m *Matcher) notePoll(ctx context.Context, p *Poll) {
	now := m.c.Now()
	m.mu.Lock()
	if m.polled == nil || len(m.polled) > maxQueues {
		m.polled = map[string][]string{}
	}
	namespaces := p.Namespaces
	if namespaces == nil {
		namespaces = []string{""}
	}
	for _, name := range p.Queues {
		for _, namespace := range namespaces {
			key := queue.PollKey(namespace, name)
			if all := m.polled[key]; !slices.Contains(all, p.Worker) && len(all) < maxPollers {
				m.polled[key] = append(all, p.Worker)
			}
		}
	}
	var by map[string][]string
	if age := now.Sub(m.noted); m.noted.IsZero() || age >= queue.NoteEvery {
		by, m.polled, m.noted = m.polled, nil, now
	}
	m.mu.Unlock()
	if by != nil {
		_ = queue.NotePolls(ctx, m.c.Store, by) // the next record contains the same; other errors of the store appear in the poll
	}
}

// maxPollers is the maximum number of recorded pollers of a queue.
const maxPollers = 10

// takeEach takes up to n activities of a partition; more reports that there may be others. Queues with a limit are asked one by one.
func (m *Matcher) takeEach(ctx context.Context, p Poll, partition, n int) (tasks []Task, more bool, err error) {
	var free []string
	for _, name := range p.Queues {
		rules, err := m.c.Gate.Rules(ctx, name)
		if err != nil {
			return tasks, true, err
		}
		if !rules.Limited() {
			free = append(free, name)
			continue
		}
		some, another, err := insist(n-len(tasks), func(n int, passed []store.ActivityID) (try, error) {
			return m.takeLimited(ctx, p, name, asked{partition, n, passed})
		})
		more = more || another
		if tasks = append(tasks, some...); err != nil || len(tasks) >= n {
			return tasks, true, err
		}
	}
	if len(free) == 0 {
		return tasks, more, nil
	}
	p.Queues = free
	some, another, err := insist(n-len(tasks), func(n int, passed []store.ActivityID) (try, error) {
		return m.takeFree(ctx, p, asked{partition, n, passed})
	})
	return append(tasks, some...), more || another, err
}

// maxPassed is how many activities that cannot be taken a poll passes by in a partition before it leaves it.
const maxPassed = 1000

// try is one attempt at taking activities of a partition.
type try struct {
	tasks  []Task
	found  int                // how many were offered, at most as many as were asked for
	passed []store.ActivityID // refused activities that may be offered again
}

// insist takes up to n activities; more reports that there may be others. While all found activities are refused, because other workers
// took them or their runs are suspended, it continues behind them.
func insist(n int, take func(n int, passed []store.ActivityID) (try, error)) (tasks []Task, more bool, err error) {
	var passed []store.ActivityID
	for {
		t, err := take(n, passed)
		if len(t.tasks) > 0 || err != nil || t.found < n {
			return t.tasks, err != nil || t.found >= n, err
		}
		if passed = append(passed, t.passed...); len(passed) >= maxPassed {
			return nil, false, nil // the next look finds out whether they can be taken by then
		}
	}
}

// handOut gives activities to a worker, with tokens that are sealed with a key.
type handOut struct {
	activity.Take
	key string
}

// handOutTo returns how activities are given to a worker.
func (m *Matcher) handOutTo(ctx context.Context, worker string) (handOut, error) {
	key, err := m.key(ctx, false)
	return handOut{activity.Take{Worker: worker, Nonce: m.c.Nonce()}, key}, err
}

// takeFree takes activities of queues without a limit, apart from some.
func (m *Matcher) takeFree(ctx context.Context, p Poll, of asked) (try, error) {
	offered, err := m.offered(ctx, p, of)
	if err != nil || len(offered) == 0 {
		return try{}, err
	}
	take, err := m.handOutTo(ctx, p.Worker)
	if err != nil {
		return try{}, err
	}
	t := try{found: len(offered)}
	t.tasks, _, t.passed, err = m.take(ctx, of.partition, offered, take)
	return t, err
}

// takeLimited takes activities of a queue with a limit, each of which then holds a permit. It takes as many of the offered activities as it
// gets permits for.
func (m *Matcher) takeLimited(ctx context.Context, p Poll, name string, of asked) (try, error) {
	if _, open := m.c.Gate.Open(ctx, name); !open {
		m.remember(&p, name, of.partition)
		return try{}, nil
	}
	p.Queues = []string{name}
	offered, err := m.offered(ctx, p, of)
	if err != nil || len(offered) == 0 {
		return try{}, err
	}
	take, err := m.handOutTo(ctx, p.Worker)
	if err != nil {
		return try{}, err
	}
	var wanted []string
	for _, id := range offered {
		wanted = append(wanted, queue.ActivityHolder(id, take.Nonce))
	}
	granted, err := m.c.Gate.Take(ctx, name, wanted, 0)
	if err != nil || len(granted) < len(offered) {
		m.remember(&p, name, of.partition)
	}
	if err != nil || len(granted) == 0 {
		return try{}, err
	}
	some := slices.DeleteFunc(offered, func(id store.ActivityID) bool {
		return !slices.Contains(granted, queue.ActivityHolder(id, take.Nonce))
	})
	t := try{found: len(granted)}
	t.tasks, t.passed, err = m.takeGranted(ctx, name, of.partition, some, take)
	return t, err
}

// takeGranted takes activities with permits of a queue, and returns the permits of activities that it cannot take. It returns those
// activities that may be offered again.
func (m *Matcher) takeGranted(ctx context.Context, name string, partition int, some []store.ActivityID, take handOut) ([]Task, []store.ActivityID, error) {
	tasks, refused, passed, err := m.take(ctx, partition, some, take)
	var unbegun []string
	for _, id := range refused {
		unbegun = append(unbegun, queue.ActivityHolder(id, take.Nonce))
	}
	if failed := m.c.Gate.GiveBack(ctx, name, nil, unbegun); err == nil && len(tasks) == 0 {
		err = failed // otherwise unneeded permits are recovered later
	}
	return tasks, passed, err
}

// remember records that a queue of a partition contains activities for a poll that cannot be taken now.
func (m *Matcher) remember(p *Poll, name string, partition int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(p, name).unseen[partition] = true
}

// asked is the requested number of activities of a partition, with the activities to skip.
type asked struct {
	partition, n int
	passed       []store.ActivityID
}

// offered returns activities of a partition that may be taken.
func (m *Matcher) offered(ctx context.Context, p Poll, of asked) ([]store.ActivityID, error) {
	offered, err := m.c.Store.Available(ctx, store.Available{
		Partition: of.partition, Queues: p.Queues, Namespaces: p.Namespaces, N: of.n + len(of.passed), Turn: m.c.Turn(),
	})
	if err != nil {
		return nil, err
	}
	m.expect(&p, of.partition, offered)
	some := slices.DeleteFunc(offered.Activities, func(id store.ActivityID) bool { return slices.Contains(of.passed, id) })
	return some[:min(of.n, len(some))], nil
}

// take takes activities. It also returns the refused activities that may still be offered: another worker took them, their deadline passed,
// or they cannot be read. The other refused activities left their queue with this call, because their runs are suspended.
func (m *Matcher) take(ctx context.Context, partition int, some []store.ActivityID, take handOut) (tasks []Task, refused, passed []store.ActivityID, err error) {
	// Taken activities belong to the worker: the answer is awaited even if the worker is gone.
	taking, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeWithin)
	defer cancel()
	changed, err := m.c.Store.ChangeActivities(taking, store.ChangeActivities{Partition: partition, Activities: some, Operation: take.Take, Input: true})
	if err != nil {
		return nil, nil, nil, err
	}
	for n, c := range changed {
		if c.Refused != nil {
			refused = append(refused, some[n])
			if parked := store.RefusedAs(c.Refused) == store.Suspended && c.Was != nil && !c.Was.Available.IsZero(); !parked {
				passed = append(passed, some[n])
			}
			continue
		}
		m.due(partition, c)
		m.know(attempt{some[n], take.Nonce}, c)
		task, bad := newTask(some[n], take.key, c)
		if bad != nil {
			err = store.RefuseUnreadable("run "+some[n].Run.String(), bad, time.Time{})
			continue
		}
		tasks = append(tasks, task)
	}
	if len(tasks) > 0 {
		return tasks, refused, passed, nil // the others are given out
	}
	return nil, refused, passed, err
}
