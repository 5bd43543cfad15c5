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
}

// Open makes a store of a database. An empty database gets the layout; one that has another layout is refused.
func Open(db Database, layout store.Layout, now func() time.Time) (*Store, error) {
	s := &Store{db: db, layout: layout, now: now, writes: make([]atomic.Int64, layout.Partitions)}
	err := db.Update(func(tx Tx) error {
		value, ok := tx.Get(layoutKey)
		if !ok {
			data, err := json.Marshal(layout)
			tx.Put(layoutKey, data)
			return err
		}
		var kept store.Layout
		if err := json.Unmarshal(value, &kept); err != nil {
			return fmt.Errorf("read the store's layout: %w", err)
		}
		return layout.Check(kept)
	})
	return s, err
}

var _ store.Store = (*Store)(nil)

// update runs one transition on a partition, at the store's time, which never goes back. Its error is a refusal that
// comes before the first write.
func (s *Store) update(n int, f func(*partition) error) error {
	var refused error
	err := s.db.Update(func(tx Tx) error {
		p := s.partition(tx, n)
		refused = f(p)
		if refused == nil {
			p.told()
		}
		return nil
	})
	if err != nil || refused == nil {
		s.writes[n].Add(1) // after the write: who has read it before does not know this number
	}
	if err != nil {
		return err
	}
	return refused
}

func (s *Store) view(n int, f func(*partition) error) error {
	return s.db.View(func(tx Tx) error { return f(s.partition(tx, n)) })
}

func (s *Store) partition(tx Tx, n int) *partition {
	p := &partition{Tx: tx, prefix: fmt.Sprintf("p/%04d/", n)}
	p.tell(s.now().UnixMilli())
	return p
}

func (s *Store) of(i store.Instance) int { return i.Partition(s.layout.Partitions) }

// Start implements store.Store.
func (s *Store) Start(_ context.Context, start store.Start) (started store.Started, err error) {
	i := start.Instance
	if err := i.Check(); err != nil {
		return started, err
	}
	n := s.of(i)
	err = s.update(n, func(p *partition) error {
		started = store.Started{At: store.Moment(p.now)}
		if info, ok := p.Get(p.key(i, "info")); ok {
			if string(info) != string(start.Invocation) {
				return p.refuse(store.Conflict, i)
			}
			started.Again = true
			return nil
		}
		if start.FamilyMax > 0 && !p.hasRoom(start.Family, start.FamilyMax) {
			return p.refuse(store.TooMany, i)
		}
		last := p.counter("index-last") + 1
		p.setCounter("index-last", last)
		r := store.Lifecycle{
			Status: "pending", Started: p.now + start.Delay.Milliseconds(), Deadline: store.Millis(start.Deadline),
			ListKey: fmt.Sprintf("%d-%d", p.now, last),
		}
		if end := p.now + start.Timeout.Milliseconds(); start.Timeout > 0 && (r.Deadline == 0 || end < r.Deadline) {
			r.Deadline = end
		}
		if start.Delay <= 0 {
			r.Ready = p.now
			if start.Urgent {
				r.Ready -= store.Urgency
			}
		} else if r.Wake = r.Started; r.Deadline != 0 {
			r.Wake = min(r.Wake, r.Deadline)
		}
		p.Put(p.key(i, "info"), start.Invocation)
		p.Put(p.prefix+"index/"+slotKey(r.ListKey)+"/"+i.String(), nil)
		p.put(i, nil, &r)
		return nil
	})
	if err == nil && !started.Again {
		s.hints.send(store.Hint{Partition: n})
	}
	return started, err
}

// Claim implements store.Store.
func (s *Store) Claim(_ context.Context, c store.Claim) (claimed []store.Claimed, err error) {
	err = s.update(c.Partition, func(p *partition) error {
		claimed = nil
		for _, i := range c.Instances {
			if taken := p.claim(i, c); taken != nil {
				claimed = append(claimed, *taken)
			}
		}
		return nil
	})
	return claimed, err
}

func (p *partition) claim(i store.Instance, c store.Claim) *store.Claimed {
	r, ok, err := p.record(i)
	if err != nil || !ok {
		p.putAway(i)
		return nil
	}
	again := r.Held() && r.Nonce == c.Nonce
	if !again && (r.Status.Final() || r.Held() || r.Ready == 0) {
		return nil
	}
	if !again {
		before := r
		r.Epoch++
		r.Nonce, r.Lease, r.Ready = c.Nonce, p.now+c.Lease.Milliseconds(), 0
		if r.Status == "pending" && r.Started <= p.now && (r.Deadline == 0 || p.now < r.Deadline) {
			r.Status, r.Started, r.Wake = "running", p.now, 0
		}
		if r.Wake != 0 { // the new owner has its grace from now on, however overdue the instance is
			r.Wake = max(r.Wake, p.now)
		}
		p.put(i, &before, &r)
	}
	return &store.Claimed{
		Instance: i, Token: store.Token{Epoch: r.Epoch, Nonce: r.Nonce}, Loaded: p.load(i, r), Inbox: p.inbox(i),
		At: store.Moment(p.now),
	}
}

// Commit implements store.Store.
func (s *Store) Commit(_ context.Context, c store.Commit) (done store.Committed, err error) {
	n := s.of(c.Instance)
	ready := false
	err = s.update(n, func(p *partition) error {
		done, ready = store.Committed{At: store.Moment(p.now)}, false
		r, ok, err := p.record(c.Instance)
		switch {
		case err != nil:
			return err
		case !ok:
			return p.refuse(store.NoSuch, c.Instance)
		case r.Epoch == c.Token.Epoch && r.Nonce == c.Token.Nonce && r.Version == c.Next:
			done.Mail = r.Mail > r.Read // again
			return nil
		case r.Status.Final():
			return p.refuse(store.Closed, c.Instance)
		case !r.Held() || r.Epoch != c.Token.Epoch || r.Nonce != c.Token.Nonce:
			return p.refuse(store.Fenced, c.Instance)
		case r.Version > c.Version:
			return p.refuse(store.Conflict, c.Instance)
		case r.Version < c.Version:
			return p.refuse(store.RolledBack, c.Instance)
		case c.At.UnixMilli() > p.now:
			return p.refuse(store.Guard, c.Instance)
		case r.TimesOut(&c, p.now):
			return p.refuse(store.TimedOut, c.Instance)
		}
		p.commit(c, r)
		done.Mail = r.Mail > r.Read+int64(c.Read)
		ready = c.Release && (done.Mail || c.Ready)
		return nil
	})
	if err == nil && (ready || len(c.Outbox) > 0) {
		s.hints.send(store.Hint{Partition: n})
	}
	return done, err
}

func (p *partition) commit(c store.Commit, r store.Lifecycle) {
	before := r
	i := c.Instance
	p.apply(i, c.Changes)
	for n, data := range c.Entries {
		entry := fmt.Appendf(nil, "%d %d %s ", p.now, c.Token.Epoch, c.Token.Nonce)
		p.Put(p.key(i, "history/"+number(r.Entries+int64(n)+1)), append(entry, data...))
	}
	for ref, data := range c.Payloads {
		p.Put(p.key(i, "payload/"+ref), data)
	}
	for _, data := range c.Outbox {
		last := p.counter("outbox-last") + 1
		p.setCounter("outbox-last", last)
		p.Put(p.prefix+"outbox/"+number(last), data)
	}
	for n := range c.Read {
		p.Delete(p.key(i, "inbox/"+number(r.Read+int64(n)+1)))
	}
	r.Commit(&c, p.now)
	if r.Status.Final() {
		p.deleteAll(p.key(i, "inbox/"))
	}
	p.put(i, &before, &r)
}

// Renew implements store.Store.
func (s *Store) Renew(_ context.Context, c store.Renew) (renewed []store.Renewed, err error) {
	err = s.update(c.Partition, func(p *partition) error {
		renewed = nil
		for _, h := range c.Held {
			r, err := p.owned(h.Instance, h.Token)
			if err != nil {
				continue // it is not held any more
			}
			before := r
			r.Lease = p.now + c.Lease.Milliseconds()
			p.put(h.Instance, &before, &r)
			renewed = append(renewed, store.Renewed{Instance: h.Instance, Mail: r.Mail > r.Read, At: store.Moment(p.now)})
		}
		return nil
	})
	return renewed, err
}

// Promote implements store.Store.
func (s *Store) Promote(_ context.Context, c store.Promote) (done store.Promoted, err error) {
	err = s.update(c.Partition, func(p *partition) error {
		done = store.Promoted{At: store.Moment(p.now)}
		for _, i := range c.Instances {
			if p.promote(i) {
				done.Ready++
			}
		}
		done.Next = p.next()
		return nil
	})
	if err == nil && done.Ready > 0 {
		s.hints.send(store.Hint{Partition: c.Partition})
	}
	return done, err
}

func (p *partition) promote(i store.Instance) bool {
	r, ok, err := p.record(i)
	if err != nil || !ok {
		p.putAway(i)
		return false
	}
	due := r.Due()
	if r.Status.Final() || r.Ready != 0 || due == 0 || due > p.now {
		return false
	}
	before := r
	if r.Held() {
		r.Lease = 0
		if r.Deaths++; r.Deaths >= store.MaxDeaths {
			r.Reason = store.Quarantined
		}
	}
	if r.Deaths < store.MaxLosses {
		r.Ready = due - store.Urgency
	} else {
		r.Wake = 0
	}
	p.put(i, &before, &r)
	return r.Ready != 0
}

// next returns when the first instance is due that is not due yet.
func (p *partition) next() (next time.Time) {
	prefix := p.prefix + "due/"
	p.Scan(prefix, prefix, func(key string, _ []byte) bool {
		if at, _ := indexed(key, prefix); at != never {
			next = store.Moment(at)
		}
		return false
	})
	return next
}

// Deliver implements store.Store.
func (s *Store) Deliver(_ context.Context, d store.Delivery) error {
	n := s.of(d.To)
	err := s.update(n, func(p *partition) error {
		r, ok, err := p.record(d.To)
		switch {
		case err != nil:
			return err
		case !ok:
			return p.refuse(store.NoSuch, d.To)
		case r.Status.Final():
			return p.refuse(store.Closed, d.To)
		case !p.seen(d.ID):
			p.deliver(d.To, &r, d.Message)
		}
		return nil
	})
	if err == nil {
		s.hints.send(store.Hint{Partition: n, Mail: d.To})
	}
	return err
}

// Command implements store.Store.
func (s *Store) Command(_ context.Context, c store.Command) error {
	n := s.of(c.To)
	err := s.update(n, func(p *partition) error {
		r, ok, err := p.record(c.To)
		if err != nil {
			return err
		}
		if _, done := p.Get(p.prefix + "seen/" + c.ID); done {
			return nil
		}
		switch {
		case !ok:
			return p.refuse(store.NoSuch, c.To)
		case r.Status.Final():
			return p.refuse(store.Closed, c.To)
		case c.Verb == store.VerbRetry && r.Reason != store.Quarantined:
			return p.refuse(store.Conflict, c.To)
		}
		p.seen(c.ID)
		p.command(c, r)
		return nil
	})
	if err == nil {
		s.hints.send(store.Hint{Partition: n, Mail: c.To})
	}
	return err
}

func (p *partition) command(c store.Command, r store.Lifecycle) {
	if c.Verb != store.VerbSuspend && c.Verb != store.VerbResume && r.Reason == store.Quarantined {
		before := r
		r.Reason, r.Deaths = "", 0
		p.wake(&r)
		p.put(c.To, &before, &r)
	}
	if c.Verb != store.VerbRetry {
		p.deliver(c.To, &r, c.Message)
	}
}

// Relay implements store.Store.
func (s *Store) Relay(_ context.Context, of int, entries []string) error {
	return s.update(of, func(p *partition) error {
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
func (s *Store) Remove(_ context.Context, c store.Remove) (removed int, err error) {
	err = s.update(c.Partition, func(p *partition) error {
		removed = 0
		for _, i := range c.Instances {
			r, ok, err := p.record(i)
			if err != nil || !ok || !r.Status.Final() || p.now-r.Closed < c.Age.Milliseconds() {
				continue
			}
			p.Delete(p.place(i, &r))
			p.Delete(p.prefix + "index/" + slotKey(r.ListKey) + "/" + i.String())
			p.deleteAll(p.prefix + "i/" + i.String() + "/")
			removed++
		}
		return nil
	})
	return removed, err
}
