package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/redisstore"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/runtime"
	"github.com/swrun/swrun/tasks"
)

func TestTmpThroughput(t *testing.T) {
	server := redistest.Start(t, "--appendonly", "yes")
	s, err := redisstore.Open(t.Context(), server.URL(), redisstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	doc := "document: {dsl: 1.0.3, namespace: bench, name: a, version: 0.1.0}\ndo:\n"
	for i := range 10 {
		doc += fmt.Sprintf("- s%d: {call: http, with: {method: get, endpoint: 'http://x.test/'}}\n", i)
	}
	compile := func(d runtime.Definition) (*interpreter.Program, error) {
		w, found := dsl.Parse("a.yaml", []byte(d.Document))
		if err := found.Err(); err != nil {
			return nil, err
		}
		kinds := tasks.All(tasks.Config{Transport: http.DefaultTransport})
		for i := range kinds {
			if kinds[i].Kind == dsl.KindCallHTTP {
				kinds[i].Perform = func(context.Context, interpreter.Request) (any, error) { return map[string]any{"ok": true}, nil }
			}
		}
		p, found := interpreter.Compile(w, interpreter.Config{Kinds: kinds})
		return p, found.Err()
	}
	client := runtime.NewClient(runtime.ClientConfig{Store: s})
	const n = 4000
	var ids []runtime.Instance
	for range n {
		i, err := client.StartDefinition(t.Context(), runtime.Definition{Document: doc}, map[string]any{"n": 1}, runtime.StartOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, i)
	}
	f, _ := os.Create("/tmp/cpu.prof")
	pprof.StartCPUProfile(f)
	began := time.Now()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		runtime.NewWorker(runtime.WorkerConfig{Store: s, Compile: compile, Concurrency: 100}).Run(ctx)
		close(done)
	}()
	for {
		var st runtime.Statistics
		for p := range s.Layout().Partitions {
			one, _ := s.Statistics(ctx, p)
			st.Closed += one.Closed
		}
		if st.Closed == n {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	took := time.Since(began)
	pprof.StopCPUProfile()
	cancel()
	<-done
	t.Logf("%d steps in %s: %.0f/s", n*10, took, float64(n*10)/took.Seconds())
}
