package boltstore_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/swrun/swrun/boltstore"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// filledStore makes a file with runs in every state, large enough to have pages of every kind.
func filledStore(t testing.TB) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	s, err := boltstore.Open(t.Context(), path, boltstore.Config{Partitions: 2})
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err = s.Register(t.Context(), store.Registration{Kind: store.RegistryTokens, Key: "t", Value: []byte("v"), For: time.Hour})
	must(err)
	must(s.Define(t.Context(), "key", bytes.Repeat([]byte("d"), 9000))) // spans several pages
	for n := range 120 {
		i := store.Instance{Namespace: "test", ID: fmt.Sprint("run-", n)}
		_, err := s.Start(t.Context(), store.Start{Instance: i, Invocation: []byte(`{"input":1}`), Delay: time.Duration(n%3) * time.Hour})
		must(err)
		if n%3 > 0 {
			continue
		}
		claimed, err := s.Claim(t.Context(), store.Claim{Partition: i.Partition(2), Instances: []store.Instance{i}, Worker: "w", Nonce: "n", Lease: time.Millisecond})
		must(err)
		c := store.Commit{Instance: i, Token: claimed[0].Token, Next: 1, At: claimed[0].At, Status: interpreter.StatusRunning, Release: n%2 == 0}
		c.Changes = interpreter.Changes{Head: []byte("{}"), Frames: []interpreter.StoredFrame{{Key: 1, Data: bytes.Repeat([]byte("f"), 300)}}}
		c.Entries, c.Outbox = [][]byte{[]byte("{}"), []byte("{}")}, [][]byte{[]byte(`{"x":1}`)}
		if n%4 == 0 {
			c.Status, c.Reason = interpreter.StatusCompleted, "completed"
		}
		_, err = s.Commit(t.Context(), c)
		must(err)
	}
	must(s.Close())
	data, err := os.ReadFile(path)
	must(err)
	return data
}

// useAll asks a store for everything that it can be asked, and returns the errors other than refusals.
func useAll(t testing.TB, s *boltstore.Store) (failed []error) {
	ctx, some := t.Context(), []store.Instance{{Namespace: "test", ID: "run-3"}, {Namespace: "test", ID: "run-12"}, {Namespace: "test", ID: "run-50"}}
	note := func(err error) {
		if err != nil && store.RefusedAs(err) == "" {
			failed = append(failed, err)
		}
	}
	for p := range 2 {
		work, err := s.Poll(ctx, p, 100, true)
		note(err)
		_, err = s.Outbox(ctx, p, "", 10)
		note(err)
		_, err = s.List(ctx, p, "", 100)
		note(err)
		_, err = s.Statistics(ctx, p)
		note(err)
		_, err = s.Upcoming(ctx, p, time.Now().Add(time.Hour))
		note(err)
		_, err = s.Promote(ctx, store.Promote{Partition: p, Instances: work.Due})
		note(err)
		claimed, err := s.Claim(ctx, store.Claim{Partition: p, Instances: work.New, Worker: "w", Nonce: "m", Lease: time.Minute})
		note(err)
		for _, c := range claimed {
			_, err = s.Renew(ctx, store.Renew{Worker: "w", Partitions: []int{p}, Lease: time.Minute})
			note(err)
			_, err = s.Commit(ctx, store.Commit{Instance: c.Instance, Token: c.Token, Version: c.Lifecycle.Version, Next: c.Lifecycle.Version + 1, At: c.At, Status: interpreter.StatusCompleted, Reason: "completed", Entries: [][]byte{[]byte("e")}})
			note(err)
		}
		_, err = s.Scrub(ctx, store.Scrub{Partition: p, N: 1000, Adopt: true})
		note(err)
		note(s.Relay(ctx, p, []string{"0-1"}))
		_, err = s.Remove(ctx, store.Remove{Partition: p, Instances: work.Expired})
		note(err)
	}
	for _, i := range some {
		_, err := s.Load(ctx, i)
		note(err)
		_, err = s.History(ctx, i, 0, 10)
		note(err)
		_, err = s.Payload(ctx, i, "r")
		note(err)
		note(s.Deliver(ctx, store.Delivery{To: i, ID: "m" + i.ID, Message: []byte("{}")}))
		note(s.Command(ctx, store.Command{To: i, ID: "c" + i.ID, Verb: store.VerbCancel, Message: []byte("{}")}))
	}
	_, err := s.Definition(ctx, "key")
	note(err)
	_, err = s.Definitions(ctx, "")
	note(err)
	_, err = s.Written(ctx)
	note(err)
	_, err = s.Registered(ctx, store.RegistryTokens, "t")
	note(err)
	_, err = s.ListRegistered(ctx, store.RegistryList{Kind: store.RegistryTokens})
	note(err)
	_, err = s.Register(ctx, store.Registration{Kind: store.RegistryTokens, Key: "t", Value: []byte("v"), Version: store.AnyVersion, For: time.Hour})
	note(err)
	note(s.Unregister(ctx, store.RegistryTokens, "t", store.AnyVersion))
	_, err = s.Start(ctx, store.Start{Instance: store.Instance{Namespace: "test", ID: "new"}, Invocation: bytes.Repeat([]byte("i"), 5000)})
	note(err)
	return failed
}

// useFile opens a file with some content and uses it, which must neither end the process nor hang. It returns the error of opening it.
func useFile(t testing.TB, data []byte) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := boltstore.Open(t.Context(), path, boltstore.Config{Partitions: 2, Wait: 50 * time.Millisecond})
	if err != nil {
		return err
	}
	useAll(t, s)
	_ = s.Close() // only its return matters
	return nil
}

// TestCutFile: a file that was cut anywhere is reported as damaged.
func TestCutFile(t *testing.T) {
	data := filledStore(t)
	if err := useFile(t, data); err != nil {
		t.Fatal(err)
	}
	used := len(bytes.TrimRight(data, "\x00")) // bbolt makes room in advance
	for at := 0; at < used; at += 4 << 10 {
		for _, cut := range []int{at, at + 17} {
			var damaged *boltstore.DamagedError
			if err := useFile(t, data[:min(cut, used-1)]); !errors.As(err, &damaged) {
				t.Errorf("cut after %d of %d bytes: %v", cut, used, err)
			}
		}
	}
}

// TestFlippedBits: whatever is flipped in a file, no operation ends the process.
func TestFlippedBits(t *testing.T) {
	data := filledStore(t)
	used := len(bytes.TrimRight(data, "\x00"))
	const page = 4 << 10
	chance := rand.New(rand.NewPCG(1, 2))
	damaged := 0
	for n := range 250 {
		broken := bytes.Clone(data)
		at := chance.IntN(used)
		if n%2 == 0 { // the places where pages contain their kind
			at = at/page*page + chance.IntN(64)
		}
		for range 1 + n%3 {
			broken[min(at+chance.IntN(8), used-1)] ^= 1 << chance.IntN(8)
		}
		if err := useFile(t, broken); err != nil {
			damaged++
		}
	}
	if damaged == 0 {
		t.Error("nothing was found damaged")
	}
}

// TestFileCutInUse: a file that loses its pages while it is open is reported as damaged from then on, and can be closed.
func TestFileCutInUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	if err := os.WriteFile(path, filledStore(t), 0o600); err != nil {
		t.Fatal(err)
	}
	var told error
	s, err := boltstore.Open(t.Context(), path, boltstore.Config{Partitions: 2, Failed: func(err error) { told = err }})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 4096); err != nil {
		t.Fatal(err)
	}
	var damaged *boltstore.DamagedError
	for _, err := range useAll(t, s) {
		if !errors.As(err, &damaged) {
			t.Errorf("%v", err)
		}
	}
	if damaged == nil || !errors.As(told, &damaged) {
		t.Error("it was not found out")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestOtherFilesAreRefused: other files are refused, each with its kind.
func TestOtherFilesAreRefused(t *testing.T) {
	folder := t.TempDir()
	text := filepath.Join(folder, "text")
	if err := os.WriteFile(text, bytes.Repeat([]byte("document: {dsl: 1.0.3}\n"), 2000), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(folder, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	short := filepath.Join(folder, "short")
	if err := os.WriteFile(short, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		text: "damaged", empty: "is empty", short: "damaged", folder: "is not a file", "/dev/null": "is not a file",
		filepath.Join(text, "store.db"): "not a directory",
	} {
		_, err := boltstore.Open(t.Context(), path, boltstore.Config{Wait: time.Millisecond})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestDamagedLayout: Open returns a *DamagedError for a file with an impossible layout. It reserves no memory for the partitions of this layout.
func TestDamagedLayout(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	const missing = "missing"
	for _, text := range []string{missing, "", "rubbish", "null", "{}", `{"Partitions":1000000000,"Schema":2}`, `{"Partitions":-1,"Schema":2}`, `{"Partitions":1e30,"Schema":2}`} {
		if err := os.WriteFile(path, filledStore(t), 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := bbolt.Open(path, 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Update(func(tx *bbolt.Tx) error {
			b := tx.Bucket([]byte("swrun"))
			if text == missing {
				return b.Delete([]byte("layout"))
			}
			return b.Put([]byte("layout"), []byte(text))
		}); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		_, err = boltstore.Open(t.Context(), path, boltstore.Config{Partitions: 2})
		if damaged := new(boltstore.DamagedError); !errors.As(err, &damaged) || !strings.Contains(damaged.Detail, "its layout cannot be read") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestPartitionsOfAFile: a file is made with a number of partitions that it can have.
func TestPartitionsOfAFile(t *testing.T) {
	for _, n := range []int{-1, store.MaxPartitions + 1, math.MaxInt} {
		_, err := boltstore.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"), boltstore.Config{Partitions: n})
		if err == nil || !strings.Contains(err.Error(), "a deployment has from 1 to 4096") {
			t.Errorf("%d: %v", n, err)
		}
	}
}

// FuzzFile: no content of a file ends the process.
func FuzzFile(f *testing.F) {
	f.Add(uint32(0), byte(1), uint32(0))
	f.Add(uint32(4096+16), byte(255), uint32(8<<10))
	data := filledStore(f)
	f.Fuzz(func(t *testing.T, at uint32, flip byte, cut uint32) {
		broken := bytes.Clone(data)
		broken[int(at)%len(broken)] ^= flip
		if cut > 0 {
			broken = broken[:int(cut)%len(broken)]
		}
		_ = useFile(t, broken) // only its return matters
	})
}
