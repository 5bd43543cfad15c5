package kvstore

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/swrun/swrun/runtime/store"
)

// Poll implements store.Reader.
func (s *Store) Poll(_ context.Context, of, n int, expired bool) (w store.Work, err error) {
	writes := s.writes[of].Load() // before it is read
	err = s.view(of, func(p *partition) error {
		w = p.poll(of, n, expired)
		w.Writes = writes
		return nil
	})
	return w, err
}

// Written implements store.Reader.
func (s *Store) Written(context.Context) (all []store.Written, err error) {
	err = s.db.View(func(tx Tx) error {
		for n := range s.writes {
			all = append(all, store.Written{Writes: s.writes[n].Load(), At: store.Moment(s.partition(tx, n).now)})
		}
		return nil
	})
	return all, err
}

// Drift implements store.Reader. A record and its index are changed in one transaction, and comparing them would mean
// to read them all: what differs all the same is left to Scrub.
func (s *Store) Drift(context.Context, store.Drift) (store.Drifted, error) {
	return store.Drifted{}, nil
}

func (p *partition) poll(of, n int, expired bool) store.Work {
	w := store.Work{At: store.Moment(p.now)}
	p.first("ready/", n, func(at int64, i store.Instance) bool {
		if at < 0 {
			w.Begun++
		}
		w.Ready = append(w.Ready, i)
		return true
	})
	p.first("due/", n+1, func(at int64, i store.Instance) bool {
		switch {
		case at == never:
		case at > p.now || len(w.Due) == n:
			w.Next = store.Moment(at)
		default:
			w.Due = append(w.Due, i)
			return true
		}
		return false
	})
	if expired {
		w.Expired, w.Closed = p.closed(n)
	}
	w.Outbox = p.outbox(of, 0, n)
	return w
}

// outbox returns entries of the outbox from a number on.
func (p *partition) outbox(of int, from int64, n int) (all []store.Outgoing) {
	prefix := p.prefix + "outbox/"
	p.Scan(prefix, prefix+number(from), func(key string, value []byte) bool {
		id := fmt.Sprintf("%d-%d", of, parseNumber(strings.TrimPrefix(key, prefix)))
		all = append(all, store.Outgoing{ID: id, Data: clone(value)})
		return len(all) < n
	})
	return all
}

// Outbox implements store.Reader.
func (s *Store) Outbox(_ context.Context, of int, after string, n int) (all []store.Outgoing, err error) {
	err = s.view(of, func(p *partition) error {
		_, last := cutLast(after)
		behind, _ := strconv.ParseInt(last, 10, 64) // 0 for none: entries count from 1
		all = p.outbox(of, behind+1, n)
		return nil
	})
	return all, err
}

// closed returns the instances that closed first, and when the first of them did.
func (p *partition) closed(n int) (all []store.Instance, first time.Time) {
	p.first("closed/", n, func(at int64, i store.Instance) bool {
		if all == nil {
			first = store.Moment(at)
		}
		all = append(all, i)
		return true
	})
	return all, first
}

// first calls f with the first entries of an index.
func (p *partition) first(index string, n int, f func(int64, store.Instance) bool) {
	prefix := p.prefix + index
	p.Scan(prefix, prefix, func(key string, _ []byte) bool {
		n--
		return n >= 0 && f(indexed(key, prefix))
	})
}

func cutLast(id string) (before, last string) {
	at := strings.LastIndexByte(id, '-')
	return id[:max(at, 0)], id[at+1:]
}

// slotKey writes a slot (time-number) so that keys sort like slots.
func slotKey(slot string) string {
	at, n, _ := strings.Cut(slot, "-")
	first, _ := strconv.ParseInt(at, 10, 64) // slots are written by Start
	second, _ := strconv.ParseInt(n, 10, 64)
	return number(first) + "-" + number(second)
}

// Load implements store.Reader.
func (s *Store) Load(_ context.Context, i store.Instance) (l store.Loaded, err error) {
	err = s.view(s.of(i), func(p *partition) error {
		r, ok, err := p.record(i)
		if err != nil {
			return err
		}
		if !ok {
			return p.refuse(store.NoSuch, i)
		}
		l = p.load(i, r)
		return nil
	})
	return l, err
}

// List implements store.Reader.
func (s *Store) List(_ context.Context, of int, cursor string, n int) (page store.Page, err error) {
	err = s.view(of, func(p *partition) error {
		prefix := p.prefix + "index/"
		to := prefix + cursor
		if cursor == "" {
			to = prefix + "~"
		}
		looked := 0
		p.ScanBack(prefix, to, func(key string, _ []byte) bool {
			slot, name, _ := strings.Cut(strings.TrimPrefix(key, prefix), "/")
			if looked == n {
				return false
			}
			looked++
			i := instanceOf(name)
			if r, ok, err := p.record(i); ok && err == nil { // otherwise scrub tells
				info, _ := p.Get(p.key(i, "info"))
				page.Items = append(page.Items, store.Listed{Instance: i, Lifecycle: r, Invocation: clone(info)})
			}
			page.Cursor = slot + "/"
			return true
		})
		if looked < n {
			page.Cursor = ""
		}
		return nil
	})
	return page, err
}

// Upcoming implements store.Reader.
func (s *Store) Upcoming(_ context.Context, of int, until time.Time) (all []store.Instance, err error) {
	err = s.view(of, func(p *partition) error {
		for _, index := range []string{"ready/", "due/"} {
			p.first(index, math.MaxInt, func(at int64, i store.Instance) bool {
				if at > until.UnixMilli() {
					return false
				}
				all = append(all, i)
				return true
			})
		}
		return nil
	})
	return all, err
}

// History implements store.Reader.
func (s *Store) History(_ context.Context, i store.Instance, from, n int) (all []store.StoredEntry, err error) {
	err = s.view(s.of(i), func(p *partition) error {
		if _, ok, err := p.record(i); err != nil || !ok {
			return either(err, p.refuse(store.NoSuch, i))
		}
		prefix := p.key(i, "history/")
		var bad error
		p.Scan(prefix, prefix+number(int64(from)+1), func(_ string, value []byte) bool {
			if len(all) == n {
				return false
			}
			var entry store.StoredEntry
			entry, bad = store.ParseEntry(clone(value))
			all = append(all, entry)
			return bad == nil
		})
		return bad
	})
	return all, err
}

// either returns the first error that there is.
func either(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// Payload implements store.Reader.
func (s *Store) Payload(_ context.Context, i store.Instance, ref string) (data []byte, err error) {
	err = s.view(s.of(i), func(p *partition) error {
		value, ok := p.Get(p.key(i, "payload/"+ref))
		if !ok {
			return store.Refuse(store.NoSuch, store.Moment(p.now), "payload %s of instance %s", ref, i)
		}
		data = clone(value)
		return nil
	})
	return data, err
}

// Definition implements store.Catalog.
func (s *Store) Definition(_ context.Context, key string) (data []byte, err error) {
	err = s.view(0, func(p *partition) error {
		value, ok := p.Get(definitionPrefix + key)
		if !ok {
			return store.Refuse(store.NoSuch, store.Moment(p.now), "definition %s", key)
		}
		data = clone(value)
		return nil
	})
	return data, err
}

// Definitions implements store.Catalog.
func (s *Store) Definitions(context.Context) (keys []string, err error) {
	err = s.view(0, func(p *partition) error {
		p.Scan(definitionPrefix, definitionPrefix, func(key string, _ []byte) bool {
			keys = append(keys, strings.TrimPrefix(key, definitionPrefix))
			return true
		})
		return nil
	})
	return keys, err
}

// Define implements store.Catalog.
func (s *Store) Define(_ context.Context, key string, data []byte) error {
	return s.update(0, func(p *partition) error {
		kept, ok := p.Get(definitionPrefix + key)
		if ok && string(kept) != string(data) {
			return store.Refuse(store.Conflict, store.Moment(p.now), "definition %s", key)
		}
		p.Put(definitionPrefix+key, data)
		return nil
	})
}

// Statistics implements store.Reader.
func (s *Store) Statistics(_ context.Context, of int) (st store.Statistics, err error) {
	err = s.view(of, func(p *partition) error {
		st.Repairs, st.Jumps = p.counter("repairs"), p.counter("jumps")
		for prefix, count := range map[string]*int64{"ready/": &st.Ready, "due/": &st.Waiting, "closed/": &st.Closed, "outbox/": &st.Outbox} {
			p.Scan(p.prefix+prefix, p.prefix+prefix, func(string, []byte) bool {
				*count++
				return true
			})
		}
		return nil
	})
	return st, err
}

// Layout implements store.Reader.
func (s *Store) Layout() store.Layout { return s.layout }
