package kvstore

import (
	"context"
	"strings"

	"github.com/swrun/swrun/runtime/store"
)

// Listeners implements store.Reader.
func (s *Store) Listeners(_ context.Context, c store.Listening) (found store.Listeners, err error) {
	for _, number := range c.Partitions {
		if err == nil {
			err = s.view(number, func(p *partition) error {
				p.listeners(&c, number, &found)
				return nil
			})
		}
	}
	return found, err
}

// listeners adds the listeners of a partition.
func (p *partition) listeners(c *store.Listening, number int, found *store.Listeners) {
	for _, r := range c.Ranges() {
		p.listenedFor(r, found)
	}
	prefix := p.prefix + listenersPart
	for n, f := range c.Filters {
		one := store.ListeningRuns{Partition: number, Filter: n}
		from, to := c.Between(f)
		p.Scan(prefix, prefix+from, func(key string, _ []byte) bool {
			entry := strings.TrimPrefix(key, prefix)
			if entry >= to || len(one.Runs) == c.N {
				return false
			}
			_, i, _, _ := store.ParseListenEntry(entry) // write has made it
			one.Runs = append(one.Runs, i)
			return true
		})
		if len(one.Runs) > 0 {
			found.Runs = append(found.Runs, one)
		}
	}
}

// listenerKey returns the key of an entry of the listener index.
func (p *partition) listenerKey(entry string) string { return p.prefix + listenersPart + entry }

// listenedFor adds the expressions of all filters in a part of the index.
func (p *partition) listenedFor(r store.ListenRange, found *store.Listeners) {
	prefix := p.prefix + listenersPart
	for from, more := prefix+r.From, true; more; {
		more = false
		p.Scan(prefix, from, func(key string, _ []byte) bool {
			entry := strings.TrimPrefix(key, prefix)
			if entry >= r.To {
				return false
			}
			f, _, next, err := store.ParseListenEntry(entry)
			if err != nil {
				return true // a write never makes such an entry
			}
			found.AddFrom(f)
			from, more = prefix+next, true
			return false
		})
	}
}
