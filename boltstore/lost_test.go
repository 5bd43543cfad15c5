package boltstore_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/swrun/swrun/boltstore"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// withActivity makes a file with a run that waits for an activity, or is held still.
func withActivity(t *testing.T, path string, held bool) {
	t.Helper()
	s := mustOpenStore(t, path)
	defer s.Close()
	i := store.Instance{Namespace: "test", ID: "x"}
	if _, err := s.Start(t.Context(), store.Start{Instance: i, Invocation: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	claimed, err := s.Claim(t.Context(), store.Claim{Instances: []store.Instance{i}, Worker: "w", Nonce: "n", Lease: time.Hour})
	if err != nil || len(claimed) != 1 {
		t.Fatal(claimed, err)
	}
	c := store.Commit{Instance: i, Token: claimed[0].Token, Next: 1, At: claimed[0].At, Status: interpreter.StatusWaiting, Release: !held}
	to := &store.Activity{Queue: "mail", Available: c.At, Due: c.At.Add(time.Hour), Data: []byte("{}")}
	c.Activities = []store.ActivityChange{{Effect: 4, Queue: "mail", To: to, Input: []byte("i")}}
	if _, err := s.Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

func mustOpenStore(t *testing.T, path string) *boltstore.Store {
	t.Helper()
	s, err := boltstore.Open(t.Context(), path, boltstore.Config{Partitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// harm deletes or overwrites the keys of a file that hold a text.
func harm(t *testing.T, path, part string, by []byte) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte("swrun"))
		var keys [][]byte
		err := b.ForEach(func(key, _ []byte) error {
			if strings.Contains(string(key), part) {
				keys = append(keys, append([]byte{}, key...))
			}
			return nil
		})
		for _, key := range keys {
			if by == nil {
				err = b.Delete(key)
			} else {
				err = b.Put(key, by)
			}
		}
		if len(keys) == 0 {
			t.Errorf("no key has %q", part)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestActivitiesAreRepaired (I4, I5): an activity whose entries are lost is listed again, and a run whose activity itself is lost becomes
// ready, so that its owner schedules it again. While the run is held, that waits.
func TestActivitiesAreRepaired(t *testing.T) {
	for name, c := range map[string]struct {
		part     string
		by       []byte
		held     bool
		repaired string
		ready    int
		offered  int
	}{
		"not in its queue":      {part: "queue/mail", repaired: "activity 4 stood at a wrong place", offered: 1},
		"not among what is due": {part: "/activities/", repaired: "activity 4 stood at a wrong place", offered: 1},
		"lost":                  {part: "i/test/x/activity/", repaired: "activity 4 was lost", ready: 1},
		"unreadable":            {part: "i/test/x/activity/", by: []byte("nonsense"), repaired: "activity 4 was lost", ready: 1},
		"lost while it is held": {part: "i/test/x/activity/", held: true, repaired: "activity 4 was lost"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store.db")
			withActivity(t, path, c.held)
			harm(t, path, c.part, c.by)
			s := mustOpenStore(t, path)
			defer s.Close()
			done, err := s.Scrub(t.Context(), store.Scrub{N: 10})
			if err != nil || len(done.Repaired) != 1 || !strings.Contains(done.Repaired[0], c.repaired) {
				t.Errorf("repaired %q, %v", done.Repaired, err)
			}
			work, err := s.Poll(t.Context(), 0, 10, false)
			if err != nil || len(work.Begun) != c.ready || c.held && work.Next.IsZero() {
				t.Errorf("ready are %v, next is %s, %v", work.Begun, work.Next, err)
			}
			offered, err := s.Available(t.Context(), store.Available{Queues: []string{"mail"}, N: 10})
			if err != nil || len(offered.Activities) != c.offered {
				t.Errorf("offered are %v, %v", offered.Activities, err)
			}
			if done, err = s.Scrub(t.Context(), store.Scrub{N: 10}); !c.held && (err != nil || len(done.Repaired) != 0) {
				t.Errorf("repaired again %q, %v", done.Repaired, err)
			}
		})
	}
}
