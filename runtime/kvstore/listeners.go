package kvstore

import (
	"context"
	"strings"

	"github.com/swrun/swrun/runtime/store"
)

// Listeners implements store.Reader.
func (s *Store) Listeners(_ context.Context, c store.Listening) (found store.Listeners, err error) {
	err = s.view(c.Partition, func(p *partition) error {
		for _, kind := range c.Types {
			p.listenedFor(kind, &found)
		}
		prefix := p.prefix + listenersPart
		found.Runs = make([][]store.Instance, len(c.Filters))
		for n, f := range c.Filters {
			from, to := c.Between(f)
			p.Scan(prefix, prefix+from, func(key string, _ []byte) bool {
				entry := strings.TrimPrefix(key, prefix)
				if entry >= to || len(found.Runs[n]) == c.N {
					return false
				}
				_, i, _, _ := store.ParseListenEntry(entry) // write has made it
				found.Runs[n] = append(found.Runs[n], i)
				return true
			})
		}
		return nil
	})
	return found, err
}

// listenerKey returns the key of an entry of those who listen.
func (p *partition) listenerKey(entry string) string { return p.prefix + listenersPart + entry }

// listenedFor adds the expressions of all filters of a type.
func (p *partition) listenedFor(kind string, found *store.Listeners) {
	prefix := p.prefix + listenersPart
	ofType := prefix + store.FirstOfType(kind)
	for from, more := ofType, true; more; {
		more = false
		p.Scan(ofType, from, func(key string, _ []byte) bool {
			f, _, next, _ := store.ParseListenEntry(strings.TrimPrefix(key, prefix))
			f.Key = ""
			found.From, from, more = append(found.From, f), prefix+next, true
			return false
		})
	}
}
