package main

import (
	"strings"
	"testing"
)

// TestUsageErrorsAreShort: a usage error does not repeat the whole of a long argument, and still names the mistake.
func TestUsageErrorsAreShort(t *testing.T) {
	long := strings.Repeat("x", 40_000)
	for _, args := range [][]string{
		{"config", "set", long}, {"config", "set", long + "=1"}, {"config", "set", "runTimeout=" + long}, {long}, {"ls", "--" + long}, {"ls", "--output", long}, {"ls", "--limit", long},
		{"ls", "--where", long}, {"start", "demo/nap", "--label", long}, {"start", "demo/nap", "--run-timeout", long}, {"deadlines", "--within", long}, {"describe", "a", "--run", long},
		{"queue", "limit", "q", "--rate", long}, {"explain", long}, {"ls", "--store", long}, {"wait", "a", "--timeout", long}, {"start", long}, {"token", "new", "a", "--role", long},
		{"serve", "--listen", long, "--max-requests", long}, {"deadline", "set", "a", long}, {"ls", "--status", long}, {"start", "demo/nap", "--deadline", long},
	} {
		c := capture(map[string]string{"SWRUN_STORE": "memory:"})
		if code := run(args, c.streams); code != exitUsage {
			continue
		}
		if out := c.stderr.String(); len(out) > 6000 || !strings.HasPrefix(out, "swrun: ") {
			t.Errorf("%.30s %.30s: %d bytes: %.200s", args[0], args[len(args)-1], len(out), out)
		}
	}
}
