package main

import (
	"strings"
	"testing"

	"go.etcd.io/bbolt"
)

// TestReadersRefuseWrongValues: a rule of a queue or a setting that no command can set is refused by its readers, with its name. A command that
// sets one value anew keeps the other values of the entry.
func TestReadersRefuseWrongValues(t *testing.T) {
	t.Parallel()
	h, path := deployedInFile(t)
	put := func(key, value string) {
		changeEntries(t, path, func(b *bbolt.Bucket) error { return b.Put([]byte("registry/"+key), []byte("1 0 "+value)) })
	}
	h.exits(exitOK, "queue", "limit", "images", "--concurrency", "3")
	h.exits(exitOK, "config", "set", "runTimeout=1000h")
	for _, c := range []struct{ key, value, reads, says, mends, keeps string }{
		{"queues/rules/images", `1 {"concurrency": -5, "rate": 10, "per": 60000000000}`, "queue ls", "its concurrency is -5", "queue limit images --concurrency 4", "4 at a time, 10/1m"},
		{"queues/rules/images", `1 {"concurrency": 2, "rate": 10}`, "queue ls", "its rate is for 0s", "queue limit images --rate 5/1m", "2 at a time, 5/1m"},
		{"settings/deployment", `2 {"runTimeout": -5, "executionTimeout": 7200000000000}`, "config ls", "runTimeout is -5ns", "config set runTimeout=5h", "2h"},
		{"settings/deployment", `2 {"events": "a b", "executionTimeout": 7200000000000}`, "start demo/nap --id no", "events must be", "config set events=own", "2h"},
	} {
		put(c.key, c.value)
		if code, out := h.says(c.reads); code != exitStore || !strings.Contains(out, c.says) || !strings.Contains(out, "cannot be read") {
			t.Errorf("%s is %s: %s ends with %d and says %s", c.key, c.value, c.reads, code, out)
		}
		h.exits(exitOK, strings.Fields(c.mends)...)
		list := "config ls"
		if strings.HasPrefix(c.key, "queues") {
			list = "queue ls"
		}
		if code, out := h.says(list); code != exitOK || !strings.Contains(out, c.keeps) {
			t.Errorf("%s was %s: after %s, %s ends with %d and says %s", c.key, c.value, c.mends, list, code, out)
		}
	}
	h.exits(exitOK, "start", "demo/nap", "--id", "one")
}
