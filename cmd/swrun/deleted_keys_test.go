package main

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestDeletedHistory: if the history of a run is deleted from a served deployment, the run is reported by its name, with 7 and 500. No client that
// follows it waits forever. The same holds for a file.
func TestDeletedHistory(t *testing.T) {
	const says = "run demo/bad cannot be read: its history has 0 entries instead of 1"
	refused := func(h *hosted, s *serving) {
		for _, path := range []string{"/history", "/history?wait=1m", "/export", "/events"} {
			answer, told := h.asks(s, http.MethodGet, "/v1/runs/demo/bad"+path, "")
			if !strings.Contains(told, says) || !strings.Contains(told, "unreadable") || answer.StatusCode != http.StatusInternalServerError {
				h.Errorf("GET %s is answered with %s: %s", path, answer.Status, told)
			}
		}
		h.answers(s, "/v1/health", http.StatusServiceUnavailable, says)
		for _, args := range []string{"describe bad", "history bad", "history bad --follow", "export bad", "fork bad", "doctor"} {
			if code, out := h.says(args); code != exitStore || !strings.Contains(out, says) {
				h.Errorf("%s ends with %d: %s", args, code, out)
			}
		}
		h.exits(exitOK, "history", "good")
		h.exits(exitOK, "cancel", "good")
		h.exits(exitCancelled, "wait", "good")
	}
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		h, client := deployedOnRedis(t)
		s := h.listening("serve", "--listen", "127.0.0.1:0")
		for _, id := range []string{"bad", "good"} {
			h.exits(exitOK, "start", "demo/nap", "--id", id)
			h.until("waiting for the timer", "describe", id)
		}
		stream := h.follows(s, "/v1/runs/demo/bad/events")
		if read, found := stream.until("task.started"); !found {
			t.Errorf("the stream says: %s", read)
		}
		key := client.Keys(t.Context(), "*:h:demo/bad").Val()[0]
		kept := client.Dump(t.Context(), key).Val()
		client.Del(t.Context(), key)
		if read, found := stream.until(": ", "cannot be read", says); !found {
			t.Errorf("the stream ends without a reason: %s", read)
		}
		refused(h, s)
		client.RestoreReplace(t.Context(), key, time.Duration(0), kept)
		h.answers(s, "/v1/health", http.StatusOK, "")
		contains(t, h.exits(exitOK, "history", "bad"), "task.started")
	})
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		h, path := deployedInFile(t)
		h.naps("bad", "good")
		overwriteEntry(t, path, "/demo/bad/history/", nil)
		refused(h, h.listening("serve", "--listen", "127.0.0.1:0"))
	})
}

// TestDeletedRuns: if the key of a run is deleted, but not its history, the run is reported by its name. No other run gets its history. If the key is
// restored, the run is as before.
func TestDeletedRuns(t *testing.T) {
	t.Parallel()
	h, client := deployedOnRedis(t)
	s := h.listening("serve", "--listen", "127.0.0.1:0")
	for _, id := range []string{"bad", "good"} {
		h.exits(exitOK, "start", "demo/nap", "--id", id)
		h.until("waiting for the timer", "describe", id)
	}
	key, history := client.Keys(t.Context(), "*:i:demo/bad").Val()[0], client.Keys(t.Context(), "*:h:demo/bad").Val()[0]
	kept, entries := client.Dump(t.Context(), key).Val(), client.LLen(t.Context(), history).Val()
	client.Del(t.Context(), key)
	says := "somebody has deleted the key " + key + " of a run: its history is still there"
	for _, args := range []string{"describe bad", "history bad", "start demo/nap --id bad", "doctor"} {
		if code, out := h.says(args); code != exitStore || !strings.Contains(out, says) {
			h.Errorf("%s ends with %d: %s", args, code, out)
		}
	}
	if _, out := h.says("ls"); !strings.Contains(out, "cannot be read") || !strings.Contains(out, "good") {
		h.Errorf("ls says: %s", out)
	}
	h.answers(s, "/v1/health", http.StatusServiceUnavailable, says)
	if n := client.LLen(t.Context(), history).Val(); n != entries || client.Exists(t.Context(), key).Val() != 0 {
		h.Errorf("the history has %d entries instead of %d, or the run was written", n, entries)
	}
	client.RestoreReplace(t.Context(), key, 0, kept)
	contains(t, h.exits(exitOK, "history", "bad"), "task.started")
	h.answers(s, "/v1/health", http.StatusOK, "")
}
