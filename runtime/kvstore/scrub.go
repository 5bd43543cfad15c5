package kvstore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/swrun/swrun/runtime/store"
)

// Scrub implements store.Store.
func (s *Store) Scrub(ctx context.Context, c store.Scrub) (done store.Scrubbed, err error) {
	scrub := func(n int, f func(*partition) error) error { return s.update(ctx, n, f) }
	if c.Check {
		scrub = s.view
	}
	err = scrub(c.Partition, func(p *partition) error {
		if c.Check {
			p.Tx = unchanged{p.Tx}
		}
		if c.Registry {
			p.scrubRegistry(&c, &done)
			return nil
		}
		adopt := c.Adopt && !c.Loss // it loses no writes
		done = store.Scrubbed{Adopted: adopt}
		if isAfterRuns(c.Cursor) {
			p.scrubRest(&c, c.Cursor, &done)
			adopt = false // all runs were adopted before: runs that were claimed since must not be taken away
		} else {
			p.scrubRuns(&c, &done)
		}
		if c.Cursor == "" && c.Only == nil {
			p.scrubLost(&done)
			p.scrubStrays(&done)
		}
		if adopt {
			p.deleteAll(p.prefix + "lease/")
		}
		p.forget(1000)
		p.forgetFamilies()
		p.setCounter("repairs", p.counter("repairs")+int64(len(done.Repaired)))
		return nil
	})
	return done, err
}

// isAfterRuns reports whether a cursor is behind the list of runs: in the listener index, or in the data of runs.
func isAfterRuns(cursor string) bool {
	return strings.HasPrefix(cursor, listenersPart) || strings.HasPrefix(cursor, unlistedPart)
}

// scrubRest checks a page of what follows the list of runs, and the next page after the end of the listener index.
func (p *partition) scrubRest(c *store.Scrub, cursor string, done *store.Scrubbed) {
	if after, listeners := strings.CutPrefix(cursor, listenersPart); listeners {
		if p.scrubListeners(after, c.N, done); done.Cursor != "" {
			return
		}
		cursor = unlistedPart
	}
	p.scrubUnlisted(strings.TrimPrefix(cursor, unlistedPart), c.N, done)
}

// scrubRuns compares a page of runs with the sets, and the first listeners after the last run.
func (p *partition) scrubRuns(c *store.Scrub, done *store.Scrubbed) {
	prefix := p.prefix + "index/"
	var keys []string
	p.Scan(prefix, prefix+c.Cursor, func(key string, _ []byte) bool {
		if len(keys) == c.N {
			done.Cursor = strings.TrimPrefix(key, prefix)
			return false
		}
		keys = append(keys, key)
		return true
	})
	for _, key := range keys {
		if _, i := indexed(key, prefix); c.Chooses(i) && !p.removeEmpty(key, i, done) {
			p.scrub(i, done)
			p.scrubActivities(i, done)
		}
	}
	if done.Cursor == "" && c.Only == nil {
		p.scrubRest(c, listenersPart, done)
	}
}

// scrubListeners checks a page of the listener index, from a cursor on, and removes entries without a matching record. No transition
// creates such an entry; it results from a manual change of the store.
func (p *partition) scrubListeners(from string, n int, done *store.Scrubbed) {
	prefix := p.prefix + listenersPart
	var entries []string
	p.Scan(prefix, prefix+from, func(key string, _ []byte) bool {
		entry := strings.TrimPrefix(key, prefix)
		if len(entries) == n {
			done.Cursor = listenersPart + entry
			return false
		}
		entries = append(entries, entry)
		return true
	})
	for _, entry := range entries {
		_, i, _, _ := store.ParseListenEntry(entry) // an unreadable entry matches no record
		if r, err := p.record(i); err == nil && (r == nil || !slices.Contains(r.ListenEntries(i), entry)) {
			p.Delete(p.listenerKey(entry))
			done.Repaired = append(done.Repaired, store.LeftListening(i, entry))
		}
	}
}

// scrubUnlisted looks through the data of a page of runs, from a cursor on, and adds the readable runs to the list of runs that it lacks. No
// transition removes such an entry alone; it results from a manual change of the store.
func (p *partition) scrubUnlisted(from string, n int, done *store.Scrubbed) {
	prefix := p.prefix + "i/"
	next := prefix + from
	for range n {
		name := ""
		p.Scan(prefix, next, func(key string, _ []byte) bool {
			name = runOf(strings.TrimPrefix(key, prefix))
			return false
		})
		if name == "" {
			return
		}
		next = prefix + name + "0" // 0 follows the slash
		i := store.InstanceOf(name)
		r, err := p.lifecycle(i)
		if r == nil || err != nil || !p.here(i) {
			continue
		}
		if _, listed := p.Get(p.indexKey(i, r.Created)); listed {
			continue
		}
		p.Put(p.indexKey(i, r.Created), nil)
		done.Repaired = append(done.Repaired, fmt.Sprintf("%s: was missing in the list of runs", i))
		p.scrub(i, done)
		p.scrubActivities(i, done)
	}
	done.Cursor = unlistedPart + strings.TrimPrefix(next, prefix)
}

// runOf returns the name of a run at the beginning of a key: the namespace, a slash and the id.
func runOf(key string) string {
	namespace, rest, _ := strings.Cut(key, "/")
	id, _, _ := strings.Cut(rest, "/")
	return namespace + "/" + id
}

// unchanged is a transaction of which nothing is written.
type unchanged struct{ Tx }

func (unchanged) Put(string, []byte) {}

func (unchanged) Delete(string) {}

// scrub compares one run with the sets.
func (p *partition) scrub(i store.Instance, done *store.Scrubbed) {
	adopt := done.Adopted
	done.Compared++
	l, _, err := p.claimable(i)
	if p.scrubUnreadable(i, err, done); err != nil {
		return
	}
	r := &l.Lifecycle
	if r.Held() && p.lease(r.Owner).IsZero() { // the end of its lease would never be seen
		adopt = true
		done.Repaired = append(done.Repaired, fmt.Sprintf("%s: was held by %s, which has no lease", i, r.Owner))
	}
	if adopt {
		change, _ := store.Adoption().Transition(r, p.now) // it is there
		p.write(i, change)
		r = &change.To
	}
	if _, counted := p.Get(p.quarantinedKey(i)); counted != (r.Reason == store.Quarantined) {
		p.countQuarantined(i, r)
		done.Repaired = append(done.Repaired, fmt.Sprintf("%s: whether it is quarantined was counted wrongly", i))
	}
	if counted, _ := p.Get(p.retryKey(i)); r.Retry() == store.NotRetried && counted != nil || r.Retry() != store.NotRetried && string(counted) != string(retryValue(r.Retry())) {
		p.countRetry(i, r)
		done.Repaired = append(done.Repaired, fmt.Sprintf("%s: whether it is tried again was counted wrongly", i))
	}
	if p.addMissing(p.needKey, r.NeedEntries(i)) {
		done.Repaired = append(done.Repaired, fmt.Sprintf("%s: was missing in the index of needs", i))
	}
	if p.addMissing(p.listenerKey, r.ListenEntries(i)) {
		done.Repaired = append(done.Repaired, fmt.Sprintf("%s: was missing in the listener index", i))
	}
	place := p.placeKey(i, r.Place())
	if _, ok := p.Get(place); !ok {
		p.Put(place, []byte(r.Owner))
		done.Repaired = append(done.Repaired, fmt.Sprintf("%s: was missing in %s", i, r.Place().Set))
	}
}

// scrubStrays removes keys that count runs and name no run of the partition. No
// transition creates such a key; it results from a manual change of the store. A key of unreadable runs may name a run that was removed.
func (p *partition) scrubStrays(done *store.Scrubbed) {
	for _, part := range []string{quarantinedPart, retryingPart, unreadablePart} {
		prefix := p.prefix + part
		var strays []string
		p.Scan(prefix, prefix, func(key string, _ []byte) bool {
			name := strings.TrimPrefix(key, prefix)
			i := store.InstanceOf(name)
			_, there := p.Get(p.key(i, "record"))
			if name != i.String() || !p.here(i) || !there && part != unreadablePart {
				strays = append(strays, name)
			}
			return true
		})
		for _, name := range strays {
			p.Delete(prefix + name)
			done.Repaired = append(done.Repaired, fmt.Sprintf("%q stood in %s, and names no run", name, strings.TrimSuffix(part, "/")))
		}
	}
}

// addMissing adds the entries that are missing in an index, and reports whether there were any; key returns the key of an entry.
func (p *partition) addMissing(key func(entry string) string, entries []string) (found bool) {
	for _, entry := range entries {
		if _, ok := p.Get(key(entry)); !ok {
			p.Put(key(entry), nil)
			found = true
		}
	}
	return found
}

// forget deletes up to n operations that need not be remembered any longer.
func (p *partition) forget(n int) {
	prefix := p.prefix + "seen-at/"
	var old []string
	p.Scan(prefix, prefix, func(key string, _ []byte) bool {
		at, _, _ := strings.Cut(strings.TrimPrefix(key, prefix), "/")
		if p.now.Sub(store.Moment(parseNumber(at))) < store.Remembered || len(old) == n {
			return false
		}
		old = append(old, key)
		return true
	})
	for _, key := range old {
		_, id, _ := strings.Cut(strings.TrimPrefix(key, prefix), "/")
		p.Delete(key)
		p.Delete(p.prefix + "seen/" + id)
	}
}

// forgetFamilies deletes the counts of families of earlier days.
func (p *partition) forgetFamilies() {
	prefix := p.prefix + "family/"
	today := prefix + number(store.Day(p.now)) + "/"
	var old []string
	p.Scan(prefix, prefix, func(key string, _ []byte) bool {
		if !strings.HasPrefix(key, today) {
			old = append(old, key)
		}
		return true
	})
	for _, key := range old {
		p.Delete(key)
	}
}
