package access

import (
	"sync"
	"time"
)

// KnownFor is how long a server goes on with what it knows of a token: a token that is revoked is refused everywhere after that time.
const KnownFor = 5 * time.Second

// maxKnown is how many tokens a server remembers at a time.
const maxKnown = 1000

// known are the tokens with which somebody has asked lately, so that the store is not asked about each request.
type known struct {
	mu  sync.Mutex
	all map[string]remembered // by name
}

// remembered is a token as the store had it at a time.
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

// add remembers a token that somebody has shown. One that expires within the time for which it would be remembered is asked for each time.
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
