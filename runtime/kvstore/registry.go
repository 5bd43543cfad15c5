package kvstore

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/swrun/swrun/runtime/store"
)

// registryPrefix returns the prefix of the keys of a kind's entries, and endsPrefix the prefix of the keys that record their ends.
func registryPrefix(k store.RegistryKind) string { return "registry/" + string(k) + "/" }

const endsPrefix = "registry-ends/"

// endsKey returns the key that records the end of an entry.
func endsKey(k store.RegistryKind, r *store.Registered) string {
	return endsPrefix + number(store.Millis(r.Ends)) + "/" + string(k) + "/" + r.Key
}

// Register implements store.Registry.
func (s *Store) Register(ctx context.Context, c store.Registration) (done store.Registered, err error) {
	if err := c.Check(); err != nil {
		return done, err
	}
	err = s.quietly(ctx, 0, func(p *partition) error {
		is, there, err := p.registered(c.Kind, c.Key)
		if err != nil && c.Version != store.AnyVersion { // otherwise damaged entries are replaced, too
			return err
		}
		if c.Version != store.AnyVersion && c.Version != is.Version {
			return store.Refuse(store.Conflict, p.now, "%s", c.Kind.EntryName(c.Key))
		}
		if err := p.room(&c); !there && err != nil {
			return err
		}
		p.forgetRegistered(2) // so that there are never more than are registered within their time
		p.unregister(c.Kind, c.Key)
		done = store.Registered{Key: c.Key, Value: clone(c.Value), Version: p.next("registry-version"), Ends: c.Ends(p.now), At: p.now}
		p.countRegistered(c.Kind, 1)
		p.Put(registryPrefix(c.Kind)+c.Key, fmt.Appendf(nil, "%d %d %s", done.Version, store.Millis(done.Ends), c.Value))
		if !done.Ends.IsZero() {
			p.Put(endsKey(c.Kind, &done), nil)
		}
		return nil
	})
	return done, err
}

// Unregister implements store.Registry.
func (s *Store) Unregister(ctx context.Context, kind store.RegistryKind, key string, version int64) error {
	if err := kind.CheckKey(key); err != nil {
		return err
	}
	return s.quietly(ctx, 0, func(p *partition) error {
		is, there, err := p.registered(kind, key)
		if there && version != store.AnyVersion && (err != nil || version != is.Version) {
			return store.Refuse(store.Conflict, p.now, "%s", kind.EntryName(key))
		}
		p.unregister(kind, key)
		return nil
	})
}

// Registered implements store.Registry.
func (s *Store) Registered(_ context.Context, kind store.RegistryKind, key string) (found store.Registered, err error) {
	if err := kind.CheckKey(key); err != nil {
		return found, err
	}
	err = s.view(0, func(p *partition) error {
		is, there, err := p.registered(kind, key)
		if err == nil && !there {
			err = store.Refuse(store.NoSuch, p.now, "%s", strings.TrimPrefix(kind.EntryName(key), "the "))
		}
		found, found.At = is, p.now
		return err
	})
	return found, err
}

// ListRegistered implements store.Registry.
func (s *Store) ListRegistered(_ context.Context, c store.RegistryList) (all []store.Registered, err error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	err = s.view(0, func(p *partition) error {
		prefix := registryPrefix(c.Kind)
		p.Scan(prefix+c.Prefix, prefix+max(c.Prefix, c.After), func(key string, value []byte) bool {
			if key = strings.TrimPrefix(key, prefix); !c.Has(key) {
				return true
			}
			one, err := parseRegistered(c.Kind, key, value)
			if err != nil {
				one = store.Registered{Key: key, Damaged: err}
			}
			if !one.Gone(p.now) {
				all = append(all, one)
			}
			return c.N == 0 || len(all) < c.N
		})
		all = c.Select(all, p.now)
		return nil
	})
	return all, err
}

// registered returns an entry, if it is there.
func (p *partition) registered(kind store.RegistryKind, key string) (store.Registered, bool, error) {
	value, ok := p.Get(registryPrefix(kind) + key)
	if !ok {
		return store.Registered{}, false, nil
	}
	r, err := parseRegistered(kind, key, value)
	if err != nil || r.Gone(p.now) {
		return store.Registered{}, err != nil, err
	}
	return r, true, nil
}

// parseRegistered reads an entry: its version, when it ends, and its value.
func parseRegistered(kind store.RegistryKind, key string, stored []byte) (store.Registered, error) {
	version, rest, _ := bytes.Cut(stored, []byte{' '})
	ends, value, ok := bytes.Cut(rest, []byte{' '})
	v, err := strconv.ParseInt(string(version), 10, 64)
	if !ok || err != nil {
		return store.Registered{}, &store.Refusal{Code: store.Corrupt, Detail: kind.EntryName(key)}
	}
	return store.Registered{Key: key, Value: clone(value), Version: v, Ends: store.Moment(parseNumber(string(ends)))}, nil
}

// unregister deletes an entry, whether it is there or not.
func (p *partition) unregister(kind store.RegistryKind, key string) {
	name := registryPrefix(kind) + key
	value, ok := p.Get(name)
	if !ok {
		return
	}
	if r, err := parseRegistered(kind, key, value); err == nil && !r.Ends.IsZero() {
		p.Delete(endsKey(kind, &r))
	}
	p.Delete(name)
	p.countRegistered(kind, -1)
}

func (p *partition) countRegistered(kind store.RegistryKind, more int64) {
	name := "registry-count/" + string(kind)
	p.setCounter(name, p.counter(name)+more)
}

// room returns the refusal of a new entry for which there is no room.
func (p *partition) room(c *store.Registration) error {
	room := c.Room()
	all, own, full := p.counted(&room)
	if full {
		p.forgetRegistered(maxForgotten)
		all, own, full = p.counted(&room)
	}
	if full {
		return room.Refuse(all, own, p.now)
	}
	return nil
}

// maxForgotten is how many entries that ended are deleted to make room.
const maxForgotten = 2 * store.MaxRegistered

// counted returns the number of entries of a kind and of its namespace, and whether there is no room for another one.
func (p *partition) counted(room *store.Room) (all, own int64, full bool) {
	if !room.Kind.Listed() {
		return 0, 0, false
	}
	all = p.counter("registry-count/" + string(room.Kind))
	if prefix := room.Prefix(); prefix != "" && all >= store.MaxRegistered {
		prefix = registryPrefix(room.Kind) + prefix
		p.Scan(prefix, prefix, func(string, []byte) bool { own++; return true })
	}
	return all, own, room.Full(all, own)
}

// forgetRegistered deletes at most n entries that are not there any more, the oldest first.
func (p *partition) forgetRegistered(n int) {
	var gone []string
	p.Scan(endsPrefix, endsPrefix, func(key string, _ []byte) bool {
		ends, _, _ := strings.Cut(strings.TrimPrefix(key, endsPrefix), "/")
		if len(gone) == n || parseNumber(ends) > store.Millis(p.now) {
			return false
		}
		gone = append(gone, key)
		return true
	})
	for _, key := range gone {
		_, name, _ := strings.Cut(strings.TrimPrefix(key, endsPrefix), "/")
		kind, entry, _ := strings.Cut(name, "/")
		if _, there, err := p.registered(store.RegistryKind(kind), entry); !there || err != nil { // otherwise it was registered again after it was damaged
			p.unregister(store.RegistryKind(kind), entry)
		}
		p.Delete(key) // a damaged entry does not contain its end
	}
}

// scrubRegistry corrects the numbers of entries, and adds the missing keys that record their ends. A wrong number may refuse every new entry;
// an entry without such a key is never deleted. No transition causes this; it results from manual changes.
func (p *partition) scrubRegistry(c *store.Scrub, done *store.Scrubbed) {
	if c.Only != nil || c.Partition > 0 {
		return
	}
	for _, kind := range store.RegistryKinds() {
		if kind.Listed() {
			p.recount(kind, done)
		}
	}
	if n := len(done.Repaired); n > 0 {
		p.setCounter("repairs", p.counter("repairs")+int64(n))
	}
}

// recount is scrubRegistry for one kind.
func (p *partition) recount(kind store.RegistryKind, done *store.Scrubbed) {
	prefix, count := registryPrefix(kind), int64(0)
	var lost []store.Registered
	p.Scan(prefix, prefix, func(key string, value []byte) bool {
		count++
		r, err := parseRegistered(kind, strings.TrimPrefix(key, prefix), value)
		if err != nil || r.Ends.IsZero() {
			return true
		}
		if _, ok := p.Get(endsKey(kind, &r)); !ok {
			lost = append(lost, r)
		}
		return true
	})
	for n := range lost {
		p.Put(endsKey(kind, &lost[n]), nil)
		done.Repaired = append(done.Repaired, kind.EntryName(lost[n].Key)+" was missing in the index of ends")
	}
	if counted := p.counter("registry-count/" + string(kind)); counted != count {
		p.setCounter("registry-count/"+string(kind), count)
		done.Repaired = append(done.Repaired, fmt.Sprintf("the number of %s was counted wrongly", kind))
	}
}
