package main

import (
	"strings"
	"testing"
)

// TestKeepsNewerEntries: a command neither overwrites nor removes the value of an entry that a newer swrun has written.
func TestKeepsNewerEntries(t *testing.T) {
	t.Parallel()
	h, client := mustFillRedis(t)
	daily := mustWriteFile(t, "daily.yaml", dailyText)
	back := h.keepsAll(client)
	const newer = `99 {"a": 1}`
	for _, c := range []struct {
		pattern, verbs string
		code           int
	}{
		{"*:e:schedules:changes", "deploy " + daily, exitOK},
		{"*:e:deployments:*", "workflows rm demo/daily:1.0.0;deploy " + daily, exitOK},
		{"*:e:functions:greet:1.0.0", "function rm greet:1.0.0", exitStore},
	} {
		back()
		h.overwritesKeys(client, c.pattern, newer)
		keys := client.Keys(t.Context(), c.pattern).Val()
		for _, verb := range strings.Split(c.verbs, ";") {
			if code, out := h.says(verb); code != c.code {
				t.Errorf("%s is newer: %s ends with %d:\n%s", c.pattern, verb, code, out)
			}
		}
		for _, key := range keys {
			if is := client.Get(t.Context(), key).Val(); !strings.HasSuffix(is, " "+newer) {
				t.Errorf("%s is %q", key, is)
			}
		}
	}
}
