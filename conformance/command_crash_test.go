package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/filter"
	"github.com/swrun/swrun/runtime/store"
)

// mortal is the store of a caller that is lost at a write: before the write is stored, or after that and before the answer.
type mortal struct {
	store.Store
	writes atomic.Int64
	at     int64 // the write at which the caller is lost; 0 for none
	stored bool
}

var errLost = errors.New("the asker is lost")

// write does a write, unless the caller is lost.
func write[A any](m *mortal, do func() (A, error)) (answer A, err error) {
	n := m.writes.Add(1)
	if m.at == 0 || n < m.at {
		return do()
	}
	if n == m.at && m.stored {
		_, err = do()
	}
	return answer, errors.Join(errLost, err)
}

func (m *mortal) Start(ctx context.Context, c store.Start) (store.Started, error) {
	return write(m, func() (store.Started, error) { return m.Store.Start(ctx, c) })
}

func (m *mortal) Command(ctx context.Context, c store.Command) error {
	_, err := write(m, func() (any, error) { return nil, m.Store.Command(ctx, c) })
	return err
}

func (m *mortal) Deliver(ctx context.Context, c store.Delivery) error {
	_, err := write(m, func() (any, error) { return nil, m.Store.Deliver(ctx, c) })
	return err
}

func (m *mortal) Remove(ctx context.Context, c store.Remove) (int, error) {
	return write(m, func() (int, error) { return m.Store.Remove(ctx, c) })
}

func (m *mortal) Define(ctx context.Context, key string, data []byte) error {
	_, err := write(m, func() (any, error) { return nil, m.Store.Define(ctx, key, data) })
	return err
}

func (m *mortal) Undefine(ctx context.Context, key string, data []byte) error {
	_, err := write(m, func() (any, error) { return nil, m.Store.Undefine(ctx, key, data) })
	return err
}

func (m *mortal) Register(ctx context.Context, c store.Registration) (store.Registered, error) {
	return write(m, func() (store.Registered, error) { return m.Store.Register(ctx, c) })
}

func (m *mortal) Unregister(ctx context.Context, kind store.RegistryKind, key string, version int64) error {
	_, err := write(m, func() (any, error) { return nil, m.Store.Unregister(ctx, kind, key, version) })
	return err
}

func (m *mortal) ChangeActivities(ctx context.Context, c store.ChangeActivities) ([]store.ActivityChanged, error) {
	return write(m, func() ([]store.ActivityChanged, error) { return m.Store.ChangeActivities(ctx, c) })
}

// commanded is a deployment that receives commands from callers that may be lost.
type commanded struct {
	*testing.T
	store  *swrun.Store
	client *client.Client // never lost
	name   string         // of the workflows and runs of one case
}

func (h *commanded) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// asker returns a client that is lost at a write.
func (h *commanded) asker(at int64, stored bool) (*client.Client, *mortal) {
	h.Helper()
	m := &mortal{Store: h.store.Store, at: at, stored: stored}
	e, err := swrun.NewEngine(&swrun.Store{Store: m}, swrun.EngineConfig{})
	h.must(err)
	return e.Client(), m
}

func (h *commanded) definition(version, body string) definition.Definition {
	return definition.Definition{Document: fmt.Sprintf("document: {dsl: 1.0.3, namespace: test, name: %s, version: %s}\n%s", h.name, version, body)}
}

// run returns the run of a case.
func (h *commanded) run() store.Instance { return store.Instance{Namespace: "test", ID: h.name} }

// begin starts the run of a case, and waits until the run matches a filter.
func (h *commanded) begin(body, until string) {
	h.Helper()
	_, err := h.client.StartDefinition(h.Context(), h.definition("1.0.0", body), nil, client.StartOptions{ID: h.name})
	h.must(err)
	h.until(until)
}

// until waits until the run of a case matches a filter.
func (h *commanded) until(text string) {
	h.Helper()
	where, err := filter.Parse(text, time.Now())
	h.must(err)
	for deadline := time.Now().Add(pacetest.Patience); ; time.Sleep(2 * time.Millisecond) {
		d, err := h.client.Describe(h.Context(), h.run())
		h.must(err)
		if where.Matches(&filter.Run{Instance: h.run(), Lifecycle: d.Lifecycle, Invocation: d.Invocation}) {
			return
		}
		if time.Now().After(deadline) {
			h.Fatalf("%s is %s, and not %s", h.name, d.Lifecycle.Status, text)
		}
	}
}

// ended returns the outcome of a run.
func (h *commanded) ended(i store.Instance) string {
	h.Helper()
	o, err := h.client.Wait(h.Context(), i)
	h.must(err)
	return fmt.Sprint(o.Status, " ", o.Output)
}

// records returns the number of records of a run with some types.
func (h *commanded) records(types ...interpreter.HistoryEventType) (n int) {
	h.Helper()
	_, err := h.client.History(h.Context(), h.run(), 0, func(e client.HistoryEntry) error {
		for _, r := range e.Events {
			for _, one := range types {
				if r.Type == one {
					n++
				}
			}
		}
		return nil
	})
	h.must(err)
	return n
}

const (
	waitsAnHour = "do: [{w: {wait: PT1H}}]"
	waitsTwice  = "do: [{w: {wait: PT0.3S}}, {x: {wait: PT1H}}]"
	failsAtB    = "do: [{a: {set: {n: 1}}}, {b: {raise: {error: {type: https://a.b/c, status: 400}}}}]"
	retriesLate = "do: [{t: {try: [{r: {if: '$context.n == null', raise: {error: {type: https://a.b/c, status: 400}}}}], catch: {retry: {delay: PT1H, limit: {attempt: {count: 1}}}, do: []}}}]"
)

// command is a command of a caller.
type command struct {
	setUp func(*commanded)
	give  func(*commanded, *client.Client) error
	after func(*commanded) string // the effect of the command
	again string                  // the permitted errors of a repetition after the command has happened
}

// commands returns all commands that a client can give.
func commands() map[string]command {
	waiting := func(h *commanded) { h.begin(waitsAnHour, "status=waiting") }
	over := func(h *commanded) string { return h.ended(h.run()) }
	return map[string]command{
		"start": {func(h *commanded) {}, func(h *commanded, c *client.Client) error {
			_, err := c.StartDefinition(h.Context(), h.definition("1.0.0", "do: [{s: {set: {n: 1}}}]"), nil, client.StartOptions{ID: h.name})
			return err
		}, over, "is there already"},
		"deploy": {func(h *commanded) {}, func(h *commanded, c *client.Client) error {
			_, err := c.Deploy(h.Context(), h.definition("1.0.0", waitsAnHour))
			return err
		}, func(h *commanded) string {
			_, _, err := definition.Resolve(h.Context(), h.store, definition.Reference{Namespace: "test", Name: h.name, Version: "1.0.0"})
			return fmt.Sprint(err)
		}, ""},
		"cancel":    {waiting, func(h *commanded, c *client.Client) error { return c.Cancel(h.Context(), h.run(), "r") }, over, "has ended"},
		"terminate": {waiting, func(h *commanded, c *client.Client) error { return c.Terminate(h.Context(), h.run(), "r") }, over, "has ended"},
		"suspend": {waiting, func(h *commanded, c *client.Client) error { return c.Suspend(h.Context(), h.run(), "r") }, func(h *commanded) string {
			h.until("status=suspended")
			return fmt.Sprint(h.records(interpreter.WorkflowSuspended))
		}, "suspended"},
		"resume": {func(h *commanded) {
			waiting(h)
			h.must(h.client.Suspend(h.Context(), h.run(), ""))
			h.until("status=suspended")
		}, func(h *commanded, c *client.Client) error { return c.Resume(h.Context(), h.run(), "r") }, func(h *commanded) string {
			h.until("status=waiting")
			return fmt.Sprint(h.records(interpreter.WorkflowResumed))
		}, "not suspended"},
		"retry now": {func(h *commanded) { h.begin(retriesLate, "status=waiting") }, func(h *commanded, c *client.Client) error {
			return c.RetryNow(h.Context(), h.run(), "")
		}, over, "does not wait|has ended"},
		"deadline": {waiting, func(h *commanded, c *client.Client) error {
			_, err := c.SetDeadline(h.Context(), h.run(), client.DeadlineChange{At: time.Now().Add(time.Hour)})
			return err
		}, func(h *commanded) string {
			h.until("deadline<2h")
			return ""
		}, "has this deadline already"},
		"migrate": {func(h *commanded) {
			waiting(h)
			_, err := h.client.Deploy(h.Context(), h.definition("2.0.0", waitsTwice))
			h.must(err)
		}, func(h *commanded, c *client.Client) error {
			_, err := c.Migrate(h.Context(), h.run(), client.Migration{To: "2.0.0"})
			return err
		}, func(h *commanded) string {
			h.until("version=2.0.0")
			return ""
		}, "has the definition of"},
		"fork": {func(h *commanded) { h.begin(failsAtB, "status=faulted") }, func(h *commanded, c *client.Client) error {
			_, err := c.Fork(h.Context(), h.run(), client.ForkOptions{ID: h.name + "-fork"})
			return err
		}, func(h *commanded) string {
			forks, err := h.client.Forks(h.Context(), h.run())
			h.must(err)
			return fmt.Sprint(h.ended(store.Instance{Namespace: "test", ID: h.name + "-fork"}), " ", len(forks))
		}, "is there already"},
		"delete": {func(h *commanded) { h.begin("do: [{s: {set: {n: 1}}}]", "status=completed") }, func(h *commanded, c *client.Client) error {
			return c.Delete(h.Context(), h.run())
		}, func(h *commanded) string {
			_, err := h.client.Describe(h.Context(), h.run())
			return fmt.Sprint(store.RefusedAs(err))
		}, "there is no run"},
		"delete all": {func(h *commanded) { h.begin("do: [{s: {set: {n: 1}}}]", "status=completed") }, func(h *commanded, c *client.Client) error {
			return errors.Join(c.DeleteAll(h.Context(), []store.Instance{h.run()})...)
		}, func(h *commanded) string {
			_, err := h.client.Describe(h.Context(), h.run())
			return fmt.Sprint(store.RefusedAs(err))
		}, ""},
		"import": {func(h *commanded) {
			waiting(h)
		}, func(h *commanded, c *client.Client) error {
			a, err := h.client.Archive(h.Context(), h.run())
			if err != nil {
				return err
			}
			h.must(h.client.Terminate(h.Context(), h.run(), ""))
			h.ended(h.run())
			h.must(h.client.Delete(h.Context(), h.run()))
			_, err = c.Import(h.Context(), a)
			if err != nil { // the holder of an archive repeats the command
				if _, second := h.client.Import(h.Context(), a); second != nil && !strings.Contains(second.Error(), "is there already") {
					return second
				}
			}
			return err
		}, func(h *commanded) string {
			h.must(h.client.Cancel(h.Context(), h.run(), ""))
			return h.ended(h.run())
		}, "-"},
	}
}

// TestCommandsOfLostAskers: the caller of a command may be lost before and after each of its writes. A repetition of the command has the same effect,
// in every store: the command happens once, or the error reports that it happened.
func TestCommandsOfLostAskers(t *testing.T) {
	redis := redistest.Start(t)
	for kind, url := range map[string]string{"memory": "memory:", "file": "file:" + filepath.Join(t.TempDir(), "runs.db"), "redis": redis.URL()} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s, err := swrun.OpenStore(t.Context(), url, swrun.StoreConfig{})
			if err != nil {
				t.Fatal(err)
			}
			e, err := swrun.NewEngine(s, swrun.EngineConfig{})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			worked := make(chan error, 1)
			go func() { worked <- e.Work(ctx) }()
			for name, c := range commands() {
				t.Run(name, func(t *testing.T) {
					h := func(at int64, stored bool) *commanded {
						id := fmt.Sprintf("%s-%d-%t", strings.ReplaceAll(name, " ", "-"), at, stored)
						return &commanded{T: t, store: s, client: e.Client(), name: id}
					}
					c.survives(t, h)
				})
			}
			stop()
			if err := errors.Join(<-worked, s.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

// survives gives a command without a crash, and then with a crash at each of its writes.
func (c command) survives(t *testing.T, host func(at int64, stored bool) *commanded) {
	calm := host(0, false)
	c.setUp(calm)
	asker, counted := calm.asker(0, false)
	calm.must(c.give(calm, asker))
	want := c.after(calm)
	for at := int64(1); at <= counted.writes.Load(); at++ {
		for _, stored := range []bool{false, true} {
			h := host(at, stored)
			c.setUp(h)
			lost, _ := h.asker(at, stored)
			if err := c.give(h, lost); err == nil {
				t.Errorf("lost at write %d, it was given all the same", at)
			}
			if c.again != "-" {
				if err := c.give(h, h.client); err != nil && !fits(err, c.again) {
					t.Errorf("lost at write %d, stored %v, and given again: %v", at, stored, err)
				}
			}
			if got := c.after(h); got != want {
				t.Errorf("lost at write %d, stored %v: it came to %s, and to %s otherwise", at, stored, got, want)
			}
		}
	}
	if counted.writes.Load() == 0 {
		t.Error("it writes nothing")
	}
}

// fits reports whether an error contains one of several texts.
func fits(err error, texts string) bool {
	for text := range strings.SplitSeq(texts, "|") {
		if text != "" && strings.Contains(err.Error(), text) {
			return true
		}
	}
	return false
}
