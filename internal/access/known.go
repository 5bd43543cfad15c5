package access

import (
	"sync"
	"time"
)

// KnownFor is the time for which a server uses a cached token: a revoked token is refused everywhere after that time.
const KnownFor = 5 * time.Second

// maxKnown is the maximum number of cached tokens of a server.
const maxKnown = 1000

// known is a cache of the tokens of recent requests, so that the store is not asked about each request.
type known struct {
	mu  sync.Mutex
	all map[string]remembered // by name
}

// remembered is a token in the state of the store at a time.
type remembered struct {
	stored
	name string
	ends time.Time // by the store's clock
	at   time.Time
}

func (k *known) of(name string, now time.Time) (remembered, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r, ok := k.all[name]
	return r, ok && now.Sub(r.at) < KnownFor
}

// add caches a token that a caller has sent. A token that expires within the time of the cache is not cached.
func (k *known) add(r remembered, now time.Time) {
	if r.at = now; !r.ends.IsZero() && r.ends.Sub(now) < 2*KnownFor {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.all == nil || len(k.all) >= maxKnown {
		k.all = map[string]remembered{}
	}
	k.all[r.name] = r
}

func (k *known) forget(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.all, name)
}
