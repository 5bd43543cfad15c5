package main

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/swrun/swrun/redisstore/redistest"
)

// TestADayInTheLife: deploy, start, watch, time out, fix, fork, export, in several real processes: on Redis, and on a file alone.
func TestADayInTheLife(t *testing.T) {
	for name, url := range map[string]func(*testing.T) string{
		"file":  func(*testing.T) string { return "file:runs.db" },
		"redis": func(t *testing.T) string { return redistest.Start(t).URL() },
	} {
		t.Run(name, func(t *testing.T) {
			store := url(t)
			testscript.Run(t, testscript.Params{
				Dir: "testdata/day", RequireExplicitExec: true,
				Setup: func(e *testscript.Env) error {
					e.Setenv("NO_COLOR", "")
					e.Setenv("GORACE", noDelay)
					e.Setenv("SWRUN_STORE", store)
					return nil
				},
				Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "until": repeated},
			})
		})
	}
}

// repeated repeats a command until it prints something: until PATTERN swrun workers.
func repeated(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until PATTERN COMMAND...")
	}
	pattern := regexp.MustCompile("(?m)" + args[0])
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if err := ts.Exec(args[1], args[2:]...); err == nil && pattern.MatchString(ts.ReadFile("stdout")) {
			return
		}
	}
	ts.Fatalf("%s never prints %s", strings.Join(args[1:], " "), args[0])
}
