package matching

import (
	"context"
	"slices"
	"time"
)

// How polls wait that find nothing.

// restLooks is the factor by which polls look less often while Watched reports writes to the store.
const restLooks = 60

// Watched reports the partitions with writes since the last call, so that polls need not look for them.
func (m *Matcher) Watched(written []int) {
	m.mu.Lock()
	m.watched = m.c.Now()
	m.mu.Unlock()
	for _, partition := range written {
		m.Changed("", partition)
	}
}

// rest returns how long a poll rests that nothing wakes. It is called with the lock held.
func (m *Matcher) rest(now time.Time) time.Duration {
	if !m.watched.IsZero() && now.Sub(m.watched) < 3*m.c.Look {
		return restLooks * m.c.Look
	}
	return m.c.Look
}

// wait waits until there may be an activity to take, and reports whether that is so; otherwise ctx ended.
func (m *Matcher) wait(ctx context.Context, p *Poll, open []string, again time.Time) bool {
	select {
	case <-p.Until:
		return false
	default:
	}
	woken, idle := m.enter(p, open)
	if !again.IsZero() {
		idle = min(idle, max(again.Sub(m.c.Now()), 0))
	}
	defer m.leave(p, woken)
	timer := time.NewTimer(idle)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-p.Until:
		return false
	case <-woken:
	case <-timer.C:
	}
	return true
}

// enter adds a waiter for news of some queues, and returns the maximum time to wait. News of queues that are not open is ignored.
func (m *Matcher) enter(p *Poll, open []string) (woken chan struct{}, idle time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	woken = make(chan struct{}, 1)
	for _, name := range p.Queues {
		q := m.of(p, name)
		if q.waiting = append(q.waiting, woken); slices.Contains(open, name) && slices.Contains(q.unseen, true) {
			q.wake() // news came before
		}
	}
	return woken, m.idle(p, open)
}

// leave ends a wait. Unused news is passed to another waiter.
func (m *Matcher) leave(p *Poll, woken chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range p.Queues {
		q := m.of(p, name)
		q.waiting = slices.DeleteFunc(q.waiting, func(other chan struct{}) bool { return other == woken })
		if len(woken) > 0 && slices.Contains(q.unseen, true) {
			q.wake()
		}
	}
}

// idle returns how long there is nothing to look at, unless news comes. It is called with the lock held.
func (m *Matcher) idle(p *Poll, queues []string) time.Duration {
	now := m.c.Now()
	d := m.rest(now)
	for _, name := range queues {
		for _, at := range m.of(p, name).next {
			if !at.IsZero() {
				d = min(d, at.Sub(now))
			}
		}
	}
	return max(d, 0)
}
