package worker

import (
	"context"

	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// outbox is the known part of a partition's outbox while it is emptied: the first entries of each namespace. The entries behind the many
// entries of one namespace are found by reading to the end.
type outbox struct {
	store     store.Store
	partition int
	parts     map[string]*outgoing // by namespace; "" for entries of which it is not known
	order     []string             // the namespaces, the one whose turn is next first
	last      string               // the entry until which it was looked
	page      int                  // how many entries are read at a time
	whole     bool                 // everything was read: no further entries to look for
}

// outgoing are the first entries of one namespace.
type outgoing struct {
	entries []store.Outgoing
	bytes   int
	// rest is the entry after which the namespace has more entries that were not kept; empty without more.
	rest string
}

const (
	// maxTurns is the number of turns after which the outbox is read from its beginning again, to retry entries that could not be
	// delivered.
	maxTurns = 50
	// lookOnMost is how many entries a turn reads at most to find other namespaces.
	lookOnMost = 50_000
	// keptBytes is from how many bytes on no more of a namespace is kept.
	keptBytes = 4 << 20
	// manyEntries is how many entries are read at a time if this number is likely to have at most pageBytes.
	manyEntries, pageBytes = 1000, 2 << 20
)

// newOutbox returns the outbox of a partition of which a poll has found the first entries.
func newOutbox(s store.Store, partition int, first []store.Outgoing) *outbox {
	q := &outbox{store: s, partition: partition, parts: map[string]*outgoing{}, page: batchSize, whole: len(first) < batchSize}
	q.add(first)
	return q
}

// full reports whether enough of a namespace is kept.
func (o *outgoing) full() bool { return len(o.entries) >= batchSize || o.bytes >= keptBytes }

// add keeps entries that follow the known ones.
func (q *outbox) add(entries []store.Outgoing) {
	before := q.last
	for _, e := range entries {
		q.keep(execution.OutgoingFrom(e.Data), e, before)
		before, q.last = e.ID, e.ID
	}
}

// keep keeps an entry of a namespace, which comes behind another entry, unless enough of the namespace is kept.
func (q *outbox) keep(namespace string, e store.Outgoing, before string) {
	o := q.parts[namespace]
	if o == nil {
		o = &outgoing{}
		q.parts[namespace], q.order = o, append(q.order, namespace)
	}
	switch {
	case o.rest != "": // this entry follows the entries that were not kept
	case o.full():
		o.rest = before
	default:
		o.entries, o.bytes = append(o.entries, e), o.bytes+len(e.Data)
	}
}

// lookOn reads new entries of the outbox, and more entries of namespaces without kept entries.
func (q *outbox) lookOn(ctx context.Context) error {
	if q.whole {
		return nil
	}
	for read := 0; read < lookOnMost; {
		n := q.page
		entries, err := q.read(ctx, q.last)
		if err != nil {
			return err
		}
		q.add(entries)
		if read += len(entries); len(entries) < n {
			break
		}
	}
	for _, namespace := range q.order {
		if err := q.refill(ctx, namespace); err != nil {
			return err
		}
	}
	return nil
}

// refill reads more of a namespace of which nothing is kept any more.
func (q *outbox) refill(ctx context.Context, namespace string) error {
	o := q.parts[namespace]
	if len(o.entries) > 0 || o.rest == "" {
		return nil
	}
	after := o.rest
	o.rest, o.bytes, q.page = "", 0, batchSize
	for !o.full() && after != q.last {
		entries, err := q.read(ctx, after)
		if err != nil || len(entries) == 0 {
			return err
		}
		for _, e := range entries {
			if execution.OutgoingFrom(e.Data) == namespace {
				q.keep(namespace, e, after)
			}
			if after = e.ID; after == q.last {
				return nil
			}
		}
	}
	if o.rest == "" {
		o.rest = after
	}
	return nil
}

// read reads a page of the outbox. Small entries are read many at a time.
func (q *outbox) read(ctx context.Context, after string) ([]store.Outgoing, error) {
	entries, err := q.store.Outbox(ctx, q.partition, after, q.page)
	size := 0
	for _, e := range entries {
		size += len(e.Data)
	}
	if q.page = batchSize; manyEntries*size <= pageBytes*len(entries) {
		q.page = manyEntries
	}
	return entries, err
}

// take takes the entries of the next turn: one of each namespace, as long as there are any, and as many as a batch has.
func (q *outbox) take() []store.Outgoing {
	var parts [][]store.Outgoing
	for _, namespace := range q.order {
		parts = append(parts, q.parts[namespace].entries)
	}
	if o := q.parts[""]; o != nil && len(o.entries) > 0 { // older builds have asked for it
		parts = [][]store.Outgoing{o.entries}
	}
	turn := store.Fairly(batchSize, parts)
	for _, e := range turn {
		o := q.parts[execution.OutgoingFrom(e.Data)]
		o.entries, o.bytes = o.entries[1:], o.bytes-len(e.Data)
	}
	q.order = store.InTurn(batchSize, q.order) // there may be more namespaces than a turn has entries
	return turn
}
