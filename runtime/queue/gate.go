package queue

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/swrun/swrun/runtime/store"
)

// MaxAge is the maximum age of cached rules, and therefore the time until a change applies everywhere.
const MaxAge = 2 * time.Second

// Gate is asked before something of a queue begins. All that a process performs or hands out goes through one. Several goroutines may use it.
type Gate struct {
	store store.Store
	now   func() time.Time

	reading sync.Mutex // held while the rules are read

	mu     sync.Mutex
	rules  map[string]Rules
	wrong  map[string]error     // why the rules of a queue cannot be read
	readAt time.Time            // when the rules were read; zero for never
	closed map[string]time.Time // queues in which nothing may begin, and until when permits need not be requested
	freed  []func(queue string)
	looks  map[string]looks
}

// NewGate returns a gate to the queues of a store. Only differences of the time count.
func NewGate(s store.Store, now func() time.Time) *Gate {
	return &Gate{store: s, now: now, closed: map[string]time.Time{}, looks: map[string]looks{}}
}

// WhenFreed has f called when this process has given a permit of a queue back. It must not block.
func (g *Gate) WhenFreed(f func(queue string)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.freed = append(g.freed, f)
}

// Rules returns the rules of a queue, at most MaxAge old. While the store does not answer, the last known rules are returned. Unreadable
// rules are an error for their queue alone: none of its effects begins, since the queue may be paused.
func (g *Gate) Rules(ctx context.Context, name string) (Rules, error) {
	if rules, ok, err := g.known(name); ok {
		return rules, err
	}
	g.reading.Lock()
	defer g.reading.Unlock()
	if rules, ok, err := g.known(name); ok { // another caller has read them concurrently
		return rules, err
	}
	all, wrong, err := read(ctx, g.store)
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil {
		if g.rules == nil {
			return Rules{}, err
		}
		return g.rules[name], g.wrong[name]
	}
	g.rules, g.wrong, g.readAt = all, wrong, g.now()
	return all[name], wrong[name]
}

// known returns the rules of a queue, or why they cannot be read, if that is known and not too old.
func (g *Gate) known(name string) (Rules, bool, error) {
	now := g.now()
	g.mu.Lock()
	defer g.mu.Unlock()
	age := now.Sub(g.readAt)
	return g.rules[name], g.rules != nil && age >= 0 && age < MaxAge, g.wrong[name]
}

// closedFor is how long permits of a queue without free permits are not requested again: another process may have returned one.
const closedFor = 500 * time.Millisecond

// Open reports whether something of a queue may begin as far as this process knows; otherwise, when to ask again.
func (g *Gate) Open(ctx context.Context, name string) (again time.Time, open bool) {
	rules, err := g.Rules(ctx, name)
	now := g.now()
	if err != nil || rules.Paused != nil {
		return now.Add(MaxAge), false
	}
	if !rules.Limited() {
		return time.Time{}, true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if until := g.closed[name]; now.Before(until) {
		return until, false
	}
	delete(g.closed, name)
	return time.Time{}, true
}

// Take returns the holders that may begin an effect of a queue now. Each then holds a permit for the length, unless it is taken again; 0
// means unlimited.
func (g *Gate) Take(ctx context.Context, name string, holders []string, length time.Duration) ([]string, error) {
	rules, err := g.Rules(ctx, name)
	if err != nil || rules.Paused != nil || len(holders) == 0 {
		return nil, err
	}
	asked := store.Permit{Queue: name, Limit: rules.Limit(), Wanted: holders, For: length}
	done, err := g.store.Permit(ctx, asked)
	if err != nil {
		return nil, err
	}
	if len(done.Holding) < len(holders) && done.Next.IsZero() && g.reclaim(ctx, name) {
		if done, err = g.store.Permit(ctx, asked); err != nil {
			return nil, err
		}
	}
	if len(done.Holding) < len(holders) {
		g.close(name, done)
	}
	return done.Holding, nil
}

// Keep prolongs permits.
func (g *Gate) Keep(ctx context.Context, name string, holders []string, length time.Duration) error {
	rules, err := g.Rules(ctx, name)
	if err == nil {
		_, err = g.store.Permit(ctx, store.Permit{Queue: name, Limit: rules.Limit(), Wanted: holders, For: length})
	}
	return err
}

// close notes that a queue has no permits now.
func (g *Gate) close(name string, done store.Permitted) {
	pause := closedFor/2 + rand.N(closedFor)
	if !done.Next.IsZero() {
		pause = max(done.Next.Sub(done.At), time.Millisecond)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed[name] = g.now().Add(pause)
}

// GiveBack returns permits of a queue: permits of holders that ended, and permits of effects that did not begin.
func (g *Gate) GiveBack(ctx context.Context, name string, ended, unbegun []string) error {
	if len(ended)+len(unbegun) == 0 {
		return nil
	}
	rules, err := g.Rules(ctx, name)
	if err != nil {
		return err
	}
	if _, err := g.store.Permit(ctx, store.Permit{Queue: name, Limit: rules.Limit(), Released: ended, Returned: unbegun}); err != nil {
		return err
	}
	g.mu.Lock()
	if rules.Rate == 0 || len(unbegun) > 0 {
		delete(g.closed, name)
	}
	freed := slices.Clone(g.freed)
	g.mu.Unlock()
	for _, f := range freed {
		f(name)
	}
	return nil
}
