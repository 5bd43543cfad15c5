package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/redisstore/redistest"
)

// TestADayInTheLife: deploy, start, watch, time out, fix, fork, export, and a night on call, in several real processes: on Redis, and on a file
// alone.
func TestADayInTheLife(t *testing.T) {
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		runsOn(t, "file:runs.db", testscript.Params{Dir: "testdata/day"})
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		runsOn(t, redistest.Start(t).URL(), testscript.Params{Dir: "testdata/day"})
	})
}

// TestTroubleOnRedis: groups of trouble, and lists of events, are the same on Redis and on a file (TestScripts).
func TestTroubleOnRedis(t *testing.T) {
	files := []string{}
	for _, name := range []string{"trouble", "trouble_groups", "events_lists", "timeout_called"} {
		files = append(files, filepath.Join("testdata", "script", name+".txtar"))
	}
	runsOn(t, redistest.Start(t).URL(), testscript.Params{Files: files})
}

// runsOn runs scripts on a store; on Redis each has a deployment of its own. They may call a service, whose URL is in SERVICE.
func runsOn(t *testing.T, store string, p testscript.Params) {
	p.RequireExplicitExec = true
	p.Setup = func(e *testscript.Env) error {
		own := store
		if strings.HasPrefix(store, "redis:") {
			own += "/?deployment=" + strings.ReplaceAll(filepath.Base(e.WorkDir), "_", "-")
		}
		e.Setenv("NO_COLOR", "")
		e.Setenv("GORACE", noDelay)
		e.Setenv("SWRUN_STORE", own)
		e.Setenv("STORE", own)
		e.Setenv("SERVICE", serviceOf(e))
		return nil
	}
	p.Cmds = scriptCommands()
	testscript.Run(t, p)
}

// scriptCommands returns the commands of scripts besides the commands of testscript.
func scriptCommands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "until": repeated, "times": times, "group": kept}
}

// serviceOf starts a service for a script. It answers 503 until the file bank-is-up exists, and never answers at /silent.
func serviceOf(e *testscript.Env) string {
	over := make(chan struct{})
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/silent") {
			select {
			case <-r.Context().Done():
			case <-over:
			}
			return
		}
		if _, err := os.Stat(filepath.Join(e.WorkDir, "bank-is-up")); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	e.Defer(service.Close)
	e.Defer(func() { close(over) })
	return service.URL
}

// TestANightTakesTwelveCommands: the forty runs of the night are repaired or decided with twelve commands, including the first look.
func TestANightTakesTwelveCommands(t *testing.T) {
	text, err := os.ReadFile("testdata/day/night.txtar")
	if err != nil {
		t.Fatal(err)
	}
	_, night, begins := strings.Cut(string(text), "\n# The night begins")
	night, _, ends := strings.Cut(night, "\n# The night is over")
	if !begins || !ends {
		t.Fatal("the script does not say when the night begins and when it is over")
	}
	commands := regexp.MustCompile(`(?m)^(exits|exec|until|times|cp|mkdir|rm|mv) .*`).FindAllString(night, -1)
	if len(commands) == 0 || len(commands) > 12 {
		t.Errorf("the night takes %d commands, want at most 12:\n%s", len(commands), strings.Join(commands, "\n"))
	}
}

// times repeats a command a number of times, with the number of the repetition for {n}: times 3 swrun start demo/order --id order-{n}.
func times(ts *testscript.TestScript, neg bool, args []string) {
	n := 0
	if len(args) > 1 {
		n, _ = strconv.Atoi(args[0])
	}
	if neg || n == 0 {
		ts.Fatalf("usage: times N COMMAND...")
	}
	for i := 1; i <= n; i++ {
		one := strings.Split(strings.ReplaceAll(strings.Join(args[1:], "\x00"), "{n}", strconv.Itoa(i)), "\x00")
		ts.Check(ts.Exec(one[0], one[1:]...))
	}
}

// kept keeps the first word of the line of the last output that matches, as a variable: group BANK 'communication .* 10'.
func kept(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: group VARIABLE PATTERN")
	}
	output := ts.ReadFile("stdout")
	line := regexp.MustCompile("(?m)^.*" + args[1] + ".*$").FindString(output)
	if line == "" {
		ts.Fatalf("no line has %s in:\n%s", args[1], output)
	}
	ts.Setenv(args[0], strings.Fields(line)[0])
}

// repeated repeats a command until its output matches a pattern: until PATTERN swrun workers.
func repeated(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until PATTERN COMMAND...")
	}
	pattern := regexp.MustCompile("(?m)" + args[0])
	for deadline := time.Now().Add(pacetest.Patience); time.Now().Before(deadline); {
		if err := ts.Exec(args[1], args[2:]...); err == nil && pattern.MatchString(ts.ReadFile("stdout")) {
			return
		}
	}
	ts.Fatalf("%s never prints %s", strings.Join(args[1:], " "), args[0])
}
