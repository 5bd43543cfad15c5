package main

import (
	"strings"
	"testing"
)

// TestDamagedRunAmongOthers: ls, doctor, describe and cancel name a run of which a key of Redis is damaged. The others are listed and cancelled.
func TestDamagedRunAmongOthers(t *testing.T) {
	t.Parallel()
	h, client := mustFillRedis(t)
	for _, id := range []string{"two", "three"} {
		h.exits(exitOK, "start", "demo/nap", "--id", id)
	}
	back := h.keepsAll(client)
	for _, c := range []struct {
		name, pattern, by, names string
		missing                  bool
	}{
		{"no number of messages", "*:i:demo/two", "m rubbish", `"rubbish" is not the number of its messages`, true},
		{"a large number of messages", "*:i:demo/two", "m 1e30", `"1e30" is not the number of its messages`, true},
		{"the largest number of messages", "*:i:demo/two", "m 9223372036854775807", "is not the number of its messages", true},
		{"fewer messages than are read", "*:i:demo/two", "m -1", "is not the number of its messages", true},
		{"another type", "*:i:demo/two", "type", ":i:demo/two is damaged", true},
		{"no record", "*:i:demo/two", "rubbish", "run demo/two cannot be read: it has no record", true},
		{"an inbox of another type", "*:i:demo/two", "inbox", ":n:demo/two is damaged", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			back()
			h := &hosted{t, h.url}
			field, value, ofRun := strings.Cut(c.by, " ")
			switch key := client.Keys(t.Context(), c.pattern).Val()[0]; {
			case ofRun:
				client.HSet(t.Context(), key, field, value)
			case c.by == "inbox":
				client.Set(t.Context(), strings.Replace(key, ":i:", ":n:", 1), "rubbish", 0)
			default:
				h.overwritesKeys(client, c.pattern, c.by)
			}
			code, out := h.says("ls")
			contains(t, out, "one ", "three ")
			if code != exitOK || strings.Contains(out, "1 run cannot be read, and is missing here") != c.missing {
				t.Errorf("ls ends with %d:\n%s", code, out)
			}
			code, out = h.says("doctor")
			contains(t, out, "SD019  1 run and 0 registered things cannot be read, for example: ", c.names)
			if code != exitStore || strings.Contains(out, "use the version") {
				t.Errorf("doctor ends with %d:\n%s", code, out)
			}
			for _, verb := range []string{"describe two", "cancel two one three"} {
				if code, out := h.says(verb); code != exitStore || strings.Contains(out, " again ") || !strings.Contains(out, "demo/two") {
					t.Errorf("%s ends with %d:\n%s", verb, code, out)
				}
			}
			for _, id := range []string{"one", "three"} {
				contains(t, h.exits(exitOK, "describe", id), "A cancel waits for a worker")
			}
		})
	}
}
