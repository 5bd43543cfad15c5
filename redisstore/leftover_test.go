package redisstore_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/redisstore"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/runtime/store"
)

// scrubAll scrubs the partition 0, n runs and entries at a time.
func scrubAll(t *testing.T, s *redisstore.Store, n int, check bool) (repaired []string) {
	t.Helper()
	for request := (store.Scrub{N: n, Check: check}); ; {
		done, err := s.Scrub(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		repaired = append(repaired, done.Repaired...)
		if request.Cursor = done.Cursor; request.Cursor == "" {
			return repaired
		}
	}
}

// TestDriftOfListeners (F31): scrubbing restores a lost entry of the listener index and removes an entry without a matching record. A check
// only reports them. All this works with pages of any size.
func TestDriftOfListeners(t *testing.T) {
	server := redistest.Start(t)
	s := mustOpen(t, server.URL(), redisstore.Config{Deployment: "D", Partitions: 1})
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	defer client.Close() // the server is gone then
	fill(t, s)
	const key = "swrun:{D:0}:listeners"
	right := client.ZRange(t.Context(), key, 0, -1).Val()
	if !slices.Equal(right, []string{"t   test/h"}) {
		t.Fatalf("%q listen", right)
	}
	for entry, want := range map[string]string{
		"t   test/h":     "test/h: was missing in the listener index",
		"u   test/h":     "test/h: was in the listener index for events that it does not listen for",
		"t %22 k test/h": "test/h: was in the listener index for events that it does not listen for",
		"t   test/a":     "test/a: was in the listener index for events that it does not listen for",
		"t   test/b":     "test/b: was in the listener index for events that it does not listen for",
		"t   test/z":     "test/z: was in the listener index for events that it does not listen for",
		"t   nothing":    `"t   nothing" was in the listener index, but belongs to no run`,
		"nonsense":       `"nonsense" was in the listener index, but belongs to no run`,
		"t% %  test/h":   `"t% %  test/h" was in the listener index, but belongs to no run`,
	} {
		for _, n := range []int{1, 2, 100} {
			if slices.Contains(right, entry) {
				client.ZRem(t.Context(), key, entry)
			} else {
				client.ZAdd(t.Context(), key, redis.Z{Member: entry})
			}
			for _, check := range []bool{true, true, false} {
				if got := scrubAll(t, s, n, check); !slices.Equal(got, []string{want}) {
					t.Errorf("%q, %d at a time: found %q, want %q", entry, n, got, want)
				}
			}
			if got := scrubAll(t, s, n, false); len(got) > 0 {
				t.Errorf("%q, %d at a time: repaired again %q", entry, n, got)
			}
			if got := client.ZRange(t.Context(), key, 0, -1).Val(); !slices.Equal(got, right) {
				t.Errorf("%q, %d at a time: %q listen", entry, n, got)
			}
		}
	}
}

// TestManyLeftListening: many entries without a matching record are all removed, and no valid entries.
func TestManyLeftListening(t *testing.T) {
	server := redistest.Start(t)
	s := mustOpen(t, server.URL(), redisstore.Config{Deployment: "D", Partitions: 1})
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	defer client.Close() // the server is gone then
	var want []string
	for n := range 30 {
		i := instance(fmt.Sprintf("r%02d", n))
		if _, err := s.Start(t.Context(), store.Start{Instance: i, Invocation: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
		claimed, err := s.Claim(t.Context(), store.Claim{Instances: []store.Instance{i}, Worker: "w", Nonce: i.ID, Lease: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		c := store.Commit{Instance: i, Token: claimed[0].Token, Next: 1, At: claimed[0].At, Status: interpreter.StatusWaiting, Release: true}
		c.Listens = store.NewListens("", []interpreter.EventFilter{{Type: "t"}})
		if _, err := s.Commit(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		want = append(want, "t   "+i.String())
		client.ZAdd(t.Context(), "swrun:{D:0}:listeners", redis.Z{Member: "t   test/gone" + i.ID}, redis.Z{Member: "s   " + i.String()})
	}
	if got := scrubAll(t, s, 7, false); len(got) != 60 || !strings.HasPrefix(got[0], "test/r00: was in the listener index") {
		t.Errorf("repaired %d: %q", len(got), got)
	}
	if got := client.ZRange(t.Context(), "swrun:{D:0}:listeners", 0, -1).Val(); !slices.Equal(got, want) {
		t.Errorf("%q listen", got)
	}
}
