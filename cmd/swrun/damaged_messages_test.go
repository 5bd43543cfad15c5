package main

import (
	"path/filepath"
	"testing"

	"github.com/redis/go-redis/v9"
)

// TestTerminateDespiteDamagedMessages: a run with damaged messages in its inbox ends by terminate, which is the remedy of doctor. The history
// contains the number of lost messages.
func TestTerminateDespiteDamagedMessages(t *testing.T) {
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "runs.db")
		h := &hosted{t, "file:" + path}
		h.exits(exitOK, "deploy", mustWriteFile(t, "nap.yaml", napText))
		h.endsDespite(func() { overwriteEntry(t, path, "i/demo/one/inbox/", []byte("rubbish")) })
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		h, client := deployedOnRedis(t)
		h.endsDespite(func() {
			key := client.Keys(t.Context(), "*:n:demo/one").Val()[0]
			for n := range client.LLen(t.Context(), key).Val() {
				client.LSet(t.Context(), key, n, "rubbish")
			}
		})
	})
}

// endsDespite damages the messages to a run, and carries out the remedy.
func (h *hosted) endsDespite(damage func()) {
	h.Helper()
	h.exits(exitOK, "start", "demo/nap", "--id", "one")
	stop := working(h.T, capture(map[string]string{"SWRUN_STORE": h.url}))
	h.until("waiting for the timer", "describe", "one")
	stop()
	h.exits(exitOK, "suspend", "one")
	h.exits(exitOK, "resume", "one")
	damage()
	h.exits(exitOK, "suspend", "one")
	code, out := h.says("doctor")
	if code != exitStore {
		h.Errorf("doctor ends with %d", code)
	}
	contains(h.T, out, "run demo/one cannot be read: message 1 of its inbox", "swrun terminate ends it")
	h.exits(exitOK, "terminate", "one", "--reason", "damaged")
	stop = working(h.T, capture(map[string]string{"SWRUN_STORE": h.url}))
	h.until("terminated", "describe", "one")
	stop()
	contains(h.T, h.exits(exitOK, "history", "one"), "damaged (damaged messages of the inbox that are lost: 2)")
	_, out = h.says("doctor")
	contains(h.T, out, "all examined data can be read")
}

// TestTerminateIntoOverwrittenInbox: a terminate that cannot be stored names the key of Redis and the remedy.
func TestTerminateIntoOverwrittenInbox(t *testing.T) {
	t.Parallel()
	h, client := deployedOnRedis(t)
	h.exits(exitOK, "start", "demo/nap", "--id", "one")
	key := overwrittenInbox(t, client)
	code, out := h.says("terminate one")
	contains(t, out, key+" is damaged", "put the key, or the whole store, back from a copy")
	if code != exitStore {
		t.Errorf("terminate ends with %d", code)
	}
	client.Del(t.Context(), key)
	h.exits(exitOK, "terminate", "one")
	h.work()
	h.until("terminated", "describe", "one")
}

func overwrittenInbox(t *testing.T, client *redis.Client) (key string) {
	t.Helper()
	key = client.Keys(t.Context(), "*:i:demo/one").Val()[0]
	key = key[:len(key)-len("i:demo/one")] + "n:demo/one"
	client.Set(t.Context(), key, "rubbish", 0)
	return key
}
