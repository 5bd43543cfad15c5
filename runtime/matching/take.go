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

// takeWithin is how long taking may last when nobody waits for it any more.
const takeWithin = 10 * time.Second

// notePoll notes in the store, from time to time, who polls which queues.
func (m *Matcher) notePoll(ctx context.Context, p *Poll) {
	now := m.c.Now()
	m.mu.Lock()
	if m.polled == nil || len(m.polled) > maxQueues {
		m.polled = map[string][]string{}
	}
	for _, name := range p.Queues {
		if all := m.polled[name]; !slices.Contains(all, p.Worker) && len(all) < maxPollers {
			m.polled[name] = append(all, p.Worker)
		}
	}
	var by map[string][]string
	if age := now.Sub(m.noted); m.noted.IsZero() || age >= queue.NoteEvery {
		by, m.polled, m.noted = m.polled, nil, now
	}
	m.mu.Unlock()
	if by != nil {
		_ = queue.NotePolls(ctx, m.c.Store, by) // the next note says the same; what else is wrong with the store the poll finds out
	}
}

// maxPollers is how many of those who poll a queue are noted.
const maxPollers = 10

// takeEach takes up to n activities of a partition; more says that there may be others. Queues with a limit are asked one by one.
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
		some, another, err := insist(n-len(tasks), func(n int) ([]Task, int, error) { return m.takeLimited(ctx, p, name, partition, n) })
		more = more || another
		if tasks = append(tasks, some...); err != nil || len(tasks) >= n {
			return tasks, true, err
		}
	}
	if len(free) == 0 {
		return tasks, more, nil
	}
	p.Queues = free
	some, another, err := insist(n-len(tasks), func(n int) ([]Task, int, error) { return m.takeFree(ctx, p, partition, n) })
	return append(tasks, some...), more || another, err
}

// maxTries is how often a partition is looked at of which others take what is found before it can be taken.
const maxTries = 3

// insist has up to n activities taken, once more if there were so many and none could be taken; more says that there may be others.
func insist(n int, take func(n int) (tasks []Task, found int, err error)) (tasks []Task, more bool, err error) {
	for range maxTries {
		tasks, found, err := take(n)
		if len(tasks) > 0 || err != nil || found < n {
			return tasks, err != nil || found >= n, err
		}
	}
	return nil, false, nil
}

// takeFree takes activities of queues without a limit. It also returns how many it has found, at most n.
func (m *Matcher) takeFree(ctx context.Context, p Poll, partition, n int) (tasks []Task, found int, err error) {
	offered, err := m.offered(ctx, p, partition, n)
	if err != nil || len(offered) == 0 {
		return nil, 0, err
	}
	tasks, _, err = m.take(ctx, partition, offered, activity.Take{Worker: p.Worker, Nonce: m.c.Nonce()})
	return tasks, len(offered), err
}

// takeLimited takes activities of a queue that has a limit, each of which holds a permit of it from then on. It also returns how many it has
// found and got a permit for.
func (m *Matcher) takeLimited(ctx context.Context, p Poll, name string, partition, n int) (tasks []Task, found int, err error) {
	if _, open := m.c.Gate.Open(ctx, name); !open {
		m.remember(&p, name, partition)
		return nil, 0, nil
	}
	p.Queues = []string{name}
	offered, err := m.offered(ctx, p, partition, n)
	if err != nil || len(offered) == 0 {
		return nil, 0, err
	}
	take := activity.Take{Worker: p.Worker, Nonce: m.c.Nonce()}
	var wanted []string
	for _, id := range offered {
		wanted = append(wanted, queue.ActivityHolder(id, take.Nonce))
	}
	granted, err := m.c.Gate.Take(ctx, name, wanted, 0)
	if err != nil || len(granted) < len(offered) {
		m.remember(&p, name, partition)
	}
	if err != nil || len(granted) == 0 {
		return nil, 0, err
	}
	some := slices.DeleteFunc(offered, func(id store.ActivityID) bool {
		return !slices.Contains(granted, queue.ActivityHolder(id, take.Nonce))
	})
	tasks, err = m.takeGranted(ctx, name, partition, some, take)
	return tasks, len(granted), err
}

// takeGranted takes activities that have permits of a queue, and gives back the permits of those that it cannot take.
func (m *Matcher) takeGranted(ctx context.Context, name string, partition int, some []store.ActivityID, take activity.Take) ([]Task, error) {
	tasks, refused, err := m.take(ctx, partition, some, take)
	var unbegun []string
	for _, id := range refused {
		unbegun = append(unbegun, queue.ActivityHolder(id, take.Nonce))
	}
	if failed := m.c.Gate.GiveBack(ctx, name, nil, unbegun); err == nil && len(tasks) == 0 {
		err = failed // otherwise it is found out that nobody needs them
	}
	return tasks, err
}

// remember notes that there is something for a poll in a queue of a partition that nobody may take now.
func (m *Matcher) remember(p *Poll, name string, partition int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(p, name).unseen[partition] = true
}

// offered returns activities of a partition that may be taken.
func (m *Matcher) offered(ctx context.Context, p Poll, partition, n int) ([]store.ActivityID, error) {
	offered, err := m.c.Store.Available(ctx, store.Available{Partition: partition, Queues: p.Queues, Namespaces: p.Namespaces, N: n, Turn: m.c.Turn()})
	if err != nil {
		return nil, err
	}
	m.expect(&p, partition, offered)
	return offered.Activities, nil
}

// take takes activities, and returns those that were refused too: somebody else has them, or their time is over.
func (m *Matcher) take(ctx context.Context, partition int, some []store.ActivityID, take activity.Take) (tasks []Task, refused []store.ActivityID, err error) {
	// What is taken is the worker's: the answer is awaited also if the worker has gone.
	taking, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeWithin)
	defer cancel()
	changed, err := m.c.Store.ChangeActivities(taking, store.ChangeActivities{Partition: partition, Activities: some, Operation: take, Input: true})
	if err != nil {
		return nil, nil, err
	}
	for n, c := range changed {
		if c.Refused != nil {
			refused = append(refused, some[n])
			continue
		}
		m.due(partition, c)
		m.know(attempt{some[n], take.Nonce}, c)
		task, err := newTask(some[n], take.Nonce, c)
		if err != nil {
			return tasks, refused, err
		}
		tasks = append(tasks, task)
	}
	return tasks, refused, nil
}
