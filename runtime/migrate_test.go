package runtime_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// version deploys a document as a version of the workflow `a`.
func (h *host) version(version, document string) {
	h.Helper()
	text := "document: {dsl: 1.0.3, namespace: test, name: a, version: " + version + "}\n" + document
	if _, err := h.client.Deploy(h.Context(), definition.Definition{Document: text}); err != nil {
		h.Fatal(err)
	}
}

// begin starts the version 1.0.0 of the workflow `a`.
func (h *host) begin(document string, o client.StartOptions) store.Instance {
	h.Helper()
	h.version("1.0.0", document)
	i, err := h.client.Start(h.Context(), definition.Reference{Namespace: "test", Name: "a", Version: "1.0.0"}, nil, o)
	if err != nil {
		h.Fatal(err)
	}
	return i
}

// migrate lets a run continue with another version.
func (h *host) migrate(i store.Instance, m client.Migration) error {
	_, err := h.asker().Migrate(client.WithActor(h.Context(), "ann"), i, m)
	return err
}

// verifyReplay compares the stored state of a run with the replay of its history.
func (h *host) verifyReplay(i store.Instance) {
	h.Helper()
	d, err := h.asker().Describe(h.Context(), i)
	if err != nil {
		h.Fatal(err)
	}
	var steps []interpreter.HistoryStep
	if _, err := h.asker().History(h.Context(), i, 0, func(e client.HistoryEntry) error {
		steps = append(steps, e.HistoryStep)
		return nil
	}); err != nil {
		h.Fatal(err)
	}
	past, err := h.asker().Past(h.Context(), d, steps)
	if err != nil {
		h.Fatal(err)
	}
	again, err := interpreter.Replay(past)
	if err != nil {
		h.Fatal(err)
	}
	stored, _ := d.State.MarshalJSON() // both were read from JSON
	repeated, _ := again.MarshalJSON()
	if diff := cmp.Diff(string(stored), string(repeated)); diff != "" {
		h.Errorf("history makes another state (-stored +repeated):\n%s", diff)
	}
}

// TestMigrate: a run continues with another version of its workflow from any position, and its history reproduces its state.
func TestMigrate(t *testing.T) {
	for name, c := range map[string]struct {
		from, to string
		pointers interpreter.PointerMap
		after    time.Duration // until the migration
		took     time.Duration // in all
		want     any
	}{
		"a wait keeps its time":        {"do: [{a: {wait: PT10S}}, {b: {set: {n: 1}}}]", "do: [{a: {wait: PT1H}}, {b: {set: {n: 2}}}]", nil, time.Second, 10 * time.Second, map[string]any{"n": 2}},
		"a list":                       {"do: [{l: {do: [{a: {wait: PT10S}}, {b: {set: {n: 1}}}]}}]", "do: [{l: {do: [{a: {wait: PT1H}}, {b: {set: {n: 2}}}], output: {as: {m: '${ .n }'}}}}]", nil, time.Second, 10 * time.Second, map[string]any{"m": 2}},
		"a task is moved":              {"do: [{a: {wait: PT10S}}, {b: {set: {n: 1}}}]", "do: [{x: {set: {n: 3}}}, {w: {wait: PT1H}}, {b: {set: {n: 2}}}]", interpreter.PointerMap{"/do/0/a": "/do/1/w"}, time.Second, 10 * time.Second, map[string]any{"n": 2}},
		"what contains it is moved":    {"do: [{l: {do: [{a: {wait: PT10S}}, {b: {set: {n: 1}}}]}}]", "do: [{x: {set: {n: 3}}}, {l: {do: [{a: {wait: PT1H}}, {b: {set: {n: 2}}}]}}]", interpreter.PointerMap{"/do/0/l": "/do/1/l"}, time.Second, 10 * time.Second, map[string]any{"n": 2}},
		"a task is added behind":       {"do: [{a: {wait: PT10S}}]", "do: [{a: {wait: PT1S}}, {w: {wait: PT5S}}, {b: {set: {n: 2}}}]", nil, time.Second, 15 * time.Second, map[string]any{"n": 2}},
		"a pass of a loop":             {"do: [{l: {for: {in: '[1,2,3]'}, do: [{w: {wait: PT10S}}, {s: {set: {n: '${ $item }'}}}]}}]", "do: [{l: {for: {in: '[7]'}, do: [{w: {wait: PT1S}}, {s: {set: {n: '${ $item * 10 }'}}}]}}]", nil, 15 * time.Second, 21 * time.Second, map[string]any{"n": 30}},
		"branches":                     {"do: [{f: {fork: {branches: [{a: {wait: PT10S}}, {b: {do: [{w: {wait: PT5S}}, {s: {set: {n: 1}}}]}}]}}}]", "do: [{f: {fork: {branches: [{a: {wait: PT1H}}, {b: {do: [{w: {wait: PT1H}}, {s: {set: {n: 2}}}]}}]}}}]", nil, time.Second, 10 * time.Second, []any{map[string]any{}, map[string]any{"n": 2}}},
		"the delay of a retry":         {"do: [{t: {try: [{c: {if: '$context.x == null', raise: {error: {type: https://a.b/c, status: 400}}}}], catch: {retry: {delay: PT10S, limit: {attempt: {count: 5}}}}}}]", "do: [{t: {try: [{c: {if: 'false', raise: {error: {type: https://a.b/c, status: 400}}}}, {s: {set: {n: 2}}}], catch: {retry: {delay: PT1H}}}}]", nil, time.Second, 10 * time.Second, map[string]any{"n": 2}},
		"a deadline keeps":             {"do: [{t: {try: [{a: {timeout: {after: PT10S}, wait: PT1H}}], catch: {do: [{s: {set: {n: 1}}}]}}}]", "do: [{t: {try: [{a: {timeout: {after: PT1S}, wait: PT1H}}], catch: {do: [{s: {set: {n: 2}}}]}}}]", nil, 2 * time.Second, 10 * time.Second, map[string]any{"n": 2}},
		"a timeout of what comes next": {"do: [{a: {wait: PT10S}}, {t: {try: [{b: {wait: PT1H}}], catch: {do: [{s: {set: {n: 1}}}]}}}]", "do: [{a: {wait: PT10S}}, {t: {try: [{b: {timeout: {after: PT5S}, wait: PT1H}}], catch: {do: [{s: {set: {n: 2}}}]}}}]", nil, time.Second, 15 * time.Second, map[string]any{"n": 2}},
		"the context":                  {"do: [{a: {set: {n: 1}, export: {as: {kept: 4}}}}, {b: {wait: PT10S}}]", "do: [{a: {set: {n: 1}}}, {b: {wait: PT10S, output: {as: {n: '${ $context.kept }'}}}}]", nil, time.Second, 10 * time.Second, map[string]any{"n": 4}},
		"a function":                   {"use: {functions: {f: {wait: PT10S}}}\ndo: [{a: {call: f}}]", "use: {functions: {f: {wait: PT1H, output: {as: {n: 2}}}}}\ndo: [{a: {call: f}}]", nil, time.Second, 10 * time.Second, map[string]any{"n": 2}},
		"a function that moves":        {"use: {functions: {f: {do: [{w: {wait: PT10S}}, {s: {set: {n: 1}}}]}}}\ndo: [{a: {call: f}}]", "use: {functions: {g: {do: [{w: {wait: PT1H}}, {s: {set: {n: 2}}}]}}}\ndo: [{a: {call: g}}]", interpreter.PointerMap{"/use/functions/f": "/use/functions/g"}, time.Second, 10 * time.Second, map[string]any{"n": 2}},
		"an extension":                 {"use: {extensions: [{e: {extend: set, before: [{w: {wait: PT10S}}]}}]}\ndo: [{a: {set: {n: 1}}}]", "use: {extensions: [{e: {extend: set, before: [{w: {wait: PT1H}}, {v: {wait: PT1S}}]}}]}\ndo: [{a: {set: {n: 2}}}]", nil, time.Second, 11 * time.Second, map[string]any{"n": 2}},
		"a timeout of the workflow is none of a run in progress": {"do: [{a: {wait: PT10S}}]", "timeout: {after: PT5S}\ndo: [{a: {wait: PT1H, output: {as: {n: 2}}}}]", nil, time.Second, 10 * time.Second, map[string]any{"n": 2}},
	} {
		for _, working := range []bool{true, false} {
			t.Run(name+map[bool]string{true: ", held", false: ", parked"}[working], func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					h := newHost(t)
					park := time.Hour
					if !working {
						park = time.Millisecond
					}
					stop := h.work(worker.Config{ParkAfter: park})
					i := h.begin(c.from, client.StartOptions{})
					h.version("2.0.0", c.to)
					time.Sleep(c.after)
					if err := h.migrate(i, client.Migration{To: "2.0.0", Map: c.pointers, Reason: "fixed"}); err != nil {
						t.Fatal(err)
					}
					time.Sleep(100 * time.Millisecond)
					h.verifyReplay(i)
					stop() // the rest is restored from the stored state
					defer h.work(worker.Config{})()
					o := h.wait(i)
					if diff := cmp.Diff(c.want, o.Output); diff != "" || took(o) != c.took {
						t.Errorf("after %s, %s %v:\n%s", took(o), o.Status, o.Fault, diff)
					}
					h.verifyReplay(i)
					d := h.described(i, false)
					if d.Invocation.Workflow.Version != "2.0.0" || d.Invocation.First().Workflow.Version != "1.0.0" {
						t.Errorf("it is one of %v, and began as one of %v", d.Invocation.Workflow, d.Invocation.First())
					}
				})
			})
		}
	}
}

// TestMigrationOfASuspendedRun: a task that could continue when the run was suspended continues in the other version, even if the worker
// that migrates the run also resumes it.
func TestMigrationOfASuspendedRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		i := h.begin("do: [{a: {set: {n: 1}}}]", client.StartOptions{})
		h.version("2.0.0", "do: [{a: {set: {n: 2}}}]")
		h.must(h.asker().Suspend(t.Context(), i, ""))
		stop := h.work(worker.Config{ParkAfter: time.Millisecond})
		time.Sleep(time.Second)
		stop()
		h.must(h.migrate(i, client.Migration{To: "2.0.0"}))
		h.must(h.asker().Resume(t.Context(), i, ""))
		defer h.work(worker.Config{})()
		time.Sleep(time.Minute)
		if o, done, err := h.asker().Outcome(t.Context(), i); err != nil || !done || !cmp.Equal(o.Output, any(map[string]any{"n": 2})) {
			t.Errorf("%s with %v: ended %v, %v", o.Status, o.Output, done, err)
		}
		h.verifyReplay(i)
	})
}

// TestRefusedMigrations: a run without a place in the other version is refused, with the reason, and unchanged.
func TestRefusedMigrations(t *testing.T) {
	for name, c := range map[string]struct {
		to, version string
		pointers    interpreter.PointerMap
		why         string
	}{
		"the task is gone":            {"do: [{l: {do: [{z: {wait: PT1S}}]}}]", "2.0.0", nil, "has no task /do/0/l/do/0/a"},
		"it is of another kind":       {"do: [{l: {do: [{a: {set: {n: 1}}}]}}]", "2.0.0", nil, "another kind of task at /do/0/l/do/0/a: "},
		"what contains it is":         {"do: [{l: {for: {in: '[1]'}, do: [{a: {wait: PT1S}}]}}]", "2.0.0", nil, "another kind of task at /do/0/l: "},
		"the map leads nowhere":       {"do: [{l: {do: [{z: {wait: PT1S}}]}}]", "2.0.0", interpreter.PointerMap{"/do/0/l/do/0/a": "/do/1"}, "has no task /do/1, which the map names"},
		"the map comes from nowhere":  {"do: [{l: {do: [{a: {wait: PT1S}}]}}]", "2.0.0", interpreter.PointerMap{"/do/7/x": "/do/0/l"}, "test/a:1.0.0 has no task /do/7/x, which the map names"},
		"the map leads out of it":     {"do: [{l: {do: [{z: {wait: PT1S}}]}}, {o: {wait: PT1S}}]", "2.0.0", interpreter.PointerMap{"/do/0/l/do/0/a": "/do/1/o"}, "has no task /do/1/o, where the map puts /do/0/l/do/0/a"},
		"it has the definition":       {"do: [{l: {do: [{z: {wait: PT1S}}]}}]", "1.0.0", nil, "has the definition of test/a:1.0.0 already"},
		"there is no such version":    {"do: [{l: {do: [{z: {wait: PT1S}}]}}]", "3.0.0", nil, "test/a:3.0.0"},
		"no version":                  {"do: [{l: {do: [{z: {wait: PT1S}}]}}]", "", nil, "must be a version"},
		"an empty pointer in the map": {"do: [{l: {do: [{a: {wait: PT1S}}]}}]", "2.0.0", interpreter.PointerMap{"": "/do/0/l"}, "has no task , which the map names"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				defer h.work(worker.Config{})()
				i := h.begin("do: [{l: {do: [{a: {wait: PT10S}}]}}]", client.StartOptions{})
				h.version("2.0.0", c.to)
				time.Sleep(time.Second)
				before := h.record(i)
				if err := h.migrate(i, client.Migration{To: c.version, Map: c.pointers}); err == nil || !strings.Contains(err.Error(), c.why) {
					t.Errorf("got %v", err)
				}
				if diff := cmp.Diff(before, h.record(i)); diff != "" {
					t.Errorf("it has changed:\n%s", diff)
				}
			})
		})
	}
}

// TestMigrationsThatComeTooLate: a run that leaves its position before the migration arrives keeps its definition, and reports the reason.
func TestMigrationsThatComeTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		stop := h.work(worker.Config{})
		i := h.begin("do: [{a: {wait: PT10S}}, {b: {wait: PT10S}}]", client.StartOptions{})
		over := h.start("do: [{a: {set: {n: 1}}}]", client.StartOptions{})
		delayed := h.start("do: [{a: {set: {n: 1}}}]", client.StartOptions{Delay: time.Hour})
		cancelled := h.start("do: [{a: {wait: PT10S}}]", client.StartOptions{})
		timed := h.start("timeout: {after: PT5S}\ndo: [{a: {wait: PT10S}}]", client.StartOptions{})
		h.version("2.0.0", "do: [{a: {wait: PT10S}}]")
		time.Sleep(time.Second)
		for run, why := range map[store.Instance]string{over: "has ended", delayed: "has not begun"} {
			if err := h.migrate(run, client.Migration{To: "2.0.0"}); err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("%s: %v", run, err)
			}
		}
		stop()
		for _, run := range []store.Instance{i, timed} {
			if err := h.migrate(run, client.Migration{To: "2.0.0"}); err != nil {
				t.Error(err)
			}
		}
		if err := h.client.Cancel(t.Context(), cancelled, ""); err != nil {
			t.Error(err)
		}
		if err := h.migrate(cancelled, client.Migration{To: "2.0.0"}); err != nil {
			t.Error(err)
		}
		time.Sleep(10 * time.Second) // the wait ends, and the deadline passes, before a worker sees the migration
		defer h.work(worker.Config{})()
		if o := h.wait(i); o.Status != interpreter.StatusCompleted || took(o) != 11*time.Second {
			t.Errorf("%s after %s: %v", o.Status, took(o), o.Fault)
		}
		if o := h.wait(timed); !o.TimedOut {
			t.Errorf("its deadline has passed: %+v", o)
		}
		if o := h.wait(cancelled); o.Status != interpreter.StatusCancelled {
			t.Errorf("it was cancelled before: %+v", o)
		}
		for _, run := range []store.Instance{i, timed, cancelled} {
			h.verifyReplay(run)
		}
	})
}

// TestMigrationInFlight: a request in flight is unchanged, and its result is used by the new version, also when another worker performs it
// again.
func TestMigrationInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		var keys []string
		h.perform = func(ctx context.Context, r interpreter.Request) (any, error) {
			keys = append(keys, r.Key)
			return hanging(ctx, r)
		}
		stop := h.work(worker.Config{Drain: time.Millisecond})
		i := h.begin("do: [{a: "+task+"}]", client.StartOptions{})
		h.version("2.0.0", "do: [{x: {set: {n: 1}}}, {b: {run: {shell: {command: y}}, output: {as: {got: '${ . }'}}}}]")
		time.Sleep(time.Second)
		if err := h.migrate(i, client.Migration{To: "latest", Map: interpreter.PointerMap{"/do/0/a": "/do/1/b"}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		h.verifyReplay(i)
		stop()
		h.perform = func(ctx context.Context, r interpreter.Request) (any, error) {
			keys = append(keys, r.Key)
			return effortless(ctx, r)
		}
		defer h.work(worker.Config{})()
		if diff := cmp.Diff(map[string]any{"got": "done"}, h.wait(i).Output); diff != "" {
			t.Error(diff)
		}
		if len(keys) != 2 || keys[0] != keys[1] {
			t.Errorf("the keys are %v", keys)
		}
		h.verifyReplay(i)
	})
}

// TestMigrationOfAQuarantinedRun: a migration releases a quarantined run, which continues with the other version.
func TestMigrationOfAQuarantinedRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.poisonous()
		defer h.work(worker.Config{})()
		i := h.begin("do: [{bad: "+task+"}, {b: {set: {n: 1}}}]", client.StartOptions{})
		h.version("2.0.0", "do: [{bad: "+task+"}, {b: {set: {n: 2}}}]")
		time.Sleep(time.Hour)
		if r := h.record(i); r.Reason != store.Quarantined {
			t.Fatalf("the record is %+v", r)
		}
		h.perform = effortless
		if err := h.migrate(i, client.Migration{To: "2.0.0"}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]any{"n": 2}, h.wait(i).Output); diff != "" {
			t.Error(diff)
		}
		h.verifyReplay(i)
	})
}

// TestForkOfAMigratedRun: a run that migrated and failed is forked with its present definition, and so is its second run.
func TestForkOfAMigratedRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		defer h.work(worker.Config{})()
		i := h.begin("do: [{a: {wait: PT10S}}, {b: {set: {n: 1}}}]", client.StartOptions{ID: "x"})
		h.version("2.0.0", "do: [{a: {wait: PT10S}}, {b: {if: '$runtime.metadata == 7', set: {n: 2}}}, {c: {raise: {error: {type: https://a.b/c, status: 400}}}}]")
		h.version("3.0.0", "do: [{a: {wait: PT10S}}, {b: {set: {n: 3}}}, {c: {raise: {error: {type: https://a.b/c, status: 400}}}}]")
		h.version("4.0.0", "do: [{a: {wait: PT10S}}, {b: {set: {n: 3}}}, {c: {raise: {error: {type: https://a.b/c, status: 400}}, if: '.n != 3'}}]")
		time.Sleep(time.Second)
		for _, to := range []string{"2.0.0", "3.0.0"} {
			if err := h.migrate(i, client.Migration{To: to}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		if o := h.wait(i); o.Status != interpreter.StatusFaulted {
			t.Fatalf("got %+v", o)
		}
		h.verifyReplay(i)
		forked := h.mustFork(i, client.ForkOptions{Version: "4.0.0"})
		if diff := cmp.Diff(map[string]any{"n": 3}, h.wait(forked.Instance).Output); diff != "" {
			t.Error(diff)
		}
		early := h.mustFork(i, client.ForkOptions{From: "/do/0/a", Version: "4.0.0", Again: true})
		if diff := cmp.Diff(map[string]any{"n": 3}, h.wait(early.Instance).Output); diff != "" {
			t.Error(diff)
		}
		again, err := h.client.Begin(t.Context(), definition.Reference{Namespace: "test", Name: "a", Version: "1.0.0"}, nil, client.StartOptions{ID: "x"})
		if err != nil || !again.Again {
			t.Errorf("the same start again: %v, %v", again, err)
		}
	})
}

// TestMigratedSecrets: data of a run holds a secret only as long as its definition declares it.
func TestMigratedSecrets(t *testing.T) {
	const document = "use: {secrets: [%s]}\ndo: [{a: {set: {key: '${ $secrets.%s }'}}}, {b: {wait: PT10S}}, {c: {set: {same: '${ .key == $secrets.%s }'}}}]"
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.secrets = func(name string) (any, bool) { return "the value of " + name, true }
		stop := h.work(worker.Config{})
		i := h.begin(fmt.Sprintf(document, "old, both", "old", "old"), client.StartOptions{})
		kept := h.start(fmt.Sprintf(document, "both", "both", "both"), client.StartOptions{})
		h.version("2.0.0", fmt.Sprintf(document, "a, both", "both", "both"))
		time.Sleep(time.Second)
		stop()
		why := `holds the secret "old", which test/a:2.0.0 does not declare`
		if err := h.migrate(i, client.Migration{To: "2.0.0"}); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("got %v", err)
		}
		if err := h.migrate(kept, client.Migration{To: "2.0.0"}); err != nil {
			t.Error(err)
		}
		defer h.work(worker.Config{})()
		if o := h.wait(kept); o.Status != interpreter.StatusCompleted || o.Output.(map[string]any)["same"] != true {
			t.Errorf("got %+v", o)
		}
	})
}
