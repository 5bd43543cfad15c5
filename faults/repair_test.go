package faults

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// TestRepairCommand (promises 122, 125, 142 and 148): a dry run counts the lost entries of an index, and the command repairs them. Repeating it
// changes nothing.
func TestRepairCommand(t *testing.T) {
	document := filepath.Join(t.TempDir(), "nap.yaml")
	if err := os.WriteFile(document, []byte(napping), 0o600); err != nil {
		t.Fatal(err)
	}
	server := redistest.Start(t)
	swrun := func(args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), binary, append(args, "--store", server.URL())...).Output()
		if err != nil {
			t.Fatalf("swrun %s: %v", strings.Join(args, " "), err)
		}
		return strings.TrimSpace(string(out))
	}
	swrun("deploy", document)
	swrun("start", "faults/nap", "--id", "nap", "--delay", "1h")
	db := redis.NewClient(&redis.Options{Addr: server.Addr})
	defer db.Close() // the server is already stopped
	keys, err := db.Keys(t.Context(), "swrun:*:waiting").Result()
	if err != nil || len(keys) != 1 {
		t.Fatalf("the run waits in %q, error %v", keys, err)
	}
	if err := db.ZRem(t.Context(), keys[0], "faults/nap").Err(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct{ flag, told string }{
		{"--dry-run=true", "[1,1]"}, {"--dry-run=true", "[1,1]"}, {"--dry-run=false", "[1,1]"}, {"--dry-run=false", "[0,0]"}, {"--dry-run=true", "[0,0]"},
	} {
		if got := swrun("repair", want.flag, "-o", "json", "--jq", "[.wrong, (.repaired | length)]"); got != want.told {
			t.Errorf("repair %s tells %s, want %s", want.flag, got, want.told)
		}
	}
}

// TestRepairListeners (F31): entries of listeners that were lost, or that belong to no run, are counted by a dry run and repaired by the command.
// Events then reach the listeners.
func TestRepairListeners(t *testing.T) {
	w := newWorld(t, 0)
	w.startEach(3, collecting)
	k := w.work()
	w.awaitListening(3, "news")
	k.kill()
	swrun := func(args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), binary, append(args, "--store", w.redis.URL())...).Output()
		if err != nil {
			t.Fatalf("swrun %s: %v", strings.Join(args, " "), err)
		}
		return strings.TrimSpace(string(out))
	}
	db := w.redisClient()
	keys, err := db.Keys(t.Context(), "swrun:*:listeners").Result()
	if err != nil || len(keys) == 0 {
		t.Fatalf("who listens is in %q, error %v", keys, err)
	}
	for _, key := range keys {
		if err := errors.Join(db.Del(t.Context(), key).Err(), db.ZAdd(t.Context(), key, redis.Z{Member: "news   test/nobody"}).Err()); err != nil {
			t.Fatal(err)
		}
	}
	wrong := 3 + len(keys)
	for _, want := range []struct {
		flag  string
		wrong int
	}{{"--dry-run=true", wrong}, {"--dry-run=false", wrong}, {"--dry-run=false", 0}} {
		if got := swrun("repair", want.flag, "-o", "json", "--jq", ".wrong"); got != fmt.Sprint(want.wrong) {
			t.Errorf("repair %s tells %s, want %d", want.flag, got, want.wrong)
		}
	}
	p := newPlant(w)
	p.publish(newEvent("news", "news", nil))
	for order := range w.runs {
		p.publish(newEvent("over", fmt.Sprintf("over-%d", order), map[string]any{"order": order}))
	}
	w.settle(pacetest.Patience)
	w.audit(interpreter.StatusCompleted, func(i store.Instance, entries []client.HistoryEntry) {
		if ids, _ := consumed(entries); len(ids) != 2 {
			t.Errorf("%s has consumed %v", i, ids)
		}
	})
}
