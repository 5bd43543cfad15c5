package kvstore

import (
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
		return l, nil, p.refuse(store.NoSuch, i)
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
