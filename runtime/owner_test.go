package runtime_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// TestCommandsToASuspendedDelayedStart: a run that was suspended before its start is no run that has started.
func TestCommandsToASuspendedDelayedStart(t *testing.T) {
	const delay = time.Minute
	for name, command := range map[string]func(*client.Client, store.Instance) error{
		"resume":  func(c *client.Client, i store.Instance) error { return c.Resume(context.Background(), i, "") },
		"cancel":  func(c *client.Client, i store.Instance) error { return c.Cancel(context.Background(), i, "") },
		"suspend": func(c *client.Client, i store.Instance) error { return c.Suspend(context.Background(), i, "") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				h.perform = effortless
				defer h.work(worker.Config{})()
				began := time.Now()
				i := h.start("do: [{a: "+task+"}]", client.StartOptions{Delay: delay})
				time.Sleep(time.Second)
				if err := h.client.Suspend(t.Context(), i, ""); err != nil {
					t.Fatal(err)
				}
				time.Sleep(5 * time.Second)
				if err := command(h.client, i); err != nil {
					t.Fatal(err)
				}
				time.Sleep(5 * time.Second)
				if r := h.record(i); r.Held() {
					t.Errorf("it is held: %+v", r)
				}
				want := interpreter.StatusCancelled
				if name != "cancel" {
					if name == "suspend" {
						time.Sleep(delay)
						if err := h.client.Resume(t.Context(), i, ""); err != nil {
							t.Fatal(err)
						}
					}
					want = interpreter.StatusCompleted
				}
				if o := h.wait(i); o.Status != want || want == interpreter.StatusCompleted && o.StartedAt.Before(began.Add(delay)) {
					t.Errorf("it ended as %+v", o)
				}
			})
		})
	}
}

// TestAcceptedTimeoutOfADelayedStart: a timeout that counts from the acceptance may pass before the start.
func TestAcceptedTimeoutOfADelayedStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = hanging
		defer h.work(worker.Config{})()
		began := time.Now()
		i := h.start("do: [{a: "+task+"}]", client.StartOptions{ExecutionTimeout: 5 * time.Second, Accepted: true, Delay: time.Hour})
		o := h.wait(i)
		if took := time.Since(began); o.Status != interpreter.StatusFaulted || took < 5*time.Second || took > 6*time.Second {
			t.Errorf("after %s it ended as %+v", took, o)
		}
	})
}

// choosy is a store that takes no commits, but everything else.
type choosy struct{ store.Store }

func (choosy) Commit(context.Context, store.Commit) (store.Committed, error) {
	return store.Committed{}, errors.New("NOPERM")
}

// TestStopWhileNothingIsStored: a worker whose commits fail comes to its end all the same.
func TestStopWhileNothingIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = effortless
		h.start("do: [{a: "+task+"}]", client.StartOptions{})
		h.store = choosy{h.store}
		stop := h.work(worker.Config{})
		time.Sleep(2 * time.Second)
		began := time.Now()
		stop()
		if took := time.Since(began); took > time.Minute {
			t.Errorf("it took %s", took)
		}
	})
}

// TestCommitThatIsNeverTaken: an instance whose commits fail while its lease is renewed is not held for ever.
func TestCommitThatIsNeverTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = effortless
		i := h.start("do: [{a: "+task+"}]", client.StartOptions{})
		h.store = choosy{h.store}
		defer h.work(worker.Config{})()
		time.Sleep(10 * time.Minute)
		if r := h.record(i); r.Reason != store.Quarantined {
			t.Errorf("the record is %+v", r)
		}
	})
}

// TestQuarantinedIsNotWaitedFor: nobody waits for what does not come.
func TestQuarantinedIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = func(context.Context, interpreter.Request) (any, error) { panic("it breaks") }
		defer h.work(worker.Config{})()
		i := h.start("do: [{a: "+task+"}]", client.StartOptions{})
		if _, err := h.client.Wait(t.Context(), i); !errors.As(err, new(*client.QuarantinedError)) {
			t.Errorf("waiting ends with %v", err)
		}
		if err := h.client.Follow(t.Context(), i, 0, func(client.HistoryEntry) error { return nil }); !errors.As(err, new(*client.QuarantinedError)) {
			t.Errorf("following ends with %v", err)
		}
	})
}

// onceAfterWait is a document whose second task must not be performed twice.
const onceAfterWait = "do: [{w: {wait: PT5S}}, {a: {run: {shell: {command: x}}, metadata: {swrun: {delivery: at-most-once}}}}]"

// TestOnceIsNotBegunWithoutAPlace: an effect that must not be performed twice is not stored as begun by one who cannot
// perform it: because it never does, or because all its places are taken when it is stopped.
func TestOnceIsNotBegunWithoutAPlace(t *testing.T) {
	for name, second := range map[string]worker.Config{
		"performs nothing": {Concurrency: -1, Drain: 2 * time.Second},
		"has no place":     {Concurrency: 1, Drain: 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				var performed atomic.Int64
				h.perform = func(ctx context.Context, r interpreter.Request) (any, error) {
					if strings.HasSuffix(string(r.Path), "/a") {
						performed.Add(1)
						return "done", nil
					}
					return hanging(ctx, r)
				}
				stop := h.work(second)
				i := h.start(onceAfterWait, client.StartOptions{})
				if second.Concurrency < 0 { // which begins nothing
					first := h.work(worker.Config{})
					time.Sleep(time.Second)
					first()
				}
				time.Sleep(time.Second)
				h.start("do: [{hog: "+task+"}]", client.StartOptions{})
				time.Sleep(20 * time.Second)
				if r := h.record(i); r.Deaths > 0 || performed.Load() > 0 {
					t.Errorf("performed %d times, and the record is %+v", performed.Load(), r)
				}
				stop()
				defer h.work(worker.Config{})()
				if o := h.wait(i); performed.Load() != 1 || o.Status != interpreter.StatusCompleted {
					t.Errorf("performed %d times: %+v", performed.Load(), o)
				}
			})
		})
	}
}

// TestOnceGetsItsPlace: as soon as there is one.
func TestOnceGetsItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = func(_ context.Context, r interpreter.Request) (any, error) {
			if !strings.HasSuffix(string(r.Path), "/a") {
				time.Sleep(20 * time.Second)
			}
			return "done", nil
		}
		defer h.work(worker.Config{Concurrency: 1})()
		i := h.start(onceAfterWait, client.StartOptions{})
		time.Sleep(time.Second)
		began := time.Now()
		h.start("do: [{hog: "+task+"}]", client.StartOptions{})
		if o := h.wait(i); o.Status != interpreter.StatusCompleted || time.Since(began) > 22*time.Second {
			t.Errorf("after %s: %+v", time.Since(began), o)
		}
	})
}

// TestBranchesEndWhileSuspended: the order in which branches go on does not depend on whether the state was stored
// meanwhile.
func TestBranchesEndWhileSuspended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = func(_ context.Context, r interpreter.Request) (any, error) {
			d := 10 * time.Second
			if strings.Contains(string(r.Path), "/slow/") {
				d = 20 * time.Second
			}
			time.Sleep(d)
			return string(r.Path), nil
		}
		defer h.work(worker.Config{})()
		branch := "{do: [{first: " + task + "}, {second: " + task + "}]}"
		i := h.start("do: [{f: {fork: {branches: [{slow: "+branch+"}, {fast: "+branch+"}]}}}]", client.StartOptions{})
		time.Sleep(5 * time.Second)
		for _, command := range []func(context.Context, store.Instance, string) error{h.client.Suspend, h.client.Resume} {
			if err := command(t.Context(), i, ""); err != nil {
				t.Fatal(err)
			}
			time.Sleep(30 * time.Second)
		}
		h.wait(i)
		l, err := h.store.Load(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		info, err := execution.ParseInvocation(l.Invocation)
		if err != nil {
			t.Fatal(err)
		}
		d, err := client.New(client.Config{Store: h.store, Compile: h.compile}).Describe(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		var entries []interpreter.HistoryStep
		if _, err := h.client.History(t.Context(), i, 0, func(e client.HistoryEntry) error {
			entries = append(entries, e.HistoryStep)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		folded, err := interpreter.Replay(d.Program, interpreter.NewState(i.Namespace, i.ID), info.Start(d.Program, l.Lifecycle), entries)
		if err != nil {
			t.Fatal(err)
		}
		stored, _ := d.State.MarshalJSON()
		if again, _ := folded.MarshalJSON(); string(again) != string(stored) {
			t.Errorf("stored %s\nfolded %s", stored, again)
		}
	})
}

// TestDeadlinesGoOnWithoutAPlace: while one branch waits for a place for an effect that must not be performed twice, the
// timeout of another is enforced and stored.
func TestDeadlinesGoOnWithoutAPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = hanging
		defer h.work(worker.Config{Concurrency: 1})()
		i := h.start("do: [{f: {fork: {branches: [{one: {do: [{w: {wait: PT5S}}, {a: {run: {shell: {command: x}}, metadata: {swrun: {delivery: at-most-once}}}}]}},"+
			"{two: {try: [{w: {wait: PT10M, timeout: {after: PT10S}}}], catch: {do: [{late: {wait: PT1H}}]}}}]}}}]", client.StartOptions{})
		time.Sleep(time.Second)
		h.start("do: [{hog: "+task+"}]", client.StartOptions{})
		time.Sleep(11 * time.Second)
		d, err := client.New(client.Config{Store: h.store, Compile: h.compile}).Describe(t.Context(), i)
		if err != nil || !strings.Contains(d.Why, "waits for a worker with a place for it") {
			t.Errorf("it is described so: %+v, %v", d, err)
		}
		r := h.record(i)
		if all := strings.Join(h.records(i), " "); r.Deadline != 0 || !strings.Contains(all, "task.faulted") {
			t.Errorf("the record is %+v, the history %s", r, all)
		}
	})
}

// TestDefinitionsAreNotAnswered: an instance is given back in time, also while the question is still open.
func TestDefinitionsAreNotAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = effortless
		i := h.start("do: [{w: {wait: PT3S}}, {a: "+task+"}]", client.StartOptions{})
		stop := h.work(worker.Config{})
		time.Sleep(time.Second)
		stop()
		h.store = &mute{Store: h.store, until: time.Now().Add(time.Minute), takes: 5 * time.Second}
		defer h.work(worker.Config{})()
		time.Sleep(50 * time.Second)
		if r := h.record(i); r.Deaths > 0 || r.Reason != "" {
			t.Errorf("the record is %+v", r)
		}
		if o := h.wait(i); o.Status != interpreter.StatusCompleted {
			t.Errorf("got %+v", o)
		}
	})
}

// sluggish is a store whose commits are answered late.
type sluggish struct{ store.Store }

func (s sluggish) Commit(ctx context.Context, c store.Commit) (store.Committed, error) {
	done, err := s.Store.Commit(ctx, c)
	if len(c.Entries) > 0 && c.Version > 0 {
		time.Sleep(500 * time.Millisecond)
	}
	return done, err
}

// TestDrainDuringACommit: an effect that would wait for a place when the commit before it is answered is left to others.
func TestDrainDuringACommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = hanging
		h.store = sluggish{h.store}
		stop := h.work(worker.Config{Concurrency: 1})
		i := h.start("do: [{w: {wait: PT5S}}, {a: "+task+"}]", client.StartOptions{})
		time.Sleep(time.Second)
		h.start("do: [{hog: "+task+"}]", client.StartOptions{})
		time.Sleep(4*time.Second + 200*time.Millisecond) // the wait is over, and that is being stored
		stopped := make(chan struct{})
		go func() { stop(); close(stopped) }()
		time.Sleep(2 * time.Second)
		if r := h.record(i); r.Held() {
			t.Errorf("it is held: %+v", r)
		}
		<-stopped
	})
}

// TestMessageShortlyBeforeADelayedStart: it starts in time, and there is no busy waiting for it.
func TestMessageShortlyBeforeADelayedStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = effortless
		defer h.work(worker.Config{})()
		began := time.Now()
		i := h.start("do: [{a: "+task+"}]", client.StartOptions{Delay: 2 * time.Second})
		time.Sleep(1500 * time.Millisecond)
		if err := h.client.Resume(t.Context(), i, ""); err != nil {
			t.Fatal(err)
		}
		o := h.wait(i)
		if r := h.record(i); r.Epoch != 1 || o.StartedAt.Sub(began) < 2*time.Second || o.EndedAt.Sub(began) > 2100*time.Millisecond {
			t.Errorf("after %s: %+v, %+v", o.EndedAt.Sub(began), o, r)
		}
	})
}

const once = "metadata: {swrun: {delivery: at-most-once}}"

// TestPlacesElsewhere: an instance that waits for a place at a worker that has none goes to one that has.
func TestPlacesElsewhere(t *testing.T) {
	for name, full := range map[string]worker.Config{"full": {Concurrency: 1}, "idle": {Concurrency: -1}} {
		for kind, metadata := range map[string]string{"once": ", " + once, "plain": ""} {
			t.Run(name+" "+kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					h := newHost(t)
					var performed atomic.Int64
					h.perform = func(ctx context.Context, r interpreter.Request) (any, error) {
						if !strings.HasSuffix(string(r.Path), "/a") {
							return hanging(ctx, r)
						}
						if performed.Add(1); r.Attempt != 1 {
							t.Errorf("it is attempt %d", r.Attempt)
						}
						return "done", nil
					}
					first := h.work(worker.Config{})
					i := h.start("do: [{w: {wait: PT5S}}, {a: {run: {shell: {command: x}}"+metadata+"}}]", client.StartOptions{})
					time.Sleep(time.Second)
					first()
					defer h.work(full)()
					if full.Concurrency > 0 {
						h.start("do: [{hog: "+task+"}]", client.StartOptions{})
					}
					time.Sleep(20 * time.Second)
					defer h.work(worker.Config{})()
					time.Sleep(20 * time.Second)
					if r := h.record(i); performed.Load() != 1 || r.Status != interpreter.StatusCompleted {
						t.Errorf("performed %d times: %+v", performed.Load(), r)
					}
				})
			})
		}
	}
}

// TestDetachedOnceIsPerformed also where there is no place: nobody else knows of it.
func TestDetachedOnceIsPerformed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		var performed atomic.Int64
		h.perform = func(ctx context.Context, r interpreter.Request) (any, error) {
			if !strings.HasSuffix(string(r.Path), "/a") {
				return hanging(ctx, r)
			}
			performed.Add(1)
			return "done", nil
		}
		defer h.work(worker.Config{Concurrency: 1})()
		i := h.start("do: [{w: {wait: PT5S}}, {a: {run: {shell: {command: x}, await: false}, "+once+"}}]", client.StartOptions{})
		time.Sleep(time.Second)
		h.start("do: [{hog: "+task+"}]", client.StartOptions{})
		h.wait(i)
		time.Sleep(time.Second)
		if performed.Load() != 1 {
			t.Errorf("performed %d times", performed.Load())
		}
	})
}

// TestOnceIsHandedOver: what a worker that leaves has not begun it hands over as such, and it is performed by the next.
func TestOnceIsHandedOver(t *testing.T) {
	t.Run("during the commit", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t)
			var performed atomic.Int64
			h.perform = func(_ context.Context, r interpreter.Request) (any, error) {
				if strings.HasSuffix(string(r.Path), "/b") {
					performed.Add(1)
				} else {
					time.Sleep(time.Second)
				}
				return "done", nil
			}
			plain := h.store
			h.store = sluggish{plain}
			i := h.start("do: [{a: "+task+"}, {b: {run: {shell: {command: x}}, "+once+"}}]", client.StartOptions{})
			stop := h.work(worker.Config{Drain: 300 * time.Millisecond})
			time.Sleep(900 * time.Millisecond)
			stop()
			h.store = plain
			defer h.work(worker.Config{})()
			if o := h.wait(i); performed.Load() != 1 || o.Status != interpreter.StatusCompleted {
				t.Errorf("performed %d times: %+v", performed.Load(), o)
			}
		})
	})
	for n := range 20 { // two things happen in one instant, in either order
		t.Run("when a wait ends", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				var performed atomic.Int64
				h.perform = func(ctx context.Context, r interpreter.Request) (any, error) {
					if strings.HasSuffix(string(r.Path), "/b") {
						performed.Add(1)
						return "done", nil
					}
					select {
					case <-ctx.Done():
						return nil, context.Cause(ctx)
					case <-time.After(20 * time.Second):
						return "done", nil
					}
				}
				i := h.start("do: [{f: {fork: {branches: [{l: "+task+"}, {o: {do: [{w: {wait: PT5S}}, {b: {run: {shell: {command: x}}, "+once+"}}]}}]}}}]", client.StartOptions{})
				stop := h.work(worker.Config{Drain: 2 * time.Second})
				time.Sleep(time.Second)
				time.Sleep(time.Until(store.Moment(h.record(i).Wake)) - 2*time.Second)
				stop()
				defer h.work(worker.Config{})()
				if o := h.wait(i); performed.Load() != 1 || o.Status != interpreter.StatusCompleted {
					t.Errorf("round %d: performed %d times: %+v", n, performed.Load(), o)
				}
			})
		})
	}
}

// TestCompilingPanics: it is a fault of the definition, and not of the worker.
func TestCompilingPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		i := h.start("do: [{a: "+task+"}]", client.StartOptions{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			compile := func(definition.Definition) (*interpreter.Program, error) { panic("it is broken") }
			worker.New(worker.Config{Store: h.store, Compile: compile}).Run(ctx)
		}()
		time.Sleep(10 * time.Minute)
		cancel()
		<-ended
		if r := h.record(i); r.Reason != store.Quarantined {
			t.Errorf("the record is %+v", r)
		}
	})
}

// TestLateStartIsStored: a start whose time the store has not fixed is stored before anything begins.
func TestLateStartIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		var i store.Instance
		h.perform = func(context.Context, interpreter.Request) (any, error) {
			if r := h.record(i); r.Status == interpreter.StatusPending {
				t.Errorf("the record is %+v", r)
			}
			return "done", nil
		}
		stop := h.work(worker.Config{})
		i = h.start("do: [{a: "+task+"}]", client.StartOptions{Delay: 2 * time.Second})
		time.Sleep(1200 * time.Millisecond)
		if err := h.client.Resume(t.Context(), i, ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(300 * time.Millisecond)
		stop()
		h.store = &mute{Store: h.store, takes: time.Second}
		defer h.work(worker.Config{})()
		h.wait(i)
	})
}

// TestIdleOwnerPerformsNothing: not even what nobody waits for, when the run ends or is told to.
func TestIdleOwnerPerformsNothing(t *testing.T) {
	for name, tail := range map[string]string{"last": "", "told to end": ", {z: {wait: PT1H}}"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				first := h.work(worker.Config{})
				i := h.start("do: [{w: {wait: PT5S}}, {a: {run: {shell: {command: x}, await: false}}}"+tail+"]", client.StartOptions{})
				time.Sleep(time.Second)
				first()
				h.perform = func(context.Context, interpreter.Request) (any, error) {
					t.Error("something is performed")
					return nil, nil
				}
				defer h.work(worker.Config{Concurrency: -1})()
				time.Sleep(4500 * time.Millisecond)
				if err := h.client.Cancel(t.Context(), i, ""); err != nil {
					t.Fatal(err)
				}
				if o := h.wait(i); o.Status != interpreter.StatusCancelled {
					t.Errorf("it ended as %+v", o)
				}
			})
		})
	}
}

// TestNotBegunIsNoAttempt: an effect that a stopping worker has not begun is performed by the next one for the first time,
// and so is one that was handed over as another branch went on.
func TestNotBegunIsNoAttempt(t *testing.T) {
	branch := func(wait, name string) string {
		return "{" + name + name + ": {do: [{w: {wait: " + wait + "}}, {" + name + ": " + task + "}]}}"
	}
	for name, document := range map[string]string{
		"waits":            "do: [{w: {wait: PT5S}}, {a: " + task + "}]",
		"wanted meanwhile": "do: [{first: {run: {shell: {command: x}}}}, {a: " + task + "}]",
		"two branches":     "do: [{f: {fork: {branches: [" + branch("PT5S", "a") + ", " + branch("PT10S", "b") + "]}}}]",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				h.perform = func(ctx context.Context, r interpreter.Request) (any, error) {
					switch {
					case strings.HasSuffix(string(r.Path), "/hog"):
						return hanging(ctx, r)
					case strings.HasSuffix(string(r.Path), "/first"):
						time.Sleep(6500 * time.Millisecond)
					case r.Attempt != 1:
						t.Errorf("%s is attempt %d", r.Path, r.Attempt)
					}
					return "done", nil
				}
				stop := h.work(worker.Config{Concurrency: 1, Drain: time.Second})
				i := h.start(document, client.StartOptions{})
				time.Sleep(time.Second)
				h.start("do: [{hog: "+task+"}]", client.StartOptions{})
				time.Sleep(5 * time.Second)
				if name == "two branches" {
					time.Sleep(15 * time.Second)
				}
				stop()
				defer h.work(worker.Config{})()
				if o := h.wait(i); o.Status != interpreter.StatusCompleted {
					t.Errorf("got %+v", o)
				}
			})
		})
	}
}
