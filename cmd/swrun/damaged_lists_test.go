package main

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.etcd.io/bbolt"
)

// TestListsLackEntries: doctor names an entry that is stored but missing in the list of its kind, and repair adds it to the list.
func TestListsLackEntries(t *testing.T) {
	t.Parallel()
	h, client := mustFillRedis(t)
	back := h.keepsAll(client)
	for _, c := range []struct{ kind, entry, command, shows string }{
		{"queues", "rules/images", "queue ls", "images"},
		{"schedules", "demo/daily", "schedule ls", "demo/daily"},
		{"tokens", "ada", "token ls", "ada"},
		{"settings", "deployment", "", ""},
		{"functions", "greet:1.0.0", "function ls", "greet"},
		{"keys", "activities", "", ""},
	} {
		back()
		h.removesMember(client, c.kind, c.entry)
		if c.command != "" {
			if _, out := h.says(c.command); strings.Contains(out, c.shows) {
				t.Errorf("%s shows %s without a list: %s", c.command, c.shows, out)
			}
		}
		code, out := h.says("doctor")
		if code != exitStore {
			t.Errorf("%s lack %s: doctor ends with %d", c.kind, c.entry, code)
		}
		missing := "the entry " + c.entry + " of " + c.kind + " was missing in its list"
		contains(t, out, "error    SD006  1 error in the lists of the registry, for example: "+missing, "fix: swrun repair corrects the lists")
		_, out = h.says("repair --dry-run")
		contains(t, out, missing, "1 difference to repair")
		_, out = h.says("repair")
		contains(t, out, missing, "1 difference repaired")
		if _, out = h.says("doctor"); strings.Contains(out, "lists of the registry") {
			t.Errorf("%s still lack %s after a repair: %s", c.kind, c.entry, out)
		}
		if c.command != "" {
			_, out = h.says(c.command)
			contains(t, out, c.shows)
		}
		_, out = h.says("repair")
		contains(t, out, "0 differences repaired")
	}
}

// removesMember removes an entry from the list of its kind.
func (h *hosted) removesMember(client *redis.Client, kind, entry string) {
	h.Helper()
	removed := int64(0)
	for _, key := range client.Keys(h.Context(), "*:r:"+kind).Val() {
		if len(client.Keys(h.Context(), strings.Replace(key, ":r:", ":e:", 1)+":*").Val()) > 0 {
			removed += client.ZRem(h.Context(), key, entry).Val()
		}
	}
	if removed == 0 {
		h.Fatalf("the entry %s is in no list of %s", entry, kind)
	}
}

// TestListedEnds: repair corrects the end of an entry in its list. An expired entry is not added to its list.
func TestListedEnds(t *testing.T) {
	t.Parallel()
	h, client := mustFillRedis(t)
	list := client.Keys(t.Context(), "*:r:queues").Val()[0]
	partition := strings.TrimSuffix(list, "r:queues")
	client.ZAdd(t.Context(), list, redis.Z{Score: 5, Member: "rules/images"})
	client.Set(t.Context(), partition+"e:queues:rules/old", `1 5 x {"concurrency": 3}`, 0)
	client.RPush(t.Context(), partition+"e:queues:rules/odd", "rubbish")
	_, out := h.says("repair")
	contains(t, out, "the entry rules/images of queues had too early an end in its list", "the entry rules/odd of queues was missing in its list", "2 differences repaired")
	if at := client.ZScore(t.Context(), list, "rules/images").Val(); !math.IsInf(at, 1) {
		t.Errorf("the entry without an end is listed until %g", at)
	}
	_, out = h.says("doctor")
	contains(t, out, "the entry rules/odd of queues cannot be read")
}

// TestWrongNumbersOfEntries: doctor names a wrong number of entries in a file, which refuses new entries, and repair corrects it.
func TestWrongNumbersOfEntries(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	h := &hosted{t, "file:" + path}
	h.exits(exitOK, "queue", "limit", "images", "--concurrency", "3")
	changeEntries(t, path, func(b *bbolt.Bucket) error { return b.Put([]byte("p/0000/registry-count/queues"), []byte("10000")) })
	code, out := h.says("queue limit other --concurrency 3")
	if code == exitOK {
		t.Fatalf("the wrong number does not refuse an entry: %s", out)
	}
	code, out = h.says("doctor")
	if code != exitStore {
		t.Errorf("doctor ends with %d", code)
	}
	contains(t, out, "1 error in the lists of the registry, for example: the number of queues was counted wrongly", "fix: swrun repair corrects the lists")
	_, out = h.says("repair")
	contains(t, out, "the number of queues was counted wrongly", "1 difference repaired")
	h.exits(exitOK, "queue", "limit", "other", "--concurrency", "3")
	if _, out = h.says("doctor"); strings.Contains(out, "lists of the registry") {
		t.Errorf("the number is still wrong after a repair: %s", out)
	}
}
