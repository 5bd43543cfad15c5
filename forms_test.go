package swrun_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.etcd.io/bbolt"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/access"
	"github.com/swrun/swrun/internal/form"
	"github.com/swrun/swrun/internal/golden"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/filter"
	"github.com/swrun/swrun/runtime/matching"
	"github.com/swrun/swrun/runtime/settings"
	"github.com/swrun/swrun/runtime/store"
)

// The stores in testdata/stores were written by earlier builds, and by this one. Every build reads them all (docs/decisions/0059). -update writes the
// stores of this build, under the sum of its forms.

// formsOfStores are workflows that leave data of every form of a run in a store.
const formsOfStores = `
document: {dsl: 1.0.3, namespace: aa, name: done, version: 1.0.0}
do:
  - tries:
      try: [{fails: {raise: {error: {type: 'https://example.com/e', status: 500, title: wrong}}}}]
      catch: {retry: {delay: {milliseconds: 1}, limit: {attempt: {count: 1}}}, do: [{sets: {set: {caught: true}}}]}
  - tells: {emit: {event: {with: {type: told, source: aa, data: {n: 1}}}}}
  - large: {set: {text: '${ [range(900)] | map("abcdef") | join("-") }'}, export: {as: '${ {n: 1} }'}}
---
document: {dsl: 1.0.3, namespace: aa, name: naps, version: 1.0.0}
do:
  - both:
      fork:
        branches:
          - sleeps: {wait: P1D, timeout: {after: PT1H}}
          - listens: {listen: {to: {one: {with: {type: never}, correlate: {n: {from: '${ .data.n }', expect: '${ 7 }'}}}}}}
---
document: {dsl: 1.0.3, namespace: aa, name: asks, version: 1.0.0}
do:
  - asks: {call: 'activity:1.0.0@default', with: {type: stamp, input: {n: 1}}}
---
document: {dsl: 1.0.3, namespace: aa, name: stamps, version: 1.0.0}
do:
  - asks: {call: 'activity:1.0.0@default', with: {type: stamp, queue: stamps, input: {n: 1}}}
---
document: {dsl: 1.0.3, namespace: aa, name: leads, version: 1.0.0}
do:
  - beside: {run: {workflow: {namespace: aa, name: naps, version: 1.0.0}, await: false}, metadata: {swrun: {parentClose: cancel}}}
  - child: {run: {workflow: {namespace: aa, name: stamps, version: 1.0.0}}}
---
document: {dsl: 1.0.3, namespace: aa, name: timed, version: 1.0.0}
schedule: {every: {days: 1}}
do: [{sets: {set: {a: 1}}}]
` + moreFormsOfStores

func runsOfStores() []string { return []string{"done", "naps", "asks", "leads", "stops", "begins"} }

// writeStore leaves the workflows and one run of each kind in a store.
func writeStore(t *testing.T, s *swrun.Store) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	engine := must(swrun.NewEngine(s, swrun.EngineConfig{ParkAfter: time.Millisecond, Drain: time.Second}))
	for n, text := range strings.Split(formsOfStores, "---\n") {
		document, err := swrun.Parse(fmt.Sprintf("w%d.yaml", n), []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := engine.Deploy(ctx, document); err != nil {
			t.Fatal(err)
		}
	}
	leaveRegistry(t, s)
	worked := make(chan error, 1)
	go func() { worked <- engine.Work(ctx) }()
	for _, name := range []string{"done", "naps", "asks", "leads"} {
		must(engine.Start(ctx, "aa/"+name, map[string]any{"n": 1}, swrun.StartOptions{ID: name, BusinessKey: "key", Labels: map[string]string{"team": "a"}}))
	}
	stops := must(engine.Start(ctx, "aa/naps", nil, swrun.StartOptions{ID: "stops"}))
	until(t, s, interpreter.StatusWaiting, "naps", "asks", "leads", "stops")
	if err := stops.Suspend(ctx, "a break"); err != nil {
		t.Fatal(err)
	}
	until(t, s, interpreter.StatusSuspended, "stops")
	must(engine.Run("aa", "done").Await(ctx))
	leaveParked(t, engine)
	leaveMore(t, engine)
	stop()
	<-worked
	must(engine.Start(t.Context(), "aa/done", map[string]any{"n": 2}, swrun.StartOptions{ID: "begins"}))
	leaveLate(t, engine)
	if err := engine.Run("aa", "asks").Cancel(t.Context(), "enough"); err != nil { // stays in the inbox
		t.Fatal(err)
	}
}

// leaveParked leaves an activity of a run that was suspended before a worker took the activity.
func leaveParked(t *testing.T, engine *swrun.Engine) {
	t.Helper()
	child := engine.Run("aa", interpreter.ChildID("aa", "leads", "/do/1/child"))
	for { // if it were suspended before it has its activity, the child would never have one
		d, err := child.Describe(t.Context())
		if err == nil && len(d.Activities) == 1 {
			break
		}
		pause(t)
	}
	if err := child.Suspend(t.Context(), "a break"); err != nil {
		t.Fatal(err)
	}
	for {
		if d := must(child.Describe(t.Context())); d.Lifecycle.Status == interpreter.StatusSuspended && len(d.Activities) == 1 {
			break
		}
		pause(t)
	}
	now := make(chan struct{})
	close(now)
	if all := must(engine.Activities().Poll(t.Context(), matching.Poll{Queues: []string{"stamps"}, Limit: 1, Until: now})); len(all) > 0 {
		t.Errorf("polled %v of a suspended run", all)
	}
}

// leaveRegistry leaves entries of every kind that a deployment stores besides its runs.
func leaveRegistry(t *testing.T, s *swrun.Store) {
	t.Helper()
	tokens := access.NewTokens(s, time.Now)
	_, _, err := tokens.New(t.Context(), "viewer", access.Grant{Role: access.RoleViewer, Namespaces: []string{"aa"}}, 0, "me")
	if err != nil {
		t.Fatal(err)
	}
	must(settings.Change(t.Context(), s, "aa", func(c *settings.Settings) error {
		c.RunTimeout = time.Hour
		c.Events = "aa,bb"
		return nil
	}, nil))
}

// until waits until no worker holds the runs, and they have a status.
func until(t *testing.T, s *swrun.Store, status interpreter.Status, ids ...string) {
	t.Helper()
	for _, id := range ids {
		for {
			l, err := s.Load(t.Context(), store.Instance{Namespace: "aa", ID: id})
			if err != nil {
				t.Fatal(err)
			}
			if l.Lifecycle.Status == status && !l.Lifecycle.Held() {
				break
			}
			pause(t)
		}
	}
}

func pause(t *testing.T) {
	t.Helper()
	select {
	case <-time.After(10 * time.Millisecond):
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// sumOfForms returns a number that changes with each change of a form.
func sumOfForms() string {
	sum := form.Record + form.Invocation + form.State + form.History + form.Message + form.Outgoing + form.Activity + form.Definition
	for _, kind := range store.RegistryKinds() {
		sum += kind.Form() - 1
	}
	return strconv.Itoa(int(sum) - 7)
}

// writeGolden writes the stores of this build.
func writeGolden(t *testing.T) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "store.db")
	s := must(swrun.OpenStore(t.Context(), "file:"+file, swrun.StoreConfig{}))
	writeStore(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	writeZipped(t, "file-"+sumOfForms()+".db.gz", must(os.ReadFile(compact(t, file))))
	server := redistest.Start(t)
	r := must(swrun.OpenStore(t.Context(), server.URL()+"?partitions=1", swrun.StoreConfig{}))
	writeStore(t, r)
	_ = r.Close()
	redisClient := redis.NewClient(&redis.Options{Addr: server.Addr})
	defer redisClient.Close()
	writeZipped(t, "redis-"+sumOfForms()+".json.gz", must(json.Marshal(dumpRedis(t, redisClient))))
}

// compact copies a file without the free pages of bbolt.
func compact(t *testing.T, file string) string {
	t.Helper()
	from := must(bbolt.Open(file, 0o600, &bbolt.Options{ReadOnly: true}))
	defer from.Close()
	smaller := file + ".small"
	to := must(bbolt.Open(smaller, 0o600, &bbolt.Options{PageSize: 4096}))
	if err := bbolt.Compact(to, from, 0); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return smaller
}

func writeZipped(t *testing.T, name string, data []byte) {
	t.Helper()
	var zipped bytes.Buffer
	w := must(gzip.NewWriterLevel(&zipped, gzip.BestCompression))
	must(w.Write(data))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("testdata", "stores", name), zipped.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func unzipped(t *testing.T, name string) []byte {
	t.Helper()
	f := must(os.Open(name))
	defer f.Close()
	return must(io.ReadAll(must(gzip.NewReader(f))))
}

// dumpRedis returns every key in the format of RESTORE.
func dumpRedis(t *testing.T, c *redis.Client) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for _, key := range must(c.Keys(t.Context(), "*").Result()) {
		all[key] = []byte(must(c.Dump(t.Context(), key).Result()))
	}
	return all
}

// goldenStores returns the stores of earlier builds and of this one, each in a place of its own.
func goldenStores(t *testing.T) map[string]string {
	t.Helper()
	urls := map[string]string{}
	for _, name := range must(filepath.Glob("testdata/stores/*.gz")) {
		data := unzipped(t, name)
		if strings.HasSuffix(name, ".db.gz") {
			file := filepath.Join(t.TempDir(), "store.db")
			if err := os.WriteFile(file, data, 0o600); err != nil {
				t.Fatal(err)
			}
			urls[name] = "file:" + file
			continue
		}
		var keys map[string][]byte
		if err := json.Unmarshal(data, &keys); err != nil {
			t.Fatal(err)
		}
		server := redistest.Start(t)
		c := redis.NewClient(&redis.Options{Addr: server.Addr})
		for key, value := range keys {
			if err := c.Restore(t.Context(), key, 0, string(value)).Err(); err != nil {
				t.Fatal(key, err)
			}
		}
		_ = c.Close()
		urls[name] = server.URL()
	}
	return urls
}

// TestGoldenStores: every build reads the stores of each of its predecessors, and continues their runs.
func TestGoldenStores(t *testing.T) {
	if golden.Update() {
		writeGolden(t)
	}
	stores := goldenStores(t)
	if len(stores) < 2 {
		t.Fatal("there are no golden stores: run this test with -update")
	}
	for name, url := range stores {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			now := time.Now // Redis has a clock of its own
			if strings.HasPrefix(url, "file:") {
				now = func() time.Time { return time.Now().Add(100 * 365 * 24 * time.Hour) } // the deadlines are in the past
			}
			s, err := swrun.OpenStore(t.Context(), url, swrun.StoreConfig{Now: now})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close() // nothing is left to be written
			readGolden(t, s)
			goOnWithGolden(t, s, now())
		})
	}
}

// readGolden reads all data of a store.
func readGolden(t *testing.T, s *swrun.Store) {
	t.Helper()
	engine := must(swrun.NewEngine(s, swrun.EngineConfig{}))
	page, err := engine.Client().List(t.Context(), client.Query{Limit: 100})
	if err != nil || page.Unreadable != 0 || len(page.Runs) < len(runsOfStores())+1 { // one run has a child
		t.Errorf("listed %d runs, %d cannot be read, %v", len(page.Runs), page.Unreadable, err)
	}
	for _, r := range page.Runs {
		run := engine.Run(r.Instance.Namespace, r.Instance.ID)
		if _, err := run.Describe(t.Context()); err != nil {
			t.Errorf("%s: %v", r.Instance, err)
		}
		if err := run.History(t.Context(), func(client.HistoryEntry) error { return nil }); err != nil {
			t.Errorf("%s: %v", r.Instance, err)
		}
	}
	for _, kind := range store.RegistryKinds() {
		if !kind.Listed() {
			continue
		}
		for _, one := range must(s.ListRegistered(t.Context(), store.RegistryList{Kind: kind})) {
			if err := store.CheckEntry(kind, one); err != nil {
				t.Error(err)
			}
		}
	}
	if all := must(access.NewTokens(s, time.Now).List(t.Context())); len(all) != 1 {
		t.Errorf("the tokens are %v", all)
	}
	if all := must(settings.List(t.Context(), s)); len(all) != 1 || all[0].RunTimeout != time.Hour {
		t.Errorf("the settings are %v", all)
	}
	if all := must(engine.Schedules().All(t.Context())); len(all) < 1 {
		t.Errorf("the schedules are %v", all)
	}
}

// goOnWithGolden lets a worker continue the runs. Runs that were not started yet end, and so do cancelled runs. Deadlines in the past fire.
func goOnWithGolden(t *testing.T, s *swrun.Store, now time.Time) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	engine := must(swrun.NewEngine(s, swrun.EngineConfig{Drain: time.Second}))
	ends := map[string]interpreter.Status{"begins": interpreter.StatusCompleted, "asks": interpreter.StatusCancelled, "naps": interpreter.StatusFaulted}
	for id := range ends {
		all := must(engine.Run("aa", id).Describe(ctx)).Deadlines
		switch passed := len(all) > 0 && all[0].At.Before(now); {
		case id == "asks" && passed: // the deadline fires before the cancel is read
			ends[id] = interpreter.StatusFaulted
		case id == "naps" && !passed:
			delete(ends, id)
		}
	}
	go func() { _ = engine.Work(ctx) }() // it returns only that it was stopped
	for id, want := range ends {
		result, _ := engine.Run("aa", id).Await(ctx)
		if result.Status != want {
			t.Errorf("%s is %s, want %s", id, result.Status, want)
		}
	}
	counted, _, err := engine.Client().Count(ctx, filter.Filter{}, nil)
	if err != nil || counted[0].Runs < len(runsOfStores())+1 {
		t.Errorf("counted %v, %v", counted, err)
	}
}
