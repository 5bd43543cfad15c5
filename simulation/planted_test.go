//go:build planted

package simulation

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/runtime/store"
)

// planted are the bugs that have to be found.
func planted() []bug {
	in := func(f func(*faultyStore)) func(*world) store.Store {
		return func(w *world) store.Store {
			s := &faultyStore{Store: w.memory, w: w}
			f(s)
			return s
		}
	}
	return []bug{
		{name: "no token check", from: 1100, store: in(func(s *faultyStore) { s.anyToken = true })},
		{name: "renew without owner", store: in(func(s *faultyStore) { s.renewAll = true })},
		{name: "operation id ignored", store: in(func(s *faultyStore) { s.twice = true })},
		{name: "the first commit wins, not the deadline", store: in(func(s *faultyStore) { s.lenient = true })},
		{name: "> for >= at a deadline", from: 2500, store: in(func(s *faultyStore) { s.equal = true })},
		{name: "the worker's clock decides", store: in(func(s *faultyStore) { s.ahead = true })},
		{name: "pop before push", store: in(func(s *faultyStore) { s.popped = true })},
		{name: "deadline armed after the commit", store: in(func(s *faultyStore) { s.unarmed = true })},
		{name: "version not checked", store: in(func(s *faultyStore) { s.anyVersion = true })},
		{name: "ended frames kept", store: in(func(s *faultyStore) { s.kept = true })},
		{name: "messages not consumed", store: in(func(s *faultyStore) { s.unread = true })},
		{name: "messages not deduplicated", store: in(func(s *faultyStore) { s.repeated = true })},
		{name: "child id random", store: in(func(s *faultyStore) { s.random = true })},
		{name: "cancel not propagated", store: in(func(s *faultyStore) { s.ignored = true })},
		{name: "outbox deleted before delivery", hasty: true},
	}
}

// TestPlantedBugsAreFound: each within 20,000 seeds.
func TestPlantedBugsAreFound(t *testing.T) {
	for _, b := range planted() {
		t.Run(b.name, func(t *testing.T) {
			found := search(inside, b, max(1, b.from), 20_000)
			if found == nil {
				t.Fatal("not found in 20,000 seeds")
			}
			first, _, _ := strings.Cut(found.problems[0], "\n")
			t.Logf("found by seed %d: %s", found.seed, first)
		})
	}
}

// faultyStore breaks the contract in the way that its fields specify.
type faultyStore struct {
	store.Store
	w *world

	anyToken, renewAll, twice, lenient, equal, ahead, popped, unarmed bool
	anyVersion, kept, unread, repeated, random, ignored               bool
}

func (s *faultyStore) now() time.Time { return epoch().Add(s.w.now).Truncate(time.Millisecond) }

func (s *faultyStore) Commit(ctx context.Context, c store.Commit) (store.Committed, error) {
	l, err := s.Store.Load(ctx, c.Instance)
	if err != nil {
		return store.Committed{}, err
	}
	r := l.Lifecycle
	switch {
	case s.kept:
		c.Changes.Ended = nil
	case s.unread:
		c.Read = 0
	case s.unarmed && c.Release && !c.Wake.IsZero() && s.w.lose(): // it dies before it arms the wake-up
		c.Wake = time.Time{}
	case s.twice && r.Nonce == c.Token.Nonce && r.Epoch == c.Token.Epoch && r.Version == c.Next:
		c.Version, c.Next = r.Version, r.Version+1
	}
	done, err := s.Store.Commit(ctx, c)
	switch code := store.RefusedAs(err); {
	case code == store.Fenced && s.anyToken:
		c.Token, c.Version, c.Next = store.Token{Epoch: r.Epoch, Nonce: r.Nonce}, r.Version, r.Version+1
	case code == store.TimedOut && s.lenient,
		code == store.TimedOut && s.equal && (s.now().Equal(c.Guard) || s.now().Equal(r.Deadline)):
		c.At, c.Guard = s.now(), time.Time{}
	case code == store.TooEarly && s.ahead:
		c.At = s.now()
	case (code == store.Conflict || code == store.RolledBack) && s.anyVersion:
		c.Version, c.Next = r.Version, r.Version+1
	default:
		return done, err
	}
	return s.Store.Commit(ctx, c)
}

func (s *faultyStore) Renew(ctx context.Context, c store.Renew) ([]store.Renewed, error) {
	renewed, err := s.Store.Renew(ctx, c)
	if s.renewAll && err == nil {
		renewed = nil
		for _, p := range c.Partitions {
			renewed = append(renewed, store.Renewed{Partition: p, At: s.now()})
		}
	}
	return renewed, err
}

func (s *faultyStore) Claim(ctx context.Context, c store.Claim) ([]store.Claimed, error) {
	if s.popped {
		c.Lease = 1000 * time.Hour
	}
	return s.Store.Claim(ctx, c)
}

func (s *faultyStore) Start(ctx context.Context, c store.Start) (store.Started, error) {
	if s.random && strings.Contains(c.Instance.ID, ".") {
		c.Instance.ID += s.w.nonce()
	}
	return s.Store.Start(ctx, c)
}

func (s *faultyStore) Deliver(ctx context.Context, d store.Delivery) error {
	if s.repeated {
		d.ID = s.w.nonce()
	}
	return s.Store.Deliver(ctx, d)
}

func (s *faultyStore) Command(ctx context.Context, c store.Command) error {
	if s.ignored && strings.Contains(c.To.ID, ".") {
		return nil
	}
	return s.Store.Command(ctx, c)
}
