package swrun_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

type panickingJSON struct{}

func (panickingJSON) MarshalJSON() ([]byte, error) { panic("while it is written") }

type panickingText struct{}

func (panickingText) String() string { panic("while it is shown") }

// TestPanicsOfPerformers: a panic is an error of one line that the workflow can catch, in memory and in a store. Its stack is logged.
func TestPanicsOfPerformers(t *testing.T) {
	d := mustParse(t, "do: [{a: {try: [{b: {call: x@default}}], catch: {as: e, do: [{c: {set: {type: '${ $e.type }', detail: '${ $e.detail }'}}}]}}}]\n")
	for name, c := range map[string]struct {
		perform swrun.Performer
		want    string
	}{
		"text":          {func(context.Context, swrun.Call) (any, error) { panic("a bug") }, "panicked: a bug"},
		"nil":           {func(context.Context, swrun.Call) (any, error) { panic(nil) }, "panicked: panic called with nil argument"},
		"an error":      {func(context.Context, swrun.Call) (any, error) { panic(errors.New("no")) }, "panicked: no"},
		"a wrong index": {func(_ context.Context, c swrun.Call) (any, error) { return []int{}[c.Attempt], nil }, "index out of range"},
		//lint:ignore SA5000 the panic is tested
		"a nil map":      {func(context.Context, swrun.Call) (any, error) { var m map[string]int; m["a"]++; return m, nil }, "nil map"},
		"large":          {func(context.Context, swrun.Call) (any, error) { panic(strings.Repeat("x", 1<<20)) }, "panicked: xxx"},
		"several lines":  {func(context.Context, swrun.Call) (any, error) { panic("first\n\tsecond\r\nthird") }, "panicked: first second third"},
		"a value itself": {func(context.Context, swrun.Call) (any, error) { panic(panickingText{}) }, "while it is shown"},
		"in its result":  {func(context.Context, swrun.Call) (any, error) { return panickingJSON{}, nil }, "while it is written"},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			host := swrun.Host{Calls: map[string]swrun.Performer{"x@default": c.perform}, Log: slog.New(slog.NewTextHandler(&log, nil))}
			check := func(result swrun.Result, err error) {
				t.Helper()
				var caught struct{ Type, Detail string }
				if err != nil || result.Decode(&caught) != nil || !strings.HasSuffix(caught.Type, "/runtime") || !strings.Contains(caught.Detail, c.want) {
					t.Fatalf("got %v, %v, want %q", result.Output, err, c.want)
				}
				if len(caught.Detail) > 1000 || strings.Contains(caught.Detail, "goroutine ") || !strings.HasPrefix(caught.Detail, "the performer of x@default") {
					t.Errorf("the error is %q", caught.Detail)
				}
			}
			check(d.Run(t.Context(), nil, swrun.RunConfig{Host: host}))
			if !strings.Contains(log.String(), "goroutine ") || !strings.Contains(log.String(), "x@default") {
				t.Errorf("the log is %q", log.String())
			}
			engine := mustEngine(t, "memory:", swrun.EngineConfig{Host: host})
			defer work(t, engine)()
			run, err := engine.StartDocument(t.Context(), d, nil, swrun.StartOptions{})
			if err != nil {
				t.Fatal(err)
			}
			check(run.Await(t.Context()))
		})
	}
}

// TestPerformerEndsItsGoroutine: if a performer ends its goroutine, as FailNow of a test does, its caller gets an error.
func TestPerformerEndsItsGoroutine(t *testing.T) {
	d := mustParse(t, "do: [{a: {call: x@default}}]\n")
	exit := func(context.Context, swrun.Call) (any, error) { runtime.Goexit(); return nil, nil }
	_, err := d.Run(t.Context(), nil, swrun.RunConfig{Host: swrun.Host{Calls: map[string]swrun.Performer{"x@default": exit}}})
	if err == nil || !strings.Contains(err.Error(), "goroutine") {
		t.Errorf("got %v", err)
	}
}

// TestPanicsOfCallbacks: a panic of Publish or Observe does not end a worker.
func TestPanicsOfCallbacks(t *testing.T) {
	d := mustParse(t, "do: [{a: {emit: {event: {with: {source: 'https://x.test', type: t}}}}}, {b: {set: {done: true}}}]\n")
	published := make(chan bool)
	times := 0
	publish := func(context.Context, map[string]any) error {
		if times++; times == 1 {
			panic("no")
		}
		published <- true
		return nil
	}
	observe := func(store.Instance, []interpreter.HistoryEvent) { panic("no") }
	engine := mustEngine(t, "memory:", swrun.EngineConfig{Host: swrun.Host{Publish: publish}, Observe: observe})
	defer work(t, engine)()
	run, err := engine.StartDocument(t.Context(), d, nil, swrun.StartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if result, err := run.Await(t.Context()); err != nil {
		t.Errorf("got %v, %v", result, err)
	}
	<-published
	always := swrun.Host{Publish: func(context.Context, map[string]any) error { panic("always") }}
	if _, err := d.Run(t.Context(), nil, swrun.RunConfig{Host: always}); err == nil || !strings.HasSuffix(err.Error(), "Host.Publish panicked: always") {
		t.Errorf("in memory: %v", err)
	}
	if err := run.History(t.Context(), func(client.HistoryEntry) error { return fmt.Errorf("enough") }); err == nil {
		t.Error("the error of a callback is lost")
	}
}

// work lets an engine work until the returned function is called.
func work(t *testing.T, engine *swrun.Engine) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- engine.Work(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
