package main

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/redisstore/redistest"
)

// TestDocumentedPermissions: the permissions that docs/operating.md gives to the user of the store are enough to deploy, start, run, list and delete
// runs, and no request is refused.
func TestDocumentedPermissions(t *testing.T) {
	page, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "    ACL SETUSER ")
	if !ok {
		t.Fatal("the page does not say what the user needs")
	}
	line, _, _ := strings.Cut(rest, "\n")
	args := []any{"ACL", "SETUSER"}
	for _, word := range strings.Fields(line) {
		args = append(args, word)
	}
	server := redistest.Start(t)
	admin := redis.NewClient(&redis.Options{Addr: server.Addr, DisableIdentity: true})
	t.Cleanup(func() { admin.Close() })
	if err := admin.Do(context.Background(), args...).Err(); err != nil {
		t.Fatal(err)
	}
	h := &hosted{t, "redis://swrun:PASSWORD@" + server.Addr}
	h.exits(exitOK, "doctor")
	h.exits(exitOK, "deploy", mustWriteFile(t, "echo.yaml", strings.Replace(echoText, "NAME", "echo", 1)))
	h.work()
	h.exits(exitOK, "start", "demo/echo", "--id", "a")
	h.exits(exitOK, "wait", "a")
	h.exits(exitOK, "ls")
	h.exits(exitOK, "history", "a")
	h.exits(exitOK, "workers")
	h.exits(exitOK, "queue", "ls")
	h.exits(exitOK, "repair")
	h.exits(exitOK, "delete", "a")
	refused, err := admin.Do(context.Background(), "ACL", "LOG").Slice()
	if err != nil || len(refused) > 0 {
		t.Errorf("refused were %v, %v", refused, err)
	}
}
