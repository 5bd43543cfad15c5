package redisstore

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// outage tells, once, that the server does not do what it is asked for, and that it does again. Calls are repeated
// meanwhile.
type outage struct {
	log     *slog.Logger
	failing atomic.Bool // the last call did

	mu    sync.Mutex
	since time.Duration
	told  bool
}

// outageAfter is how long it may last before it is worth telling: single connections break all the time.
const outageAfter = 300 * time.Millisecond

func (o *outage) began(now time.Duration, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.failing.Load() {
		o.failing.Store(true)
		o.since = now
	} else if now-o.since > outageAfter && !o.told {
		o.told = true
		o.log.Warn("the store does not answer; it is asked again and again", "error", err)
	}
}

// awaits tells if what is asked is not answered until answered is called.
func (o *outage) awaits(now func() time.Duration) (answered func() bool) {
	return time.AfterFunc(silentAfter, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if !o.failing.Load() {
			o.failing.Store(true)
			o.since = now() - silentAfter
		}
		if !o.told {
			o.told = true
			o.log.Warn("the store does not answer; it is waited for", "error", "no answer for "+silentAfter.String())
		}
	}).Stop
}

// silentAfter is how long an answer may take before that is worth telling.
const silentAfter = 700 * time.Millisecond

func (o *outage) ended(now func() time.Duration) {
	if !o.failing.Load() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.told {
		o.log.Info("the store answers again", "after", (now() - o.since).Round(time.Millisecond).String())
	}
	o.failing.Store(false)
	o.told = false
}
