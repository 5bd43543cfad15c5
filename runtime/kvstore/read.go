package kvstore

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// Poll implements store.Reader.
func (s *Store) Poll(_ context.Context, of, n int, expired bool) (w store.Work, err error) {
	s.passed[of].Retry()
	writes := s.writes[of].Load() // before it is read
	err = s.view(of, func(p *partition) error {
		w = p.poll(of, n, expired)
		w.Writes = writes
		p.passed.Leave(n, &w)
		return nil
	})
	return w, err
}

// Written implements store.Reader.
func (s *Store) Written(context.Context) (all []store.Written, err error) {
	err = s.db.View(func(tx Tx) error {
		for n := range s.writes {
			p := s.partition(tx, n)
			w := store.Written{Writes: s.writes[n].Load(), At: p.now}
			p.leases(func(_ string, ends time.Time) { w.Lease = interpreter.Earlier(w.Lease, ends) })
			all = append(all, w)
		}
		return nil
	})
	return all, err
}

// Drift implements store.Reader. A record and its index are changed in one transaction, and comparing them would require reading all of
// them. Scrub finds remaining differences.
func (s *Store) Drift(context.Context, store.Drift) (store.Drifted, error) {
	return store.Drifted{}, nil
}

func (p *partition) poll(of, n int, expired bool) store.Work {
	w := store.Work{At: p.now, Begun: p.offered(store.SetBegun, n), New: p.offered(store.SetNew, n)}
	far := n + p.passed.Len()
	for _, set := range []store.Set{store.SetWaiting, store.SetHeld} {
		p.due(set, far, &w)
	}
	p.leases(func(worker string, ends time.Time) {
		if ends.After(p.now) {
			w.Lease = interpreter.Earlier(w.Lease, ends)
		} else {
			w.AddEnded(worker, p.heldBy(worker, far))
		}
	})
	if expired {
		w.Expired = p.first(store.SetClosed, far, every)
		p.scan(store.SetClosed, func(at time.Time, _ store.Instance) bool {
			w.Closed = at
			return false
		})
	}
	w.Outbox, w.Needs = p.outbox(of, 0, n), p.needs(n)
	p.dueActivities(n, &w)
	return w
}

// due adds the due runs of a set to the work, as long as there are less than n.
func (p *partition) due(set store.Set, n int, w *store.Work) {
	p.scan(set, func(at time.Time, i store.Instance) bool {
		switch {
		case at.IsZero():
		case at.After(p.now) || len(w.Due) >= n:
			w.Next = interpreter.Earlier(w.Next, at)
		default:
			w.Due = append(w.Due, i)
			return true
		}
		return false
	})
}

// outbox returns entries of the outbox from a number on.
func (p *partition) outbox(of int, from int64, n int) (all []store.Outgoing) {
	prefix := p.prefix + "outbox/"
	p.Scan(prefix, prefix+number(from), func(key string, value []byte) bool {
		text := strings.TrimPrefix(key, prefix)
		if n := parseNumber(text); number(n) == text { // any other key is a stray one
			all = append(all, store.Outgoing{ID: fmt.Sprintf("%d-%d", of, n), Data: clone(value)})
		}
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

// offered returns the first runs of a set of ready runs, and after them the runs that were passed over.
func (p *partition) offered(set store.Set, n int) []store.Instance {
	if p.passed.Len() == 0 {
		return p.first(set, n, every)
	}
	first := p.first(set, n, func(i store.Instance) bool { return !p.passed.Has(i) })
	return append(first, p.first(set, n-len(first), p.passed.Has)...)
}

// every chooses all runs.
func every(store.Instance) bool { return true }

// first returns the first chosen runs of a set: of a set of ready runs, fairly from all namespaces.
func (p *partition) first(set store.Set, n int, chosen func(store.Instance) bool) []store.Instance {
	if !isClaimed(set) {
		return p.firstOf(set, p.setPrefix(set), n, chosen)
	}
	return fairly(p, p.setPrefix(set), share{n, int(store.Millis(p.now))}, func(prefix string, n int) []store.Instance {
		return p.firstOf(set, prefix, n, chosen)
	})
}

// share is at most n items; turn determines the first namespace.
type share struct{ n, turn int }

// fairly returns a share of the items whose keys begin with a prefix and then the namespace, fairly from all namespaces; first returns the
// first items of a namespace.
func fairly[T any](p *partition, all string, of share, first func(prefix string, n int) []T) []T {
	var namespaces []string
	for prefix := p.nextNamespace(all, ""); prefix != ""; prefix = p.nextNamespace(all, prefix) {
		namespaces = append(namespaces, prefix)
	}
	each := of.n
	if len(namespaces) > manyNamespaces {
		each = of.n/manyNamespaces + 1
	}
	parts := make([][]T, len(namespaces))
	for k, prefix := range store.InTurn(of.turn, namespaces) {
		parts[k] = first(prefix, each)
	}
	return store.Fairly(of.n, parts)
}

// manyNamespaces is how many namespaces are not asked for all that may be taken of one.
const manyNamespaces = 10

// firstOf returns the first chosen runs of a set whose keys begin with a prefix.
func (p *partition) firstOf(set store.Set, prefix string, n int, chosen func(store.Instance) bool) (all []store.Instance) {
	p.Scan(prefix, prefix, func(key string, _ []byte) bool {
		if _, i := p.placed(set, key); len(all) < n && chosen(i) {
			all = append(all, i)
		}
		return len(all) < n
	})
	return all
}

// nextNamespace returns the key prefix of the next namespace, among the keys with the prefix all, after another namespace's prefix; empty
// after the last namespace.
func (p *partition) nextNamespace(all, after string) (prefix string) {
	from := all
	if after != "" {
		from = strings.TrimSuffix(after, "/") + "0" // 0 follows the slash
	}
	p.Scan(all, from, func(key string, _ []byte) bool {
		namespace, _, _ := strings.Cut(strings.TrimPrefix(key, all), "/")
		prefix = all + namespace + "/"
		return false
	})
	return prefix
}

// scan calls f with the runs of a set, in its order, until f returns false.
func (p *partition) scan(set store.Set, f func(time.Time, store.Instance) bool) {
	prefix := p.setPrefix(set)
	p.Scan(prefix, prefix, func(key string, _ []byte) bool { return f(indexed(key, prefix)) })
}

func cutLast(id string) (before, last string) {
	at := strings.LastIndexByte(id, '-')
	return id[:max(at, 0)], id[at+1:]
}

// Load implements store.Reader.
func (s *Store) Load(_ context.Context, i store.Instance) (l store.Loaded, err error) {
	err = s.view(s.of(i), func(p *partition) error {
		r, err := p.record(i)
		if err == nil && r == nil {
			err = p.absent(i)
		}
		if err == nil {
			l = p.load(i, *r)
		}
		return err
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
			rest := strings.TrimPrefix(key, prefix)
			if looked == n {
				return false
			}
			looked++
			_, i := indexed(key, prefix)
			r, err := p.record(i)
			if err != nil {
				page.Unreadable = append(page.Unreadable, store.Unreadable{Instance: i, Err: err})
			} else if r != nil {
				info, _ := p.Get(p.key(i, "info"))
				page.Items = append(page.Items, store.Listed{Instance: i, Lifecycle: *r, Invocation: clone(info), Cursor: rest})
			} else {
				page.Unreadable = append(page.Unreadable, p.lacksRecord(key, i))
			}
			page.Cursor = rest
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
		all = slices.Concat(p.first(store.SetNew, math.MaxInt, every), p.first(store.SetBegun, math.MaxInt, every), p.first(store.SetHeld, math.MaxInt, every))
		p.scan(store.SetWaiting, func(at time.Time, i store.Instance) bool {
			if at.IsZero() || at.After(until) {
				return false
			}
			all = append(all, i)
			return true
		})
		var due store.Work
		p.activitiesDue(until, math.MaxInt, &due)
		for _, a := range due.Activities {
			all = append(all, a.Run)
		}
		return nil
	})
	return all, err
}

// Inbox implements store.Reader.
func (s *Store) Inbox(_ context.Context, i store.Instance, n int) (all []store.Message, err error) {
	err = s.view(s.of(i), func(p *partition) error {
		all = p.inbox(i)
		return nil
	})
	return all[:min(n, len(all))], err
}

// History implements store.Reader.
func (s *Store) History(_ context.Context, i store.Instance, from, n int) (all []store.StoredEntry, err error) {
	err = s.view(s.of(i), func(p *partition) error {
		r, err := p.record(i)
		if err != nil || r == nil {
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
		if bad != nil {
			return store.RefuseUnreadable("run "+i.String(), bad, p.now)
		}
		return r.CheckHistory(i, from, n, len(all))
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
			return store.Refuse(store.NoSuch, p.now, "payload %s of run %s", ref, i)
		}
		data = clone(value)
		return nil
	})
	return data, err
}

// Statistics implements store.Reader.
func (s *Store) Statistics(_ context.Context, of int) (st store.Statistics, err error) {
	err = s.view(of, func(p *partition) error {
		st.Repairs, st.Jumps = p.counter("repairs"), p.counter("jumps")
		for name, count := range map[string]*int64{
			"new": &st.Ready, "begun": &st.Ready, "waiting": &st.Waiting, "held": &st.Held, "closed": &st.Closed, "outbox": &st.Outbox,
			"quarantined": &st.Quarantined, "unreadable": &st.Unreadable,
		} {
			prefix := p.prefix + name + "/"
			p.Scan(prefix, prefix, func(string, []byte) bool {
				*count++
				return true
			})
		}
		prefix := p.prefix + retryingPart
		p.Scan(prefix, prefix, func(_ string, value []byte) bool {
			if st.Retrying++; string(value) == string(retryValue(store.RetryWaits)) {
				st.Backlog++
			}
			return true
		})
		st.Waiting += st.Held
		for _, set := range []store.Set{store.SetNew, store.SetBegun} {
			for prefix := p.nextNamespace(p.setPrefix(set), ""); prefix != ""; prefix = p.nextNamespace(p.setPrefix(set), prefix) {
				p.Scan(prefix, prefix, func(key string, _ []byte) bool {
					since, _ := p.placed(set, key)
					st.Oldest = interpreter.Earlier(st.Oldest, since)
					return false // they are in order
				})
			}
		}
		return nil
	})
	return st, err
}

// Layout implements store.Reader.
func (s *Store) Layout() store.Layout { return s.layout }
