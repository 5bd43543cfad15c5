package kvstore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/swrun/swrun/runtime/store"
)

const unreadablePart = "unreadable/"

// unreadableKey returns the key that marks a run as unreadable.
func (p *partition) unreadableKey(i store.Instance) string {
	return p.prefix + unreadablePart + i.String()
}

// claimable returns the data of a run for its claim; a refusal if it is missing, or a part of it cannot be read.
func (p *partition) claimable(i store.Instance) (l store.Loaded, inbox []store.Message, err error) {
	r, err := p.record(i)
	switch {
	case err != nil:
		return l, nil, err
	case r == nil:
		return l, nil, p.absent(i)
	}
	l, inbox = p.load(i, *r), p.inbox(i)
	if err := l.CheckForms(inbox); err != nil {
		return l, nil, store.RefuseUnreadable("run "+i.String(), err, p.now)
	}
	return l, inbox, nil
}

// unreadable reports whether an error means that a run is missing or cannot be read. Such a run is put away, counted, and reported. A run
// written by a newer build stays in its place.
func (p *partition) unreadable(i store.Instance, err error, whom func(store.Unreadable)) bool {
	switch store.RefusedAs(err) {
	case store.NoSuch:
		p.putAway(i)
		return true
	case store.Corrupt:
		p.putAway(i)
	case store.Newer:
		p.passed.Add(i)
	default:
		return false
	}
	p.Put(p.unreadableKey(i), nil)
	store.Unreadable{Instance: i, Err: err}.Tell(whom)
	return true
}

// scrubUnreadable counts a run that cannot be read, for the reason that is given, or takes one out of the count that can be.
func (p *partition) scrubUnreadable(i store.Instance, err error, done *store.Scrubbed) {
	_, counted := p.Get(p.unreadableKey(i))
	switch {
	case err != nil:
		done.Unreadable = append(done.Unreadable, store.Unreadable{Instance: i, Err: err})
		if !counted {
			p.Put(p.unreadableKey(i), nil)
		}
	case counted:
		p.Delete(p.unreadableKey(i))
	}
}

// absent returns why a run without a record is unknown: nothing of it is stored, or only some parts are.
func (p *partition) absent(i store.Instance) error {
	prefix := p.key(i, "")
	var parts []string
	p.Scan(prefix, prefix, func(key string, _ []byte) bool {
		part, _, _ := strings.Cut(strings.TrimPrefix(key, prefix), "/")
		if !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
		return true
	})
	if len(parts) == 0 {
		return p.refuse(store.NoSuch, i)
	}
	return store.RefuseUnreadable("run "+i.String(), store.NoRecord(parts), p.now)
}

// lacksRecord returns the refusal of an entry of the list of runs whose run has no record: of the run if some part of it is stored, and
// otherwise of the entry, without a run.
func (p *partition) lacksRecord(key string, i store.Instance) store.Unreadable {
	err := p.absent(i)
	if store.RefusedAs(err) == store.NoSuch {
		return store.Unreadable{Err: store.RefuseUnreadable("the key "+key, store.NamesNothing(i), p.now)}
	}
	return store.Unreadable{Instance: i, Err: err}
}

// removeEmpty removes an entry of the list of runs that names a run of which nothing is stored, and reports whether it was one.
func (p *partition) removeEmpty(key string, i store.Instance, done *store.Scrubbed) bool {
	if _, ok := p.Get(p.key(i, "record")); ok || store.RefusedAs(p.absent(i)) != store.NoSuch {
		return false
	}
	p.Delete(key)
	p.Delete(p.unreadableKey(i))
	p.putAway(i)
	done.Repaired = append(done.Repaired, fmt.Sprintf("the key %s named the run %s, of which nothing is stored", key, i))
	return true
}
