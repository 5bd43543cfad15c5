package activity_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/activity"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/server"
)

// deployment is a server over a store in memory, on which an engine works.
type deployment struct {
	*httptest.Server
	engine *swrun.Engine
	broken atomic.Int64 // requests that are still to fail
}

func mustServe(t *testing.T) *deployment {
	t.Helper()
	s, err := swrun.OpenStore(t.Context(), "memory:", swrun.StoreConfig{})
	if err != nil {
		t.Fatal(err)
	}
	d := &deployment{}
	if d.engine, err = swrun.NewEngine(s, swrun.EngineConfig{}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	worked := make(chan error, 1)
	go func() { worked <- d.engine.Work(ctx) }()
	api := server.New(server.Config{Control: control.New(d.engine, s, time.Now), Authorize: server.TrustEveryone})
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d.broken.Add(-1) >= 0 {
			panic(http.ErrAbortHandler) // the connection breaks
		}
		api.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		d.Close()
		stop()
		if err := <-worked; err != nil {
			t.Error(err)
		}
	})
	return d
}

func (d *deployment) start(t *testing.T, tasks string) *swrun.Run {
	t.Helper()
	document, err := swrun.Parse("", []byte("document: {dsl: 1.0.3, namespace: demo, name: a, version: 1.0.0}\n"+tasks))
	if err != nil {
		t.Fatal(err)
	}
	run, err := d.engine.StartDocument(t.Context(), document, map[string]any{"n": 7}, swrun.StartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// work runs a worker with one function until the function that it returns is called.
func (d *deployment) work(t *testing.T, c activity.Config, kind string, f activity.Func) (stop func()) {
	t.Helper()
	c.Server = d.URL
	w, err := activity.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Register(kind, f); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	return sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func output(t *testing.T, run *swrun.Run) string {
	t.Helper()
	result, err := run.Await(t.Context())
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(result.Output)
}

// TestWorkerOfManySlots: a worker may have more slots than a server gives activities away at a time.
func TestWorkerOfManySlots(t *testing.T) {
	d := mustServe(t)
	defer d.work(t, activity.Config{Concurrency: 5000}, "x", func(context.Context, *activity.Task) (any, error) { return "done", nil })()
	if got := output(t, d.start(t, "do: [{a: {call: 'activity:1.0.0@default', with: {type: x}}}]")); got != "done" {
		t.Errorf("got %s", got)
	}
}

// TestWorker: results, errors, panics and unknown types come to the run; so do they if connections break.
func TestWorker(t *testing.T) {
	d := mustServe(t)
	stop := d.work(t, activity.Config{}, "add", func(_ context.Context, task *activity.Task) (any, error) {
		var input struct{ N int }
		if err := task.Decode(&input); err != nil {
			return nil, err
		}
		switch {
		case input.N == 0:
			panic("no number")
		case input.N < 0:
			return nil, &activity.Error{Type: "https://example.com/negative", Detail: "it is negative", Status: 422, NonRetryable: true}
		case input.N > 100:
			return nil, errors.New("it is too large")
		}
		return map[string]any{"n": input.N + 1, "attempt": task.Attempt, "key": task.Key != ""}, nil
	})
	defer stop()
	call := func(input, more string) string {
		return `do: [{t: {try: [{a: {call: 'activity:1.0.0@default', with: {type: add, input: ` + input + more + `}}}], catch: {as: e, do: [{c: {set: "${ [$e.type, $e.status, $e.detail, $e.nonRetryable] }"}}]}}}]`
	}
	for name, c := range map[string]struct{ tasks, want string }{
		"a result":            {call("{n: 1}", ""), "map[attempt:1 key:true n:2]"},
		"an error":            {call("{n: -1}", ", retry: {maxAttempts: 5}"), "[https://example.com/negative 422 it is negative true]"},
		"any other error":     {call("{n: 101}", ""), "[https://serverlessworkflow.io/spec/1.0.0/errors/runtime 500 it is too large <nil>]"},
		"a panic":             {call("{n: 0}", ""), "[https://serverlessworkflow.io/spec/1.0.0/errors/runtime 500 the function panicked: no number <nil>]"},
		"broken connections":  {call("{n: 2}", ""), "map[attempt:1 key:true n:3]"},
		"an input of nothing": {call("null", ""), "map[attempt:1 key:true n:8]"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "broken connections" {
				d.broken.Store(3)
			}
			if got := output(t, d.start(t, c.tasks)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	unknown := d.start(t, `do: [{a: {call: 'activity:1.0.0@default', with: {type: other}}}]`)
	if got := output(t, unknown); !strings.Contains(got, "performs no activities of the type other; it performs add") {
		t.Errorf("an unknown type: %s", got)
	}
}

// TestWorkerHeartbeats: what is not to go on is told by a heartbeat, and ends the function's context.
func TestWorkerHeartbeats(t *testing.T) {
	d := mustServe(t)
	began, ended := make(chan struct{}), make(chan error, 1)
	stop := d.work(t, activity.Config{}, "long", func(ctx context.Context, task *activity.Task) (any, error) {
		if task.Heartbeats != time.Minute || time.Until(task.Deadline) > time.Hour || task.Deadline.IsZero() {
			t.Errorf("heartbeats within %s, deadline %s", task.Heartbeats, task.Deadline)
		}
		close(began)
		for ctx.Err() == nil {
			if err := task.Heartbeat(ctx, map[string]any{"at": 1}); err != nil {
				ended <- err
			}
		}
		return nil, context.Cause(ctx)
	})
	defer stop()
	run := d.start(t, `do: [{a: {call: 'activity:1.0.0@default', with: {type: long, timeouts: {heartbeat: PT1M, startToClose: PT1H}}}}]`)
	<-began
	if err := run.Cancel(t.Context(), "enough"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, activity.ErrCancelled) {
		t.Errorf("the heartbeat returns %v", err)
	}
}

// TestHeartbeatsBearBrokenConnections: a function does not notice that its server is gone for a while. What cannot be written is its mistake.
func TestHeartbeatsBearBrokenConnections(t *testing.T) {
	d := mustServe(t)
	defer d.work(t, activity.Config{}, "x", func(ctx context.Context, task *activity.Task) (any, error) {
		if err := task.Heartbeat(ctx, make(chan int)); err == nil || !strings.Contains(err.Error(), "write the progress") {
			t.Errorf("a channel as progress: %v", err)
		}
		d.broken.Store(5)
		if err := task.Heartbeat(ctx, 1); err != nil {
			return nil, err
		}
		d.broken.Store(1 << 40)
		defer d.broken.Store(0)
		ended, end := context.WithCancel(ctx)
		end()
		if err := task.Heartbeat(ended, 2); !errors.Is(err, context.Canceled) {
			t.Errorf("a heartbeat whose context has ended: %v", err)
		}
		return "done", nil
	})()
	if got := output(t, d.start(t, "do: [{a: {call: 'activity:1.0.0@default', with: {type: x}}}]")); got != "done" {
		t.Errorf("got %s", got)
	}
}

// TestWorkerStops: it finishes what it performs, and gives back what it has not begun.
func TestWorkerStops(t *testing.T) {
	d := mustServe(t)
	began, goOn := make(chan struct{}), make(chan struct{})
	stop := d.work(t, activity.Config{Concurrency: 1}, "x", func(context.Context, *activity.Task) (any, error) {
		close(began)
		<-goOn
		return "done", nil
	})
	first := d.start(t, `do: [{a: {call: 'activity:1.0.0@default', with: {type: x}}}]`)
	<-began
	second := d.start(t, `do: [{a: {call: 'activity:1.0.0@default', with: {type: x}}}]`)
	stopped := make(chan struct{})
	go func() { stop(); close(stopped) }()
	close(goOn)
	<-stopped
	if got := output(t, first); got != "done" {
		t.Errorf("what was performed ends with %s", got)
	}
	defer d.work(t, activity.Config{}, "x", func(context.Context, *activity.Task) (any, error) { return "by another", nil })()
	if got := output(t, second); got != "by another" {
		t.Errorf("what was not begun ends with %s", got)
	}
}

// TestWorkersComeAndGo: no activity is lost with a worker that stops just when it is given one.
func TestWorkersComeAndGo(t *testing.T) {
	d := mustServe(t)
	for range 50 {
		stop := d.work(t, activity.Config{}, "x", func(context.Context, *activity.Task) (any, error) { return "done", nil })
		started := make(chan *swrun.Run)
		go func() { started <- d.start(t, "do: [{a: {call: 'activity:1.0.0@default', with: {type: x}}}]") }()
		stop()
		run := <-started
		stop = d.work(t, activity.Config{}, "x", func(context.Context, *activity.Task) (any, error) { return "done", nil })
		if got := output(t, run); got != "done" {
			t.Fatalf("got %s", got)
		}
		stop()
	}
}

// TestWorkerStopsWithoutItsServer: a worker whose server is gone ends soon after Drain, however long its activities may take.
func TestWorkerStopsWithoutItsServer(t *testing.T) {
	d := mustServe(t)
	began := make(chan struct{})
	stop := d.work(t, activity.Config{Drain: time.Millisecond}, "x", func(ctx context.Context, _ *activity.Task) (any, error) {
		close(began)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	d.start(t, `do: [{a: {call: 'activity:1.0.0@default', with: {type: x, timeouts: {startToClose: PT1H}}}}]`)
	<-began
	d.broken.Store(1 << 40)
	stop()
}

// panics cannot be written as JSON.
type panics struct{}

func (panics) MarshalJSON() ([]byte, error) { panic("no JSON") }

// wrong is an error whose method needs a value.
type wrong struct{ text string }

func (w *wrong) Error() string { return w.text }

// TestEveryEndIsReported: whatever a function does, its run gets to know it, and the worker goes on. What the server refuses is a failure.
func TestEveryEndIsReported(t *testing.T) {
	d := mustServe(t)
	for name, c := range map[string]struct {
		f    func() (any, error)
		want string
	}{
		"a result that is too large": {func() (any, error) { return strings.Repeat("x", 6<<20), nil }, "at most 5 MiB"},
		"an error that is too long":  {func() (any, error) { return nil, errors.New(strings.Repeat("x", 6<<20)) }, "xxx"},
		"a title that is too long": {func() (any, error) {
			return nil, &activity.Error{Title: strings.Repeat("ü", 6<<10), Detail: "it is long"}
		}, "it is long"},
		"a result that panics":                   {func() (any, error) { return panics{}, nil }, "the function panicked: no JSON"},
		"a result without JSON":                  {func() (any, error) { return make(chan int), nil }, "unsupported type: chan int"},
		"a result with a name twice":             {func() (any, error) { return json.RawMessage(`{"a":1,"a":2}`), nil }, "stands twice"},
		"a result that is not UTF-8":             {func() (any, error) { return json.RawMessage("\"\xff\""), nil }, "is not UTF-8"},
		"an error that is a nil *activity.Error": {func() (any, error) { return nil, (*activity.Error)(nil) }, "an error that is nil"},
		"an error that is nil inside":            {func() (any, error) { return nil, (*wrong)(nil) }, "the function panicked: runtime error: invalid memory address"},
		"an error of no status":                  {func() (any, error) { return nil, &activity.Error{Detail: "odd", Status: 9} }, "status"},
		"an error of no type":                    {func() (any, error) { return nil, &activity.Error{Type: "not a type", Detail: "odd"} }, "must be a URI"},
		"a panic with nil":                       {func() (any, error) { panic(nil) }, "the function panicked: panic called with nil"},
		"the end of its goroutine":               {func() (any, error) { runtime.Goexit(); return nil, nil }, "the function ended its goroutine"},
	} {
		t.Run(name, func(t *testing.T) {
			defer d.work(t, activity.Config{}, "x", func(context.Context, *activity.Task) (any, error) { return c.f() })()
			if got := output(t, d.start(t, "do: [{a: {call: 'activity:1.0.0@default', with: {type: x}}}]")); !strings.Contains(got, c.want) {
				t.Errorf("got %.300s, want %s", got, c.want)
			}
		})
	}
}

// TestRefusedIsNotRetried: what a function says about another attempt holds also if the server refuses the rest of it.
func TestRefusedIsNotRetried(t *testing.T) {
	d := mustServe(t)
	var attempts atomic.Int64
	defer d.work(t, activity.Config{}, "x", func(context.Context, *activity.Task) (any, error) {
		attempts.Add(1)
		return nil, &activity.Error{Status: 9, NonRetryable: true}
	})()
	output(t, d.start(t, "do: [{a: {call: 'activity:1.0.0@default', with: {type: x, retry: {maxAttempts: 3, backoff: [PT0S]}}}}]"))
	if got := attempts.Load(); got != 1 {
		t.Errorf("%d attempts", got)
	}
}

// TestRefusedAmongOthers: one report that the server refuses does not harm those that it is told of with the same request.
func TestRefusedAmongOthers(t *testing.T) {
	d := mustServe(t)
	const many = 60
	var together sync.WaitGroup
	together.Add(many)
	defer d.work(t, activity.Config{Concurrency: many}, "x", func(_ context.Context, task *activity.Task) (any, error) {
		var input struct{ I int }
		err := task.Decode(&input)
		together.Done()
		together.Wait()
		if input.I%10 == 0 {
			return json.RawMessage(`{"a":1,"a":2}`), nil
		}
		return "good", err
	})()
	run := d.start(t, `do:
- all:
    fork:
      branches: [`+func() (branches string) {
		for i := range many {
			branches += fmt.Sprintf("{b%d: {try: [{a: {call: 'activity:1.0.0@default', with: {type: x, input: {i: %d}}}}], catch: {do: [{c: {set: '${ \"refused\" }'}}]}}}, ", i, i)
		}
		return branches
	}()+`]
    output: {as: '${ group_by(.) | map([.[0], length]) }'}
`)
	if got := output(t, run); got != fmt.Sprintf("[[good %d] [refused %d]]", many-many/10, many/10) {
		t.Errorf("got %s", got)
	}
}

// TestWorkerStopsWithoutItsFunctions: a function that ignores that its time is over does not keep the worker.
func TestWorkerStopsWithoutItsFunctions(t *testing.T) {
	d := mustServe(t)
	began, never := make(chan struct{}), make(chan struct{})
	stop := d.work(t, activity.Config{Drain: time.Millisecond}, "x", func(context.Context, *activity.Task) (any, error) {
		close(began)
		<-never
		return nil, nil
	})
	defer close(never)
	d.start(t, `do: [{a: {call: 'activity:1.0.0@default', with: {type: x}}}]`)
	<-began
	stop()
}

// TestWorkerConfig: what cannot be is refused, by New or by the server.
func TestWorkerConfig(t *testing.T) {
	for _, c := range []activity.Config{
		{}, {Server: "localhost:7474"}, {Server: "ftp://x"}, {Server: "http://"}, {Server: "http://x?a=b"}, {Server: "http://x#a"}, {Server: "http://x", Token: "read from a file\n"}, {Server: "http://x", Concurrency: -1}, {Server: "http://x", Drain: -1},
	} {
		var wrong *activity.ConfigError
		if _, err := activity.New(c); !errors.As(err, &wrong) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	d := mustServe(t)
	w, err := activity.New(activity.Config{Server: d.URL, Queues: []string{"not a queue"}})
	if err != nil {
		t.Fatal(err)
	}
	var refused *activity.APIError
	if err := w.Run(t.Context()); !errors.As(err, &refused) || refused.Status != 422 {
		t.Errorf("the worker ends with %v", err)
	}
}
