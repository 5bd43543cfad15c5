package redisstore

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// outage logs, once each, that the server does not answer or refuses, and that it works again. Calls are repeated during the outage.
type outage struct {
	log     *slog.Logger
	failing atomic.Bool // the last call did

	mu    sync.Mutex
	reads bool // it answers reads, and refuses changes
	since time.Duration
	told  bool
	count int           // of outages that were logged, with less than calm between them
	last  time.Duration // when the last of them ended
}

const (
	// outageAfter is how long it may last before it is logged: single connections break all the time.
	outageAfter = 300 * time.Millisecond
	// silentAfter is how long an answer may take before that is logged.
	silentAfter = 700 * time.Millisecond
	// calm is how long the server has to answer before the next outage is logged as soon as the first. Until then each has to last
	// twice as long as the one before, up to sixteen times: a server that is merely slow would fill the log.
	calm, maxDoublings = time.Minute, 4
)

// worth returns how long an outage has to last before it is logged.
func (o *outage) worth(now, first time.Duration) time.Duration {
	if now-o.last > calm {
		o.count = 0
	}
	return first << min(o.count, maxDoublings)
}

func (o *outage) began(now time.Duration, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reads = codeOf(err) == "READONLY"
	if !o.failing.Load() {
		o.failing.Store(true)
		o.since = now
	} else if now-o.since > o.worth(now, outageAfter) && !o.told {
		o.told = true
		if o.reads {
			o.log.Error("the store takes no writes; they are sent repeatedly", "error", err)
		} else {
			o.log.Error("the store does not answer; requests are repeated", "error", err)
		}
	}
}

// awaits logs if a request takes long; answered has to be called when the answer is there.
func (o *outage) awaits(now func() time.Duration) (answered func() bool) {
	o.mu.Lock()
	after := o.worth(now(), silentAfter)
	o.mu.Unlock()
	return time.AfterFunc(after, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if !o.failing.Load() {
			o.failing.Store(true)
			o.since = now() - after
		}
		if !o.told {
			o.told = true
			o.log.Error("the store does not answer; it is waited for", "error", "no answer for "+after.String())
		}
	}).Stop
}

// answered records that the server answered a read. That does not end an outage in which it refuses writes.
func (o *outage) answered(now func() time.Duration) { o.ended(now, false) }

// wrote records that the server answered a request that may change data.
func (o *outage) wrote(now func() time.Duration) { o.ended(now, true) }

func (o *outage) ended(now func() time.Duration, wrote bool) {
	if !o.failing.Load() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.reads && !wrote {
		return
	}
	if o.told {
		after := (now() - o.since).Round(time.Millisecond).String()
		if o.reads {
			o.log.Info("the store takes writes again", "after", after)
		} else {
			o.log.Info("the store answers again", "after", after)
		}
		o.count, o.last = o.count+1, now()
	}
	o.failing.Store(false)
	o.told, o.reads = false, false
}
