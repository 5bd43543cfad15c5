package runtime_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// logText is a worker's log as text.
type logText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logText) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

// has reports that exactly one line of level INFO fits a pattern.
func (l *logText) has(t *testing.T, pattern string) {
	t.Helper()
	l.hasAt(t, slog.LevelInfo, pattern)
}

// hasAt reports that exactly one line of a level fits a pattern.
func (l *logText) hasAt(t *testing.T, level slog.Level, pattern string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(regexp.MustCompile("(?m)^level="+level.String()+" msg="+pattern+"$").FindAllString(l.text.String(), -1)); n != 1 {
		t.Errorf("%d lines of %s fit %s:\n%s", n, level, pattern, l.text.String())
	}
}

// TestLinesOfTheLogAreBounded: an error may quote much.
func TestLinesOfTheLogAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, log := newHost(t), &logText{}
		h.perform = func(context.Context, interpreter.Request) (any, error) {
			return nil, errors.Communicationf("%s", strings.Repeat("ü", 1<<20))
		}
		defer h.work(worker.Config{Log: log.logger()})()
		h.wait(h.start("do: [{a: "+task+"}]", client.StartOptions{ID: "bad"}))
		log.has(t, `"a task has faulted" run=test/bad task=/do/0/a error=".*üü…"`)
		for line := range strings.Lines(log.text.String()) {
			if len(line) > 3000 {
				t.Errorf("a line has %d bytes", len(line))
			}
		}
	})
}

// TestWorkersLogWhatHappens in one line each: starts, ends, faults, timeouts.
func TestWorkersLogWhatHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, log := newHost(t), &logText{}
		h.perform = func(context.Context, interpreter.Request) (any, error) {
			return nil, errors.Communicationf("nobody is there")
		}
		defer h.work(worker.Config{Log: log.logger()})()
		late := h.start("do: [{a: {try: [{b: {wait: PT2S, timeout: {after: PT1S}}}], catch: {do: [{c: {set: {x: 1}}}]}}}]", client.StartOptions{ID: "late"})
		h.wait(late)
		h.wait(h.start("do: [{a: "+task+"}]", client.StartOptions{ID: "bad"}))
		h.wait(h.start("timeout: {after: PT1S}\ndo: [{a: {wait: PT2S}}]", client.StartOptions{ID: "out"}))
		i := h.start("do: [{a: {wait: PT1H}}]", client.StartOptions{ID: "gone"})
		time.Sleep(time.Minute)
		h.must(h.client.Cancel(t.Context(), i, "enough"))
		h.wait(i)
		delayed := h.start("do: [{a: {set: {x: 1}}}]", client.StartOptions{ID: "delayed", Delay: time.Hour})
		h.must(h.client.Cancel(t.Context(), delayed, "too late"))
		h.wait(delayed)
		h.wait(h.start("do: [{a: {set: {x: 1}}}]", client.StartOptions{ID: "expired", Delay: time.Hour, Deadline: time.Now().Add(time.Minute)}))
		for _, pattern := range []string{
			`"a run has started" run=test/late workflow=test/a:0.1.0`,
			`"a task has timed out" run=test/late task=/do/0/a/try/0/b error=".*" caughtBy=/do/0/a`,
			fmt.Sprintf(`"a run has ended: completed" run=test/late records=%d took=1s`, len(h.records(late))),
			`"a run has started" run=test/bad .*`,
			`"a task has faulted" run=test/bad task=/do/0/a error=".*nobody is there.*"`,
			`"a run has ended: faulted" run=test/bad .* error=".*nobody is there.*"`,
			`"a run has ended: timed out" run=test/out .* took=1s error=".*"`,
			`"a run has ended: cancelled" run=test/gone .* took=1m.*`,
			`"a run has ended: cancelled" run=test/delayed records=\d+`,
			`"a run has ended: timed out" run=test/expired records=\d+ error=".*"`,
		} {
			log.has(t, pattern)
		}
	})
}

// TestAWorkerThatStopsLogsWhatItWaitsFor, and when it waits no longer.
func TestAWorkerThatStopsLogsWhatItWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, log := newHost(t), &logText{}
		h.perform = hanging
		stop := h.work(worker.Config{Log: log.logger(), Drain: 20 * time.Second})
		for range 12 {
			h.start("do: [{a: "+task+"}]", client.StartOptions{})
		}
		h.start("do: [{a: "+task+"}]", client.StartOptions{ID: "last"})
		time.Sleep(5 * time.Second)
		stop()
		log.has(t, `"the worker stops, and waits for effects in progress" inProgress=13 drain=20s`)
		log.has(t, `"the worker waits for more effects" more=3`)
		log.has(t, `"the drain time is over: effects in progress are given up, and another worker performs them again" inProgress=13`)
		if n := strings.Count(log.text.String(), `msg="the worker waits for an effect" run=test/`); n != 10 || !strings.Contains(log.text.String(), `kind="run shell" task=/do/0/a for=5s`) {
			t.Errorf("%d effects are named:\n%s", n, log.text.String())
		}
		idle := &logText{}
		h.work(worker.Config{Store: h.store, Log: idle.logger(), Only: func(store.Instance) bool { return false }})()
		idle.has(t, `"the worker stops; nothing is in progress"`)
	})
}

// TestQuarantineIsLogged, and the losses before it.
func TestQuarantineIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, log := newHost(t), &logText{}
		h.perform = func(context.Context, interpreter.Request) (any, error) { return "done", nil }
		i := h.start("timeout: {after: PT1H}\ndo: [{a: "+task+"}]", client.StartOptions{ID: "deadly"})
		for range store.DefaultMaxDeaths {
			h.claim(i, time.Second)
			time.Sleep(2 * time.Second)
			_, err := h.store.Promote(t.Context(), store.Promote{Partition: i.Partition(h.store.Layout().Partitions), Instances: []store.Instance{i}})
			h.must(err)
		}
		defer h.work(worker.Config{Log: log.logger()})()
		time.Sleep(5 * time.Second)
		log.hasAt(t, slog.LevelError, `"a run is quarantined: .*" run=test/deadly workersLost=\d+`)
	})
}

// TestStartsThatNobodyWaitsForAreLogged: refused detached starts are logged, since no run reports them.
func TestStartsThatNobodyWaitsForAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, log := newHost(t), &logText{}
		defer h.work(worker.Config{Log: log.logger()})()
		h.wait(h.start("do: [{a: {run: {workflow: {namespace: test, name: none, version: latest}, await: false}}}]", client.StartOptions{ID: "parent"}))
		time.Sleep(time.Second)
		log.hasAt(t, slog.LevelError, `"a run cannot be started" workflow=test/none:latest by=test/parent error=".*the workflow test/none:latest is not deployed here"`)
	})
}
