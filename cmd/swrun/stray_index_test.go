package main

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// TestDamagedStrayEntries: doctor reports entries of the index of a Redis that name no run. repair, which is the remedy, removes them.
func TestDamagedStrayEntries(t *testing.T) {
	t.Parallel()
	h, client := mustFillRedis(t)
	added := int64(0)
	for _, key := range client.Keys(t.Context(), "*:index").Val() {
		for _, names := range [][]string{{"i", "rubbish"}, {"i", "demo/a b"}, {"x", "demo/one"}} {
			client.XAdd(t.Context(), &redis.XAddArgs{Stream: key, Values: names})
			added++
		}
	}
	if added < 3 {
		t.Fatal("there is no index")
	}
	code, out := h.says("doctor")
	contains(t, out, "cannot be read, for example: the entry ", ":index cannot be read: it names no run", "fix: swrun repair removes entries")
	if code != exitStore || strings.Contains(out, "backup") {
		t.Errorf("doctor ends with %d:\n%s", code, out)
	}
	contains(t, h.exits(exitOK, "ls"), "one ", "bad ")
	_, out = h.says("repair --dry-run")
	contains(t, out, " differences to repair")
	_, out = h.says("repair")
	contains(t, out, ":index named no run", " differences repaired")
	_, out = h.says("repair")
	contains(t, out, "0 differences repaired")
	_, out = h.says("doctor")
	contains(t, out, "all examined data can be read")
	contains(t, h.exits(exitOK, "ls"), "one ", "bad ")
}

// TestDamagedVersions: doctor names the key of Redis with the number of the last version of an entry, if the number is damaged.
func TestDamagedVersions(t *testing.T) {
	t.Parallel()
	h, client := mustFillRedis(t)
	for _, by := range []string{"rubbish", "9223372036854775807", "-5"} {
		h.overwritesKeys(client, "*:versions", by)
		code, out := h.says("doctor")
		contains(t, out, ":versions is damaged")
		if code == exitOK {
			t.Errorf("doctor ends with %d:\n%s", code, out)
		}
	}
}
