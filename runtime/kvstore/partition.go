package kvstore

import (
	"strconv"
	"strings"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// partition is one partition in one transaction.
type partition struct {
	Tx
	prefix string
	here   func(store.Instance) bool // whether a name may be that of a run of the partition
	passed *store.PassedOver
	now    time.Time
	offset int64 // in milliseconds: added to the clock to get the current time
	fell   bool  // the clock was just found to have moved back
}

// back is how far the clock may be behind the last written time, in milliseconds, before it counts as moved back.
const back = 1000

// latest is the end of the year 9999, in milliseconds: JSON has no later time.
const latest = 253402300799999

// readTime determines the time: the time of the clock, plus an offset while the clock is behind the last written time. Time therefore
// continues when the clock moves back (docs/engine.md, Time).
func (p *partition) readTime(clock int64) {
	written := p.counter("clock")
	if written > latest {
		written = 0 // another program has overwritten it
	}
	if p.offset = p.counter("offset"); clock >= written-back {
		p.offset = 0 // the clock caught up
	} else if p.fell = clock+p.offset < written-back; p.fell {
		p.offset = written - clock
	}
	p.now = store.Moment(max(clock+p.offset, written))
}

// keepTime records the time with the written data.
func (p *partition) keepTime() {
	p.setCounter("clock", store.Millis(p.now))
	if p.offset != p.counter("offset") {
		p.setCounter("offset", p.offset)
	}
	if p.fell {
		p.setCounter("jumps", p.counter("jumps")+1)
	}
}

func (p *partition) counter(name string) int64 { return p.number(p.prefix + name) }

// number parses a nonnegative number; 0 if it is absent or overwritten.
func (p *partition) number(key string) int64 {
	value, _ := p.Get(key)
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil { // beyond its range, ParseInt returns the end of that
		return 0
	}
	return max(0, n)
}

func (p *partition) setCounter(name string, n int64) {
	p.Put(p.prefix+name, strconv.AppendInt(nil, n, 10))
}

// next returns a counter's next number.
func (p *partition) next(name string) int64 {
	n := p.counter(name) + 1
	p.setCounter(name, n)
	return n
}

// record returns the record of a run with its mail and its lease; nil if it is missing.
func (p *partition) record(i store.Instance) (*store.Lifecycle, error) {
	r, err := p.lifecycle(i)
	if r == nil {
		return nil, err
	}
	r.Mail = p.number(p.key(i, "mail"))
	if r.Held() {
		r.Lease = p.lease(r.Owner)
	}
	return r, nil
}

// lifecycle returns the record of a run as it is written; nil if it is missing.
func (p *partition) lifecycle(i store.Instance) (*store.Lifecycle, error) {
	value, ok := p.Get(p.key(i, "record"))
	if !ok {
		return nil, nil
	}
	r, err := store.ParseLifecycle(string(value))
	if err != nil {
		return nil, store.RefuseUnreadable("run "+i.String(), err, p.now)
	}
	return &r, nil
}

// putAway moves a run whose record cannot be read to a place where nothing is ever due. Scrub reports it.
func (p *partition) putAway(i store.Instance) {
	for _, set := range []store.Set{store.SetNew, store.SetBegun, store.SetWaiting, store.SetHeld} {
		prefix := p.setPrefix(set)
		var found []string
		p.Scan(prefix, prefix, func(key string, _ []byte) bool {
			if _, other := p.placed(set, key); other == i {
				found = append(found, key)
			}
			return true
		})
		for _, key := range found {
			p.Delete(key)
		}
	}
	if _, ok := p.Get(p.key(i, "record")); ok {
		p.Put(p.placeKey(i, store.Place{Set: store.SetWaiting}), nil)
	}
}

func (p *partition) refuse(code store.Code, i store.Instance) error {
	return store.Refuse(code, p.now, "run %s", i)
}

// load returns everything of a run but inbox, history and payloads.
func (p *partition) load(i store.Instance, r store.Lifecycle) store.Loaded {
	l := store.Loaded{Lifecycle: r, State: interpreter.StoredState{Frames: map[interpreter.FrameKey][]byte{}}}
	get := func(part string) []byte {
		value, _ := p.Get(p.key(i, part))
		return clone(value)
	}
	l.Invocation, l.State.Head, l.State.Context = get("info"), get("head"), get("context")
	prefix := p.key(i, "frame/")
	p.Scan(prefix, prefix, func(key string, value []byte) bool {
		id, _ := strconv.Atoi(strings.TrimPrefix(key, prefix)) // written by putState
		l.State.Frames[interpreter.FrameKey(id)] = clone(value)
		return true
	})
	l.Activities, l.Newer = p.activities(i)
	return l
}

func (p *partition) inbox(i store.Instance) (all []store.Message) {
	prefix := p.key(i, "inbox/")
	p.Scan(prefix, prefix, func(_ string, value []byte) bool {
		all = append(all, clone(value))
		return true
	})
	return all
}

// deleteAll deletes every key that begins with prefix.
func (p *partition) deleteAll(prefix string) {
	var keys []string
	p.Scan(prefix, prefix, func(key string, _ []byte) bool {
		keys = append(keys, key)
		return true
	})
	for _, key := range keys {
		p.Delete(key)
	}
}

func clone(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append(make([]byte, 0, len(b)), b...)
}
