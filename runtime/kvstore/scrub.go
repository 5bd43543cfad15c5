package kvstore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/swrun/swrun/runtime/store"
)

// remembered is how long operations are.
const remembered = 24 * time.Hour

// Scrub implements store.Store.
func (s *Store) Scrub(_ context.Context, c store.Scrub) (done store.Scrubbed, err error) {
	err = s.update(c.Partition, func(p *partition) error {
		adopt := c.Adopt && !c.Loss // it loses no writes
		done = store.Scrubbed{Adopted: adopt}
		prefix := p.prefix + "index/"
		var instances []store.Instance
		p.Scan(prefix, prefix+c.Cursor, func(key string, _ []byte) bool {
			rest := strings.TrimPrefix(key, prefix)
			if len(instances) == c.N {
				done.Cursor = rest
				return false
			}
			_, name, _ := strings.Cut(rest, "/")
			instances = append(instances, instanceOf(name))
			return true
		})
		for _, i := range instances {
			p.scrub(i, adopt, &done)
		}
		p.forget("seen", 1000)
		p.forget("family", 1000)
		p.setCounter("repairs", p.counter("repairs")+int64(len(done.Repaired)))
		return nil
	})
	return done, err
}

// scrub compares one instance with the indexes.
func (p *partition) scrub(i store.Instance, adopt bool, done *store.Scrubbed) {
	done.Compared++
	r, ok, err := p.record(i)
	if err != nil || !ok {
		done.Repaired = append(done.Repaired, fmt.Sprintf("%s: its record cannot be read", i))
		return
	}
	if adopt && r.Held() {
		before := r
		r.Lease = 0
		if p.wake(&r); r.Reason == store.Quarantined { // it has to be looked at again
			r.Ready = p.now - store.Urgency
		}
		p.put(i, &before, &r)
	}
	place := p.place(i, &r)
	if _, ok := p.Get(place); !ok {
		p.Put(place, nil)
		done.Repaired = append(done.Repaired, fmt.Sprintf("%s: was missing in %s", i, strings.TrimPrefix(place, p.prefix)))
	}
}

// forget deletes up to n things of a kind, operations that were seen or families, that need not be remembered any longer.
func (p *partition) forget(kind string, n int) {
	prefix := p.prefix + kind + "-at/"
	var old []string
	p.Scan(prefix, prefix, func(key string, _ []byte) bool {
		at, _, _ := strings.Cut(strings.TrimPrefix(key, prefix), "/")
		if p.now-parseNumber(at) < remembered.Milliseconds() || len(old) == n {
			return false
		}
		old = append(old, key)
		return true
	})
	for _, key := range old {
		_, id, _ := strings.Cut(strings.TrimPrefix(key, prefix), "/")
		p.Delete(key)
		p.Delete(p.prefix + kind + "/" + id)
	}
}
