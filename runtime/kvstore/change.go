package kvstore

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// transition makes an operation of a run happen. Its error is a refusal that comes before the first write.
func (p *partition) transition(i store.Instance, op store.Operation) (*store.Change, error) {
	r, err := p.record(i)
	if err != nil {
		return nil, err
	}
	change, code := op.Transition(r, p.now)
	if code == "" && !change.Done {
		code = change.Check(p.now)
	}
	if code == "" && !change.Done && !p.hasActivities(i, change) {
		code = store.Conflict
	}
	if code == "" && !change.Done && !change.Asked.HasRoom(p.asked(&change.Asked)) {
		code = store.TooMany
	}
	if code != "" {
		return nil, p.refuse(code, i)
	}
	if !change.Done {
		p.write(i, change)
	}
	return change, nil
}

// write stores a change.
func (p *partition) write(i store.Instance, c *store.Change) {
	to := c.To
	if c.From == nil || c.Invocation != nil {
		p.Put(p.key(i, "info"), c.Invocation)
	}
	if c.From == nil {
		p.Put(p.indexKey(i, to.Created), nil)
	} else if old := c.From.Place(); old != to.Place() {
		p.Delete(p.placeKey(i, old))
	}
	p.Put(p.key(i, "record"), []byte(to.String()))
	p.Put(p.placeKey(i, to.Place()), []byte(to.Owner))
	p.count(i, c)
	p.replaceEntries(p.needKey, c.NeedEntries, i)
	p.replaceEntries(p.listenerKey, c.ListenEntries, i)
	if to.Held() && to.Lease.After(p.lease(to.Owner)) {
		p.setLease(to.Owner, to.Lease)
	}
	p.putState(i, c.State)
	p.putEntries(i, c)
	for ref, data := range c.Payloads {
		p.Put(p.key(i, "payload/"+ref), data)
	}
	for _, data := range c.Outbox {
		p.Put(p.prefix+"outbox/"+number(p.nextOutgoing()), data)
	}
	p.countAsked(&c.Asked)
	p.putMessages(i, c)
	p.putActivities(i, c)
	if c.ID != "" {
		p.remember(c.ID, store.Remembered)
	}
}

// nextOutgoing returns the number of the next entry of the outbox. It is above the numbers of all entries, even if the counter was
// overwritten.
func (p *partition) nextOutgoing() int64 {
	prefix, last := p.prefix+"outbox/", int64(0)
	p.ScanBack(prefix, prefix+"~", func(key string, _ []byte) bool {
		last = parseNumber(strings.TrimPrefix(key, prefix))
		return last == 0 // no store has written the key
	})
	if p.counter("outbox-last") < last {
		p.setCounter("outbox-last", last)
	}
	return p.next("outbox-last")
}

// replaceEntries applies the removals and additions of a change to an index; key returns the key of an entry.
func (p *partition) replaceEntries(key func(entry string) string, entries func(store.Instance) (removed, added []string), i store.Instance) {
	removed, added := entries(i)
	for _, entry := range removed {
		p.Delete(key(entry))
	}
	for _, entry := range added {
		p.Put(key(entry), nil)
	}
}

// count updates the counters for a change of a run.
func (p *partition) count(i store.Instance, c *store.Change) {
	if c.ChangesQuarantine() {
		p.countQuarantined(i, &c.To)
	}
	if c.ChangesRetry() {
		p.countRetry(i, &c.To)
	}
}

// countQuarantined adds a run to the quarantined runs, or removes it, according to its record.
func (p *partition) countQuarantined(i store.Instance, r *store.Lifecycle) {
	if r.Reason == store.Quarantined {
		p.Put(p.quarantinedKey(i), nil)
	} else {
		p.Delete(p.quarantinedKey(i))
	}
}

// countRetry adds a run to the runs that retry a task, or removes it, according to its record.
func (p *partition) countRetry(i store.Instance, r *store.Lifecycle) {
	if retry := r.Retry(); retry == store.NotRetried {
		p.Delete(p.retryKey(i))
	} else {
		p.Put(p.retryKey(i), retryValue(retry))
	}
}

func retryValue(r store.Retry) []byte { return []byte{'0' + byte(r)} }

func (p *partition) putEntries(i store.Instance, c *store.Change) {
	for n, e := range c.History {
		p.Put(p.key(i, "history/"+number(int64(n)+1)), []byte(e.String()))
	}
	for n, data := range c.Entries {
		entry := fmt.Appendf(nil, "%d %d %s ", store.Millis(p.now), c.To.Epoch, c.To.Nonce)
		p.Put(p.key(i, "history/"+number(c.From.Entries+int64(n)+1)), append(entry, data...))
	}
}

func (p *partition) putMessages(i store.Instance, c *store.Change) {
	if c.Message != nil {
		p.Put(p.key(i, "mail"), strconv.AppendInt(nil, c.To.Mail, 10))
		p.Put(p.key(i, "inbox/"+number(c.To.Mail)), c.Message)
	}
	if c.From == nil && c.To.Mail > 0 {
		p.Put(p.key(i, "mail"), strconv.AppendInt(nil, c.To.Mail, 10))
	}
	for n, m := range c.Messages {
		p.Put(p.key(i, "inbox/"+number(c.To.Read+int64(n)+1)), m)
	}
	for n := range c.Consumed {
		p.Delete(p.key(i, "inbox/"+number(c.From.Read+int64(n)+1)))
	}
	if c.To.Status.Final() {
		p.deleteAll(p.key(i, "inbox/"))
	}
}

// putState stores the changes of the state.
func (p *partition) putState(i store.Instance, c interpreter.Changes) {
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

// seen reports whether an operation has been done.
func (p *partition) seen(id string) bool {
	_, ok := p.Get(p.prefix + "seen/" + id)
	return ok
}

// remember notes for a while that an operation has been done. Those are forgotten together that were done long enough ago.
func (p *partition) remember(id string, while time.Duration) {
	now := store.Millis(p.now.Add(while - store.Remembered))
	p.Put(p.prefix+"seen/"+id, strconv.AppendInt(nil, now, 10))
	p.Put(p.prefix+"seen-at/"+number(now)+"/"+id, nil)
	p.forget(2) // so that there are never more than come in a day
}

// countFamily counts one more run of a family, unless as many have started on this day as may.
func (p *partition) countFamily(c *store.Start) bool {
	name := familyKey(p.now, c.Family.String())
	n := p.counter(name)
	if n >= int64(c.FamilyMax) {
		return false
	}
	p.setCounter(name, n+1)
	return true
}

// familyKey returns the name of a counter of families, on the day of a time.
func familyKey(now time.Time, of string) string { return "family/" + number(store.Day(now)) + "/" + of }

// asked returns how many were asked for on this day.
func (p *partition) asked(a *store.Asked) int64 {
	if a.N == 0 {
		return 0
	}
	return p.everywhere().counter(familyKey(p.now, a.Key()))
}

// countAsked counts the requests of a commit.
func (p *partition) countAsked(a *store.Asked) {
	if a.N > 0 {
		p.everywhere().setCounter(familyKey(p.now, a.Key()), p.asked(a)+int64(a.N))
	}
}

// everywhere returns the partition that keeps the data common to all partitions.
func (p *partition) everywhere() *partition {
	return &partition{Tx: p.Tx, prefix: prefixOf(0), now: p.now}
}
