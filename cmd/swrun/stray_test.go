package main

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/redisstore/redistest"
)

// TestRepairRemovesStrays: repair counts and removes members of sets that name no run and that no poll reads. It leaves the members of runs.
func TestRepairRemovesStrays(t *testing.T) {
	server := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr, DisableIdentity: true})
	t.Cleanup(func() { client.Close() })
	h := &hosted{t, server.URL()}
	h.exits(exitOK, "deploy", mustWriteFile(t, "nap.yaml", napText))
	for n := range 20 {
		h.exits(exitOK, "start", "demo/nap", "--id", fmt.Sprint("nap-", n))
	}
	const prefix = "swrun:{swrun:0}:"
	added := 0
	client.ZAdd(t.Context(), prefix+"queued", redis.Z{Member: "q demo"})
	for _, set := range []string{"new", "begun", "waiting", "held", "closed", "retrying", "activities", "needs", "q:q demo"} {
		members := []redis.Z{{Member: "", Score: math.Inf(1)}, {Member: "demo/gone", Score: math.Inf(1)}, {Member: "demo/gone w", Score: math.Inf(1)}, {Member: "x 1 demo/gone"}}
		for n := range 700 {
			members = append(members, redis.Z{Member: fmt.Sprint("rubbish", n), Score: math.Inf(1)})
		}
		added += len(members)
		client.ZAdd(t.Context(), prefix+set, members...)
	}
	for _, set := range []string{"quarantined", "notices", "unreadable"} {
		added += 2
		client.SAdd(t.Context(), prefix+set, "rubbish", "a/b c")
	}
	if _, out := h.says("repair --dry-run"); !strings.HasSuffix(out, fmt.Sprintf("\n%d differences to repair\n", added)) {
		t.Errorf("repair would repair %d, not: %s", added, out[max(0, len(out)-300):])
	}
	if _, out := h.says("repair"); !strings.Contains(out, `"rubbish9" stood in waiting, and names no run`) || !strings.HasSuffix(out, fmt.Sprintf("20 runs compared, %d differences repaired\n", added)) {
		t.Errorf("repair repairs %s", out[max(0, len(out)-300):])
	}
	if _, out := h.says("repair"); out != "20 runs compared, 0 differences repaired\n" {
		t.Errorf("repair again repairs %.2000s", out)
	}
	if _, out := h.says("doctor"); !strings.Contains(out, fmt.Sprintf("%d repairs of indexes", added)) {
		t.Errorf("doctor says\n%s", out)
	}
	if code, out := h.says("ls --count"); code != exitOK || !strings.HasPrefix(out, "20") {
		t.Errorf("ls ends with %d:\n%s", code, out)
	}
	if left := client.ZCard(t.Context(), prefix+"waiting").Val() + client.ZCard(t.Context(), prefix+"held").Val() + client.SCard(t.Context(), prefix+"unreadable").Val(); left != 0 {
		t.Errorf("%d are left", left)
	}
}
