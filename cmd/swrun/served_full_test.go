package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/runtime/store"
)

// TestServeBesideTooManySchedules: a document whose schedule exceeds the number that a deployment keeps is not served. All others are.
func TestServeBesideTooManySchedules(t *testing.T) {
	t.Parallel()
	h, client := mustFillRedis(t)
	for _, list := range client.Keys(t.Context(), "*:r:schedules").Val() {
		p := client.Pipeline()
		for n := range store.MaxRegistered {
			name := fmt.Sprint("demo/x", n)
			p.Set(t.Context(), strings.Replace(list, ":r:", ":e:", 1)+":"+name, "1 0 x 1 {}", 0)
			p.ZAdd(t.Context(), list, redis.Z{Score: math.Inf(1), Member: name})
		}
		if _, err := p.Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	folder, echo := t.TempDir(), func(name string) string { return strings.Replace(echoText, "NAME", name, 1) }
	for name, text := range map[string]string{
		"a.yaml": echo("a"), "z.yaml": echo("z"), "b.yaml": strings.Replace(echo("b"), "do:", "schedule: {every: {hours: 1}}\ndo:", 1),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := h.listening("serve", folder, "--listen", "127.0.0.1:0")
	contains(t, s.err.String(), `msg="a document is not served" file=`+filepath.Join(folder, "b.yaml"), "the namespace demo has 10001 schedules")
	contains(t, h.exits(exitOK, "workflows", "-o", "name"), "demo/a", "demo/z")
}
