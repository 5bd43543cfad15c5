package kvstore

import (
	"strconv"
	"strings"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// partition is one partition in one transaction.
type partition struct {
	Tx
	prefix string
	now    int64
	offset int64 // what makes now of the clock
	fell   bool  // the clock has just been found to have gone back
}

// back is how much time may be behind what was written, in milliseconds, before the clock counts as gone back.
const back = 1000

// tell finds out the time: that of the clock, plus an offset while the clock is behind what was written. So time goes on
// where it was when the clock goes back (reliability.md 1.3.1).
func (p *partition) tell(clock int64) {
	written := p.counter("clock")
	if p.offset = p.counter("offset"); clock >= written-back {
		p.offset = 0 // it has come back
	} else if p.fell = clock+p.offset < written-back; p.fell {
		p.offset = written - clock
	}
	p.now = max(clock+p.offset, written)
}

// told keeps the time.
func (p *partition) told() {
	p.setCounter("clock", p.now)
	if p.offset != p.counter("offset") {
		p.setCounter("offset", p.offset)
	}
	if p.fell {
		p.setCounter("jumps", p.counter("jumps")+1)
	}
}

func (p *partition) counter(name string) int64 {
	value, _ := p.Get(p.prefix + name)
	n, _ := strconv.ParseInt(string(value), 10, 64) // absent is 0
	return n
}

func (p *partition) setCounter(name string, n int64) {
	p.Put(p.prefix+name, strconv.AppendInt(nil, n, 10))
}

func (p *partition) key(i store.Instance, part string) string {
	return p.prefix + "i/" + i.String() + "/" + part
}

// record returns the record of an instance; ok is false if there is none.
func (p *partition) record(i store.Instance) (r store.Lifecycle, ok bool, err error) {
	value, ok := p.Get(p.key(i, "record"))
	if !ok {
		return r, false, nil
	}
	if r, err = store.ParseLifecycle(string(value)); err != nil {
		err = store.Refuse(store.Corrupt, store.Moment(p.now), "instance %s: %s", i, err)
	}
	return r, true, err
}

// place returns the key of the index in which an instance stands.
func (p *partition) place(i store.Instance, r *store.Lifecycle) string {
	switch due := r.Due(); {
	case r.Status.Final():
		return p.prefix + "closed/" + number(r.Closed) + "/" + i.String()
	case r.Ready != 0:
		return p.prefix + "ready/" + number(r.Ready) + "/" + i.String()
	case due != 0:
		return p.prefix + "due/" + number(due) + "/" + i.String()
	}
	return p.prefix + "due/" + number(never) + "/" + i.String()
}

// put stores a record and moves the instance to where it belongs now.
func (p *partition) put(i store.Instance, before *store.Lifecycle, r *store.Lifecycle) {
	p.Put(p.key(i, "record"), []byte(r.String()))
	place := p.place(i, r)
	if before != nil {
		if old := p.place(i, before); old != place {
			p.Delete(old)
		}
	}
	p.Put(place, nil)
}

// putAway takes an instance whose record cannot be read out of the way: it stands where nothing is ever due, and
// Scrub reports it.
func (p *partition) putAway(i store.Instance) {
	for _, index := range []string{"ready/", "due/"} {
		prefix := p.prefix + index
		var found []string
		p.Scan(prefix, prefix, func(key string, _ []byte) bool {
			if _, other := indexed(key, prefix); other == i {
				found = append(found, key)
			}
			return true
		})
		for _, key := range found {
			p.Delete(key)
		}
	}
	if _, ok := p.Get(p.key(i, "record")); ok {
		p.Put(p.prefix+"due/"+number(never)+"/"+i.String(), nil)
	}
}

// owned returns the record of an instance to which the token may write.
func (p *partition) owned(i store.Instance, t store.Token) (store.Lifecycle, error) {
	r, ok, err := p.record(i)
	switch {
	case err != nil:
		return r, err
	case !ok:
		return r, p.refuse(store.NoSuch, i)
	case !r.Held() || r.Epoch != t.Epoch || r.Nonce != t.Nonce:
		return r, p.refuse(store.Fenced, i)
	}
	return r, nil
}

func (p *partition) refuse(code store.Code, i store.Instance) error {
	return store.Refuse(code, store.Moment(p.now), "instance %s", i)
}

// seen notes that an operation has been done, and reports whether it had been before.
func (p *partition) seen(id string) bool {
	key := p.prefix + "seen/" + id
	if _, ok := p.Get(key); ok {
		return true
	}
	p.Put(key, strconv.AppendInt(nil, p.now, 10))
	p.Put(p.prefix+"seen-at/"+number(p.now)+"/"+id, nil)
	p.forget("seen", 2) // so that there are never more than come in a day
	return false
}

// hasRoom counts one more instance of a family, unless as many have started within a day as may.
func (p *partition) hasRoom(family store.Instance, most int) bool {
	p.forget("family", 2)
	key, place := p.prefix+"family/"+family.String(), p.prefix+"family-at/"
	value, known := p.Get(key)
	since, started, _ := strings.Cut(string(value), " ")
	if known && p.now-parseNumber(since) >= remembered.Milliseconds() {
		p.Delete(place + since + "/" + family.String())
		known = false
	}
	if !known {
		since, started = number(p.now), number(0)
		p.Put(place+since+"/"+family.String(), nil)
	}
	n := parseNumber(started)
	if n >= int64(most) {
		return false
	}
	p.Put(key, []byte(since+" "+number(n+1)))
	return true
}

// deliver puts a message into the inbox of an instance and wakes it.
func (p *partition) deliver(i store.Instance, r *store.Lifecycle, m store.Message) {
	before := *r
	r.Mail++
	p.Put(p.key(i, "inbox/"+number(r.Mail)), m)
	p.wake(r)
	p.put(i, &before, r)
}

// wake makes an instance ready, before all that is new, unless somebody holds it, who will be told, or it is
// quarantined: messages do not end that.
func (p *partition) wake(r *store.Lifecycle) {
	if !r.Held() && r.Ready >= 0 && r.Reason != store.Quarantined {
		r.Ready = p.now - store.Urgency
	}
}

// load returns everything of an instance but inbox, history and payloads.
func (p *partition) load(i store.Instance, r store.Lifecycle) store.Loaded {
	l := store.Loaded{Lifecycle: r, State: interpreter.StoredState{Frames: map[interpreter.FrameKey][]byte{}}}
	get := func(part string) []byte {
		value, _ := p.Get(p.key(i, part))
		return clone(value)
	}
	l.Invocation, l.State.Head, l.State.Context = get("info"), get("head"), get("context")
	prefix := p.key(i, "frame/")
	p.Scan(prefix, prefix, func(key string, value []byte) bool {
		id, _ := strconv.Atoi(strings.TrimPrefix(key, prefix)) // written by apply
		l.State.Frames[interpreter.FrameKey(id)] = clone(value)
		return true
	})
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

// apply stores the changes of a commit.
func (p *partition) apply(i store.Instance, c interpreter.Changes) {
	if c.Head != nil {
		p.Put(p.key(i, "head"), c.Head)
	}
	if c.Context != nil {
		p.Put(p.key(i, "context"), c.Context)
	}
	for _, f := range c.Frames {
		p.Put(p.key(i, "frame/"+strconv.Itoa(int(f.Key))), f.Data)
	}
	for _, id := range c.Ended {
		p.Delete(p.key(i, "frame/"+strconv.Itoa(int(id))))
	}
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
