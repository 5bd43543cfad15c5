package kvstore

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/swrun/swrun/runtime/store"
)

// Store is a store.Store over a Database.
type Store struct {
	db     Database
	layout store.Layout
	now    func() time.Time
	writes []atomic.Int64 // to each partition since the store was opened
	hints  hints
	passed []store.PassedOver // in each partition

	attendance attendance
}

// LayoutError is a database whose layout is damaged.
type LayoutError struct{ Err error }

func (e *LayoutError) Error() string { return fmt.Sprintf("its layout cannot be read: %s", e.Err) }

func (e *LayoutError) Unwrap() error { return e.Err }

// Open makes a store of a database. A damaged layout is a *LayoutError. An empty database gets the layout; a database with another layout
// is refused.
func Open(db Database, layout store.Layout, now func() time.Time) (*Store, error) {
	if err := layout.Valid(); err != nil {
		return nil, fmt.Errorf("the layout cannot be that of a store: %w", err)
	}
	s := &Store{db: db, layout: layout, now: now, writes: make([]atomic.Int64, layout.Partitions), passed: make([]store.PassedOver, layout.Partitions)}
	err := db.Update(func(tx Tx) error {
		value, ok := tx.Get(layoutKey)
		if !ok && !isEmpty(tx) {
			return &LayoutError{fmt.Errorf("it is missing")}
		}
		if !ok {
			data, err := json.Marshal(layout)
			tx.Put(layoutKey, data)
			return err
		}
		var kept store.Layout
		if err := json.Unmarshal(value, &kept); err != nil {
			return &LayoutError{err}
		}
		if err := kept.Valid(); err != nil {
			return &LayoutError{err}
		}
		return layout.Check(kept)
	})
	return s, err
}

// isEmpty reports whether nothing is stored.
func isEmpty(tx Tx) bool {
	empty := true
	tx.Scan("", "", func(string, []byte) bool {
		empty = false
		return false
	})
	return empty
}

var _ store.Store = (*Store)(nil)

// update runs one transaction on a partition, at the store's time, which never goes back. Its error is a refusal that
// comes before the first write.
func (s *Store) update(ctx context.Context, n int, f func(*partition) error) error {
	err := s.quietly(ctx, n, f)
	if store.RefusedAs(err) == "" {
		s.writes[n].Add(1) // after the write: earlier readers do not know this number
	}
	return err
}

// quietly is update for changes that create no work: they do not count as a write.
func (s *Store) quietly(ctx context.Context, n int, f func(*partition) error) error {
	var refused error
	err := s.db.Update(func(tx Tx) error {
		p := s.partition(tx, n)
		refused = f(p)
		if refused == nil {
			p.keepTime()
		}
		return nil
	})
	if err != nil {
		return err
	}
	if refused == nil {
		store.Attempted(ctx)
	}
	return refused
}

func (s *Store) view(n int, f func(*partition) error) error {
	return s.db.View(func(tx Tx) error { return f(s.partition(tx, n)) })
}

func (s *Store) partition(tx Tx, n int) *partition {
	p := &partition{Tx: tx, prefix: prefixOf(n), passed: &s.passed[n]}
	p.here = func(i store.Instance) bool { return i.Check() == nil && s.of(i) == n }
	p.readTime(s.now().UnixMilli())
	return p
}

// prefixOf returns the prefix of the keys of a partition.
func prefixOf(n int) string { return fmt.Sprintf("p/%04d/", n) }

func (s *Store) of(i store.Instance) int { return i.Partition(s.layout.Partitions) }

// Start implements store.Store.
func (s *Store) Start(ctx context.Context, c store.Start) (started store.Started, err error) {
	i := c.Instance
	if err := i.Check(); err != nil {
		return started, err
	}
	n := s.of(i)
	err = s.update(ctx, n, func(p *partition) error {
		started = store.Started{At: p.now}
		if info, ok := p.Get(p.key(i, "info")); ok {
			started.Again = string(info) == string(c.Invocation)
			if !started.Again {
				return p.refuse(store.Conflict, i)
			}
			return nil
		}
		if c.FamilyMax > 0 && !p.countFamily(&c) {
			return p.refuse(store.TooMany, i)
		}
		if _, err := p.transition(i, &c); err != nil {
			started.Asked = p.asked(&c.Asked)
			return err
		}
		return nil
	})
	if err == nil && !started.Again {
		s.hints.send(store.Hint{Partition: n})
	}
	return started, err
}

// Claim implements store.Store.
func (s *Store) Claim(ctx context.Context, c store.Claim) (claimed []store.Claimed, err error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	err = s.update(ctx, c.Partition, func(p *partition) error {
		claimed = nil
		for _, i := range c.Instances {
			loaded, inbox, err := p.claimable(i)
			var change *store.Change
			if err == nil {
				change, err = p.transition(i, &c)
			}
			if p.unreadable(i, err, c.Unreadable) || err != nil {
				continue // it is not there to be claimed
			}
			p.passed.Remove(i)
			r := change.To
			loaded.Lifecycle = r
			claimed = append(claimed, store.Claimed{
				Instance: i, Token: store.Token{Epoch: r.Epoch, Nonce: r.Nonce}, Loaded: loaded, Inbox: inbox, At: p.now,
			})
		}
		return nil
	})
	return claimed, err
}

// Commit implements store.Store.
func (s *Store) Commit(ctx context.Context, c store.Commit) (done store.Committed, err error) {
	n := s.of(c.Instance)
	hints := false
	var queues []string
	err = s.update(ctx, n, func(p *partition) error {
		done.At = p.now
		change, err := p.transition(c.Instance, &c)
		if err != nil {
			done.Asked = p.asked(&c.Asked)
			return err
		}
		done.Mail, hints, queues = change.To.Unread(), !change.Done && change.Hints(), change.Queues()
		return nil
	})
	if err == nil && hints {
		s.hints.send(store.Hint{Partition: n})
	}
	for _, queue := range queues {
		s.hints.send(store.Hint{Partition: n, Queue: queue})
	}
	return done, err
}

// Promote implements store.Store.
func (s *Store) Promote(ctx context.Context, c store.Promote) (done store.Promoted, err error) {
	err = s.update(ctx, c.Partition, func(p *partition) error {
		done = store.Promoted{At: p.now}
		for _, i := range c.Instances {
			change, err := p.transition(i, &c)
			if !p.unreadable(i, err, c.Unreadable) && err == nil && !change.To.Ready.IsZero() {
				done.Ready++
			}
		}
		for _, worker := range c.Gone {
			p.forgetLease(worker, worker == c.Worker)
		}
		return nil
	})
	if err == nil && done.Ready > 0 {
		s.hints.send(store.Hint{Partition: c.Partition})
	}
	return done, err
}

// Deliver implements store.Store.
func (s *Store) Deliver(ctx context.Context, d store.Delivery) error {
	return s.message(ctx, d.To, d.ID, &d)
}

// Command implements store.Store.
func (s *Store) Command(ctx context.Context, c store.Command) error {
	return s.message(ctx, c.To, c.ID, &c)
}

// message makes an operation happen once that brings a message to a run.
func (s *Store) message(ctx context.Context, to store.Instance, id string, op store.Operation) error {
	n := s.of(to)
	err := s.update(ctx, n, func(p *partition) error {
		if p.seen(id) {
			return nil
		}
		_, err := p.transition(to, op)
		return err
	})
	if err == nil {
		s.hints.send(store.Hint{Partition: n, Mail: to})
	}
	return err
}

// Relay implements store.Store.
func (s *Store) Relay(ctx context.Context, of int, entries []string) error {
	return s.update(ctx, of, func(p *partition) error {
		for _, id := range entries {
			_, last := cutLast(id)
			if n, err := strconv.ParseInt(last, 10, 64); err == nil {
				p.Delete(p.prefix + "outbox/" + number(n))
			}
		}
		return nil
	})
}

// Remove implements store.Store.
func (s *Store) Remove(ctx context.Context, c store.Remove) (removed int, err error) {
	err = s.update(ctx, c.Partition, func(p *partition) error {
		removed = 0
		for _, i := range c.Instances {
			r, err := p.record(i)
			if store.RefusedAs(err) == store.Newer {
				p.passed.Add(i)
			}
			if err != nil || r == nil || !c.Removes(r, p.now) {
				continue
			}
			p.Delete(p.placeKey(i, r.Place()))
			p.Delete(p.indexKey(i, r.Created))
			p.deleteAll(p.prefix + "i/" + i.String() + "/")
			p.Delete(p.unreadableKey(i))
			removed++
		}
		return nil
	})
	return removed, err
}
