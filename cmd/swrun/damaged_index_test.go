package main

import (
	"strings"
	"testing"
)

// TestStartWithADamagedIndex: a start that finds the key of the index overwritten names the key and the remedy, and ends with the exit code of an
// unhealthy store.
func TestStartWithADamagedIndex(t *testing.T) {
	t.Parallel()
	h, client := deployedOnRedis(t)
	h.exits(exitOK, "start", "demo/nap", "--id", "one")
	keys := client.Keys(t.Context(), "*:index").Val()
	if len(keys) != 1 {
		t.Fatalf("%q", keys)
	}
	client.Del(t.Context(), keys...)
	client.LPush(t.Context(), keys[0], "rubbish")
	for _, key := range client.Keys(t.Context(), "*:demo/one").Val() { // the next start uses the same partition
		client.Del(t.Context(), key)
	}
	if code, out := h.says("start demo/nap --id one"); code != exitStore || !strings.Contains(out, ":index is damaged") || !strings.Contains(out, "back from a copy") {
		t.Errorf("start ends with %d: %s", code, out)
	}
}
