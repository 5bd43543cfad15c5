package faults

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/redisstore/redistest"
)

// TestRepairCommand is promises 122, 125, 142 and 148: what an index has lost is counted by a dry run and put right by the command, and
// doing it again changes nothing.
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
	defer db.Close() // the server is gone then
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
