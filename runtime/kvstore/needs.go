package kvstore

import (
	"context"
	"slices"
	"strings"

	"github.com/swrun/swrun/runtime/store"
)

// needs returns at most n needs for which runs wait.
func (p *partition) needs(n int) (all []store.Need) {
	prefix := p.prefix + "needs/"
	for from := prefix; len(all) < n; {
		found := len(all)
		p.Scan(prefix, from, func(key string, _ []byte) bool {
			need, _ := store.ParseNeedEntry(strings.TrimPrefix(key, prefix))
			all, from = append(all, need), prefix+store.NextNeedEntry(need)
			return false
		})
		if len(all) == found {
			break
		}
	}
	return all
}

// Needing implements store.Reader.
func (s *Store) Needing(_ context.Context, c store.Needing) (all []store.Instance, err error) {
	err = s.view(c.Partition, func(p *partition) error {
		prefix := p.prefix + "needs/" + store.FirstNeedEntry(c.Need)
		p.Scan(prefix, prefix, func(key string, _ []byte) bool {
			entry := strings.TrimPrefix(key, p.prefix+"needs/")
			_, i := store.ParseNeedEntry(entry)
			if r, err := p.record(i); err == nil && r != nil && slices.Contains(r.NeedEntries(i), entry) { // or else it cannot be read
				all = append(all, i)
			}
			return len(all) < c.N
		})
		return nil
	})
	return all, err
}
