package main

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/runtime/store"
)

// TestOverwrittenLists: all commands that need an overwritten list of the registry show the remedy, and the remedy rebuilds the list.
func TestOverwrittenLists(t *testing.T) {
	t.Parallel()
	h, client := mustFillRedis(t)
	back := h.keepsAll(client)
	for _, c := range []struct{ kind, lists, changes string }{
		{"queues", "queue ls", "queue limit other --concurrency 2"},
		{"schedules", "schedule ls", "schedule pause demo/daily"},
		{"tokens", "token ls", "token new bob --role viewer -n demo"},
		{"settings", "config ls", "config set runTimeout=5h"},
		{"functions", "function ls", "function rm greet:1.0.0"},
		{"keys", "", ""},
	} {
		back()
		before := ""
		if c.lists != "" {
			_, before = h.says(c.lists)
		}
		list := h.overwritesList(client, c.kind)
		for _, verb := range []string{c.lists, c.changes} {
			if verb == "" {
				continue
			}
			code, out := h.says(verb)
			if code != exitStore || strings.Count(out, list) != 1 || !strings.Contains(out, "swrun repair rebuilds the lists") {
				t.Errorf("%s ends with %d:\n%s", verb, code, out)
			}
		}
		wrong := "the list of " + c.kind + ", the key " + list + ", was overwritten by another program"
		_, out := h.says("doctor")
		contains(t, out, "1 error in the lists of the registry, for example: "+wrong, "fix: swrun repair corrects the lists", "fix: swrun repair rebuilds the lists of the registry from their entries")
		contains(t, h.exits(exitOK, "repair", "--dry-run"), wrong, "1 difference to repair")
		contains(t, h.exits(exitOK, "repair"), wrong, "1 difference repaired")
		contains(t, h.exits(exitOK, "repair"), "0 differences repaired")
		if c.lists != "" {
			if _, after := h.says(c.lists); after != before {
				t.Errorf("%s shows\n%s\nand before the damage it showed\n%s", c.lists, after, before)
			}
			h.exits(exitOK, strings.Fields(c.changes)...)
		}
		if _, out := h.says("doctor"); strings.Contains(out, "cannot be read") || strings.Contains(out, "lists of the registry") {
			t.Errorf("after a repair of the list of %s says doctor:\n%s", c.kind, out)
		}
	}
}

// overwritesList overwrites the list of a kind in a store of two partitions, and returns its key.
func (h *hosted) overwritesList(client *redis.Client, kind string) (key string) {
	h.Helper()
	key = fmt.Sprintf("swrun:{swrun:%d}:r:%s", store.RegistryKind(kind).Partition("", 2), kind)
	if client.ZCard(h.Context(), key).Val() == 0 {
		h.Fatalf("the list %s contains no entries: %q", key, client.Keys(h.Context(), "*").Val())
	}
	client.Set(h.Context(), key, "rubbish", 0)
	return key
}

// TestRebuiltEnds: a rebuilt list contains no expired entry, and the ends of the others.
func TestRebuiltEnds(t *testing.T) {
	t.Parallel()
	h, client := mustFillRedis(t)
	list := h.overwritesList(client, "queues")
	entry := strings.TrimSuffix(list, "r:queues") + "e:queues:rules/"
	client.Set(t.Context(), entry+"old", `1 5 x 1 {"concurrency": 3}`, 0)
	client.Set(t.Context(), entry+"brief", `1 99999999999999 x 1 {"concurrency": 3}`, 0)
	client.RPush(t.Context(), entry+"odd", "rubbish")
	h.exits(exitOK, "repair")
	got := map[string]float64{}
	for _, z := range client.ZRangeWithScores(t.Context(), list, 0, -1).Val() {
		got[z.Member.(string)] = z.Score
	}
	if len(got) != 3 || got["rules/brief"] != 99999999999999 || !math.IsInf(got["rules/images"], 1) || !math.IsInf(got["rules/odd"], 1) {
		t.Errorf("the rebuilt list contains %v", got)
	}
}

// TestServersTellOfLists: a server answers requests that need an overwritten list with the remedy.
func TestServersTellOfLists(t *testing.T) {
	t.Parallel()
	h, client := mustFillRedis(t)
	s := h.listening("serve", "--listen", "127.0.0.1:0")
	h.overwritesList(client, "queues")
	for _, c := range []struct{ method, path, body string }{{http.MethodGet, "/v1/queues", ""}, {http.MethodPatch, "/v1/queues/other", `{"concurrency": "2"}`}} {
		answer, text := h.asks(s, c.method, c.path, c.body)
		if answer.StatusCode != http.StatusInternalServerError || !strings.Contains(text, "swrun repair rebuilds the lists") {
			t.Errorf("%s %s is answered with %s: %s", c.method, c.path, answer.Status, text)
		}
	}
	h.answers(s, "/v1/runs", http.StatusOK, `"one"`)
	contains(t, h.exits(exitOK, "repair", "--server", s.url), "1 difference repaired")
	h.answers(s, "/v1/queues", http.StatusOK, `"images"`)
}
