package kvstore

import (
	"context"
	"slices"
	"strings"

	"github.com/swrun/swrun/runtime/store"
)

func (p *partition) needsPrefix() string { return p.prefix + "needs/" }

// needKey returns the key of an entry of the index of needs. The namespace precedes the time, so that no namespace precedes another's runs
// by time.
func (p *partition) needKey(entry string) string {
	need, i := store.ParseNeedEntry(entry)
	return p.needsPrefix() + store.FirstNeedEntry(need) + i.Namespace + "/" + number(store.Millis(i.Since)) + "/" + i.ID
}

// parseNeedKey parses the output of needKey.
func (p *partition) parseNeedKey(key string) (need store.Need, i store.Needy) {
	text, rest, _ := strings.Cut(strings.TrimPrefix(key, p.needsPrefix()), " ")
	namespace, rest, _ := strings.Cut(rest, "/")
	since, id, _ := strings.Cut(rest, "/")
	return store.Need(text), store.Needy{Instance: store.Instance{Namespace: namespace, ID: id}, Since: store.Moment(parseNumber(since))}
}

// needs returns at most n needs for which runs wait.
func (p *partition) needs(n int) (all []store.Need) {
	prefix := p.needsPrefix()
	for from := prefix; len(all) < n; {
		found := len(all)
		p.Scan(prefix, from, func(key string, _ []byte) bool {
			need, _ := p.parseNeedKey(key)
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
func (s *Store) Needing(_ context.Context, c store.Needing) (all []store.Needy, err error) {
	err = s.view(c.Partition, func(p *partition) error {
		prefix := p.needsPrefix() + store.FirstNeedEntry(c.Need)
		if c.Need == store.AnyReserved { // many needs, each with its namespaces
			all = p.needing(prefix, c.N)
		} else {
			all = fairly(p, prefix, share{c.N, c.Turn}, p.needing)
		}
		return nil
	})
	return all, err
}

// needing returns the first n runs that wait for something, whose keys begin with a prefix.
func (p *partition) needing(prefix string, n int) (all []store.Needy) {
	p.Scan(prefix, prefix, func(key string, _ []byte) bool {
		need, i := p.parseNeedKey(key)
		if r, err := p.record(i.Instance); err == nil && r != nil && slices.Contains(r.Needed(), need) { // or else it cannot be read
			all = append(all, i)
		}
		return len(all) < n
	})
	return all
}
