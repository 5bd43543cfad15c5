package kvstore

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// permits are the permits of one queue: the holders with the ends of their permits, 0 for unlimited, and the beginnings of effects, as far
// as the rate of the queue counts them.
type permits struct {
	*partition
	holders, begun string // prefixes of their keys
	limit          store.QueueLimit
	held, recent   int
	first          time.Time // of the counted beginnings
}

// Permit implements store.Permits.
func (s *Store) Permit(ctx context.Context, c store.Permit) (done store.Permitted, err error) {
	if err := c.Check(); err != nil {
		return done, err
	}
	err = s.quietly(ctx, store.PermitPartition(c.Queue, s.layout.Partitions), func(p *partition) error {
		of := p.permits(c.Queue, c.Limit)
		for _, holder := range c.Released {
			p.Delete(of.holders + holder)
		}
		for _, holder := range c.Returned {
			p.Delete(of.holders + holder)
			of.forgetBegun(holder)
		}
		of.count()
		done = store.Permitted{At: p.now}
		for _, holder := range c.Wanted {
			if of.take(holder, c.For) {
				done.Holding = append(done.Holding, holder)
			} else if of.hasRoom() {
				done.Next = of.first.Add(c.Limit.Per)
			}
		}
		done.Held = of.held
		return nil
	})
	return done, err
}

func (p *partition) permits(queue string, l store.QueueLimit) *permits {
	return &permits{partition: p, holders: p.prefix + "permit/" + queue + "/", begun: p.prefix + "permit-begun/" + queue + "/", limit: l}
}

// count counts the held permits and the recent beginnings, and deletes the rest.
func (p *permits) count() {
	var over []string
	p.Scan(p.holders, p.holders, func(key string, value []byte) bool {
		if p.holds(value) {
			p.held++
		} else {
			over = append(over, key)
		}
		return true
	})
	p.Scan(p.begun, p.begun, func(key string, _ []byte) bool {
		at, _ := p.begunOf(key)
		if !at.Add(p.limit.Span()).After(p.now) {
			over = append(over, key)
			return true
		}
		p.recent++
		p.first = interpreter.Earlier(p.first, at)
		return true
	})
	for _, key := range over {
		p.Delete(key)
	}
}

// holds reports whether a permit is still held. A damaged value counts as not held.
func (p *permits) holds(value []byte) bool {
	ends, err := strconv.ParseInt(string(value), 10, 64)
	return err == nil && (ends == 0 || ends > store.Millis(p.now))
}

// begunOf parses the key of a beginning.
func (p *permits) begunOf(key string) (at time.Time, holder string) {
	ms, holder, _ := strings.Cut(strings.TrimPrefix(key, p.begun), "/")
	return store.Moment(parseNumber(ms)), holder
}

func (p *permits) forgetBegun(holder string) {
	var of []string
	p.Scan(p.begun, p.begun, func(key string, _ []byte) bool {
		if _, other := p.begunOf(key); other == holder {
			of = append(of, key)
		}
		return true
	})
	for _, key := range of {
		p.Delete(key)
	}
}

// hasRoom reports whether the concurrency limit allows one more permit.
func (p *permits) hasRoom() bool { return p.limit.Concurrency == 0 || p.held < p.limit.Concurrency }

// take gives a permit to a holder, or lets it keep its own, and reports whether it has one then.
func (p *permits) take(holder string, length time.Duration) bool {
	if _, has := p.Get(p.holders + holder); !has {
		if !p.hasRoom() || p.limit.Rate > 0 && p.recent >= p.limit.Rate {
			return false
		}
		p.held++
		if p.limit.Rate > 0 {
			p.recent++
			p.first = interpreter.Earlier(p.first, p.now)
			p.Put(p.begun+number(store.Millis(p.now))+"/"+holder, nil)
		}
	}
	ends := int64(0)
	if length > 0 {
		ends = store.Millis(p.now.Add(length))
	}
	p.Put(p.holders+holder, []byte(number(ends)))
	return true
}

// Holders implements store.Permits.
func (s *Store) Holders(_ context.Context, queue string) (all []string, err error) {
	err = s.view(store.PermitPartition(queue, s.layout.Partitions), func(p *partition) error {
		of := p.permits(queue, store.QueueLimit{})
		p.Scan(of.holders, of.holders, func(key string, value []byte) bool {
			if of.holds(value) {
				all = append(all, strings.TrimPrefix(key, of.holders))
			}
			return true
		})
		return nil
	})
	return all, err
}
