package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// TestOrderIsBrokenOff: a store that refuses an order for all runs is told once, and not for each run.
func TestOrderIsBrokenOff(t *testing.T) {
	h := newHosted(t)
	document := mustWriteFile(t, "nap.yaml", napText)
	h.exits(exitOK, "deploy", document)
	for n := range 20 {
		h.exits(exitOK, "start", "demo/nap", "--delay", "1h", "--id", fmt.Sprint("n", n))
	}
	options, err := redis.ParseURL(strings.Split(h.url, "?")[0])
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	defer client.Close()
	if err := client.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	c := capture(map[string]string{"SWRUN_STORE": h.url})
	c.now = time.Now
	code := run([]string{"suspend", "--yes", "--where", "workflow=demo/nap"}, c.streams)
	told := strings.TrimSpace(c.stderr.String())
	if code != exitStore || strings.Count(told, "\n") > 3 || !strings.Contains(told, "suspend broke off: the store refused it for 20 runs of the last 20") {
		t.Errorf("it ended with %d and said\n%s", code, told)
	}
}
