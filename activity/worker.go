// Package activity performs the activities of workflows in a Go program: it polls a swrun server for them, calls the functions that are
// registered for their types, and reports what these return. It is one client of the HTTP API; programs in other languages use the same
// operations (/v1/activities in /openapi.json).
//
//	w, err := activity.New(activity.Config{Server: "http://127.0.0.1:7474", Queues: []string{"images"}})
//	err = w.Register("resize", func(ctx context.Context, t *activity.Task) (any, error) {
//		var size Size
//		if err := t.Decode(&size); err != nil {
//			return nil, err
//		}
//		return resize(ctx, size)
//	})
//	err = w.Run(ctx)
package activity

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/shorten"
)

// Config says where a worker polls, and how much it performs. Server is required.
type Config struct {
	Server      string           // URL of the server
	Token       string           // for a server that asks for one
	Queues      []string         // default the queue "default"
	Namespace   string           // only activities of runs of this namespace; default all
	Concurrency int              // activities performed at a time; default 10
	Name        string           // of the worker, for people; default the host and the process
	Drain       time.Duration    // how long functions may go on when Run is stopped; default 30s
	Client      *http.Client     // default one that keeps its connections
	Log         *slog.Logger     // default discards
	Now         func() time.Time // default time.Now; only differences of it count
}

// Func performs an activity. What it returns is the result, of any Go type that encoding/json would write. An *Error says how the
// activity has failed; any other error is one of type runtime, and so are a panic, and a result that cannot be written as JSON or that the
// server refuses, such as one that is too large. When ctx ends, nobody waits for the result any more.
type Func func(ctx context.Context, t *Task) (any, error)

// Worker performs activities.
type Worker struct {
	c       Config
	api     *api
	reports *reports
	slots   chan struct{} // one for each activity that is performed
	work    sync.WaitGroup

	registering sync.Mutex      // guards what follows
	running     bool            // no other function is registered any more
	funcs       map[string]Func // is read without the lock once running is true
}

// ConfigError is a member of Config that cannot be.
type ConfigError struct {
	Field  string
	Detail string
}

func (e *ConfigError) Error() string { return e.Field + " " + e.Detail }

// New returns a worker that does nothing before Run. An invalid configuration is a *ConfigError.
func New(c Config) (*Worker, error) {
	server, err := url.Parse(c.Server)
	if err != nil || server.Scheme != "http" && server.Scheme != "https" || server.Host == "" || server.RawQuery != "" || server.Fragment != "" {
		return nil, &ConfigError{"Server", fmt.Sprintf("must be the URL of a server, such as http://127.0.0.1:7474, got %q", c.Server)}
	}
	if strings.ContainsFunc(c.Token, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return nil, &ConfigError{"Token", "must be one word, without white space or a line's end"}
	}
	if c.Concurrency < 0 {
		return nil, &ConfigError{"Concurrency", fmt.Sprintf("must not be negative, got %d", c.Concurrency)}
	}
	if c.Drain < 0 {
		return nil, &ConfigError{"Drain", fmt.Sprintf("must not be negative, got %s", c.Drain)}
	}
	c = c.withDefaults()
	calls := &api{client: c.Client, base: strings.TrimSuffix(c.Server, "/") + "/v1/activities/", token: c.Token, now: c.Now}
	return &Worker{c: c, api: calls, reports: &reports{api: calls}, funcs: map[string]Func{}, slots: make(chan struct{}, c.Concurrency)}, nil
}

func (c Config) withDefaults() Config {
	c.Concurrency = cmp.Or(c.Concurrency, 10)
	c.Drain = cmp.Or(c.Drain, 30*time.Second)
	if len(c.Queues) == 0 {
		c.Queues = []string{"default"}
	}
	if c.Name == "" {
		host, _ := os.Hostname() // without a name, the process is known alone
		c.Name = fmt.Sprintf("%s/%d", host, os.Getpid())
	}
	if c.Client == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 0, c.Concurrency+1
		c.Client = &http.Client{Transport: transport}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// Register has a function perform the activities of a type. A type that is blank or has a function already, a function that is nil, and a
// worker that has begun to run are a *RegisterError, and change nothing.
func (w *Worker) Register(kind string, f Func) error {
	w.registering.Lock()
	defer w.registering.Unlock()
	switch {
	case w.running:
		return &RegisterError{kind, "the worker runs already: register functions before Run"}
	case strings.TrimSpace(kind) == "":
		return &RegisterError{kind, "the type is blank"}
	case f == nil:
		return &RegisterError{kind, "the function is nil"}
	case w.funcs[kind] != nil:
		return &RegisterError{kind, "the type has a function already"}
	}
	w.funcs[kind] = f
	return nil
}

// RegisterError says why a function does not perform the activities of a type.
type RegisterError struct {
	Type   string
	Detail string
}

func (e *RegisterError) Error() string { return fmt.Sprintf("register %q: %s", e.Type, e.Detail) }

// ErrRunning is the error of a second Run.
var ErrRunning = errors.New("the worker runs already, or has run")

// Run performs activities until ctx ends. Then it takes no more, gives back what it has not begun, and waits until the functions have
// returned and their ends are reported, or Drain is over: that ends the contexts of the functions, and a second later the reports that have
// not arrived. Run waits no longer than that; functions that ignore the end of their contexts go on without it. What goes wrong on the way
// to the server is logged and tried again. The error is one of the server that does not pass: an *APIError, such as that of a token that
// does not count. A worker runs once: a second Run returns ErrRunning.
func (w *Worker) Run(ctx context.Context) error {
	if !w.begin() {
		return ErrRunning
	}
	reporting, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	performing, end := context.WithCancel(reporting)
	defer end()
	err := w.poll(ctx, performing, reporting)
	done := make(chan struct{})
	go func() { w.work.Wait(); close(done) }()
	drain := time.NewTimer(w.c.Drain)
	defer drain.Stop()
	select {
	case <-done:
	case <-drain.C:
		end()
		last := time.AfterFunc(lastReports, giveUp)
		defer last.Stop()
		<-done
	}
	return err
}

// begin reports whether the worker may run, which it may once.
func (w *Worker) begin() bool {
	w.registering.Lock()
	defer w.registering.Unlock()
	began := w.running
	w.running = true
	return !began
}

// lastReports is how long reports are tried once Drain is over.
const lastReports = time.Second

// poll takes activities and has them performed, until ctx ends.
func (w *Worker) poll(ctx, performing, reporting context.Context) error {
	for failures := 0; ; {
		free, ok := w.free(ctx)
		if !ok {
			return nil
		}
		tasks, err := w.ask(ctx, free)
		w.release(free - len(tasks))
		var refused *APIError
		switch {
		case ctx.Err() != nil:
			w.returnAll(reporting, tasks)
			return nil
		case errors.As(err, &refused) && !refused.passes():
			return err
		case err != nil:
			failures++
			w.c.Log.Warn("the server could not be asked for activities; it is asked again", "error", err)
			pause(ctx, failures)
		default:
			failures = 0
		}
		for _, t := range tasks {
			w.work.Go(func() { w.perform(performing, reporting, t) })
		}
	}
}

// ask polls for activities. When ctx ends it has the server end the poll, and returns what that has found: a request that is broken off
// may have taken activities that nobody would get then.
func (w *Worker) ask(ctx context.Context, most int) (tasks []*Task, err error) {
	asking, abort := context.WithCancel(context.WithoutCancel(ctx))
	defer abort()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		tasks, err = w.api.poll(asking, pollRequest{Queues: w.c.Queues, Limit: most, Wait: pollWait.String(), Worker: w.c.Name, Namespace: w.c.Namespace})
	}()
	select {
	case <-answered:
		return tasks, err
	case <-ctx.Done():
	}
	last := time.AfterFunc(endPollWithin, abort)
	defer last.Stop()
	for { // the poll may be on its way yet
		_ = w.api.post(asking, "stop", stopped{w.c.Name}, nil) // what matters is whether the poll is answered
		select {
		case <-answered:
			return tasks, err
		case <-time.After(endPollAgain):
		}
	}
}

// endPollWithin is how long a server may take to end a poll, and endPollAgain how long it takes until it is asked to again.
const (
	endPollWithin = 2 * time.Second
	endPollAgain  = 50 * time.Millisecond
)

// pollWait is how long the server keeps a poll that finds nothing.
const pollWait = 20 * time.Second

// maxPolled is how many activities a server gives away at a time.
const maxPolled = 1000

// free waits until something can be performed, takes the slots for it, and returns how many. A worker that is busy asks for several
// activities at a time.
func (w *Worker) free(ctx context.Context) (slots int, ok bool) {
	select {
	case w.slots <- struct{}{}:
		slots = 1
	case <-ctx.Done():
		return 0, false
	}
	most := min(cap(w.slots), maxPolled)
	gathering := time.NewTimer(gatherFor)
	defer gathering.Stop()
	for slots < most {
		select {
		case w.slots <- struct{}{}:
			slots++
			continue
		default:
		}
		if 4*slots >= most {
			return slots, true
		}
		select {
		case w.slots <- struct{}{}:
			slots++
		case <-gathering.C:
			return slots, true
		case <-ctx.Done():
			w.release(slots)
			return 0, false
		}
	}
	return slots, true
}

// gatherFor is how long a worker whose slots are nearly all taken waits for more of them before it polls.
const gatherFor = 2 * time.Millisecond

func (w *Worker) release(slots int) {
	for range slots {
		<-w.slots
	}
}

// returnAll gives back what is not performed, so that others may take it at once. What is not given back in time, others take when its
// deadline has passed.
func (w *Worker) returnAll(ctx context.Context, tasks []*Task) {
	ctx, cancel := context.WithTimeout(ctx, requestWithin)
	defer cancel()
	for _, t := range tasks {
		if err := w.api.post(ctx, "return", returned{t.token}, nil); err != nil {
			w.c.Log.Warn("an activity could not be given back", "type", t.Type, "run", t.Run.String(), "error", err)
		}
		w.release(1)
	}
}

// perform performs one activity, and reports how that went.
func (w *Worker) perform(performing, reporting context.Context, t *Task) {
	defer w.release(1)
	ctx, stop := t.context(performing)
	defer stop(nil)
	t.worker, t.stop = w, stop
	var one *report
	select {
	case one = <-w.call(ctx, t):
	case <-reporting.Done():
		w.c.Log.Warn("the function of an activity goes on although its context has ended", "type", t.Type, "run", t.Run.String(), "attempt", t.Attempt)
		return
	}
	if superseded(context.Cause(ctx)) {
		return // it would be refused
	}
	if err := w.reports.sendAgain(reporting, one, t.reportUntil(w.c.Now())); err != nil {
		w.c.Log.Warn("what an activity came to could not be reported", "type", t.Type, "run", t.Run.String(), "attempt", t.Attempt, "error", err)
	}
}

// call calls the function of an activity. It does so in a goroutine of its own, which nobody waits for once Run has given up: a function
// may ignore that its context ends, and may end its goroutine.
func (w *Worker) call(ctx context.Context, t *Task) <-chan *report {
	called := make(chan *report, 1)
	go func() {
		var one *report
		defer func() {
			if v := recover(); one == nil {
				one = newReport(t.token, nil, w.broken(t, v))
			}
			called <- one
		}()
		result, err := w.function(t.Type)(ctx, t)
		one = newReport(t.token, result, err) // calls methods of the result, too
	}()
	return called
}

// broken returns the error of a function that has not returned.
func (w *Worker) broken(t *Task, v any) error {
	if v == nil {
		return errors.New("the function ended its goroutine")
	}
	w.c.Log.Error("the function of an activity panicked", "type", t.Type, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
	return errors.New("the function panicked: " + shorten.Panic(v))
}

// function returns what performs the activities of a type.
func (w *Worker) function(kind string) Func {
	if f := w.funcs[kind]; f != nil {
		return f
	}
	return func(context.Context, *Task) (any, error) {
		return nil, &Error{Type: errors.Configuration, Detail: fmt.Sprintf("this worker performs no activities of the type %s; it performs %s", kind, w.types())}
	}
}

func (w *Worker) types() string {
	var all []string
	for kind := range w.funcs {
		all = append(all, kind)
	}
	if len(all) == 0 {
		return "none"
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
