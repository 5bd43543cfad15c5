package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/internal/remote"
	"github.com/swrun/swrun/runtime/store"
)

// TestCommandIsBrokenOff: a store that refuses a command for all runs is reported once, and not for each run.
func TestCommandIsBrokenOff(t *testing.T) {
	h := newHosted(t)
	document := mustWriteFile(t, "nap.yaml", napText)
	h.exits(exitOK, "deploy", document)
	for n := range 20 {
		h.exits(exitOK, "start", "demo/nap", "--delay", "1h", "--id", fmt.Sprint("n", n))
	}
	options, err := redis.ParseURL(strings.Split(h.url, "?")[0])
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	defer client.Close()
	if err := client.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	c := capture(map[string]string{"SWRUN_STORE": h.url})
	c.now = time.Now
	code := run([]string{"suspend", "--yes", "--where", "workflow=demo/nap"}, c.streams)
	said := strings.TrimSpace(c.stderr.String())
	if code != exitStore || strings.Count(said, "\n") > 3 || !strings.Contains(said, "suspend stopped: the store refuses it, with 20 runs left") {
		t.Errorf("it ended with %d and said\n%s", code, said)
	}
}

// TestBenchIsInterrupted: an interrupted bench leaves nothing in the store.
func TestBenchIsInterrupted(t *testing.T) {
	h := newHosted(t)
	options, err := redis.ParseURL(strings.Split(h.url, "?")[0])
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	defer client.Close()
	runs := func() int {
		keys, err := client.Keys(t.Context(), "*:i:*").Result()
		if err != nil {
			t.Fatal(err)
		}
		return len(keys)
	}
	cmd := command(t, "bench", "throughput", "--store", h.url)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for runs() < 100 && t.Context().Err() == nil {
		continue
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the test checks its exit code
	if got := cmd.ProcessState.ExitCode(); got != exitInterrupt {
		t.Errorf("it ended with %d", got)
	}
	if left := runs(); left > 0 {
		t.Errorf("%d runs are left", left)
	}
}

// TestCommandIsInterrupted: a signal between requests leaves the other runs unchanged, and their number is reported.
func TestCommandIsInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	c, requests := capture(nil), 0
	s, err := swrun.OpenStore(ctx, "memory:", swrun.StoreConfig{})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := swrun.NewEngine(s, swrun.EngineConfig{})
	if err != nil {
		t.Fatal(err)
	}
	o := &operation{program: &program{streams: c.streams}, store: &openedStore{Store: s}, engine: engine}
	o.deployment, err = remote.New(remote.Config{URL: "http://store", Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			http.NotFound(w, r)
			return
		}
		if requests++; requests == 2 {
			interrupt()
			<-r.Context().Done()
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		var asked api.BulkRequest
		_ = json.NewDecoder(r.Body).Decode(&asked) // an empty one fails the test
		answer := api.Outcomes{}
		for _, run := range asked.Runs {
			answer.Outcomes = append(answer.Outcomes, api.Outcome{Run: run, Outcome: api.OutcomeAccepted})
		}
		_ = json.NewEncoder(w).Encode(answer) // as above
	})})
	if err != nil {
		t.Fatal(err)
	}
	runs := make([]store.Instance, 2*sendSize+1)
	for n := range runs {
		runs[n] = store.Instance{Namespace: "demo", ID: fmt.Sprint("n", n)}
	}
	if err := o.send(ctx, commandVerb{done: "terminating", Verb: control.Verb{Name: "terminate"}}, runs, ""); err == nil {
		t.Error("it is done")
	}
	want := fmt.Sprintf("terminate stopped: it was interrupted, with %d runs left; repeat the command for them\n", sendSize+1)
	if said := c.stderr.String(); said != want || strings.Count(c.stdout.String(), "terminating") != sendSize {
		t.Errorf("it said %s and named %d runs", said, strings.Count(c.stdout.String(), "terminating"))
	}
}
