package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/server"
)

// patience is the maximum time of an answer on a busy machine. It is much longer than the limit of the server, and much shorter than the wait of
// callers without any answer.
const patience = 90 * time.Second

// TestStoreIsAway: every operation is answered while the store is killed, stopped or read-only, also with an Idempotency-Key, and the answer reports
// whether something may have been changed. A change that was answered as not made is not made later.
func TestStoreIsAway(t *testing.T) {
	for name, state := range map[string]struct {
		cause, heal func(*redistest.Server, *redis.Client)
		reads       bool
	}{
		"killed": {func(s *redistest.Server, _ *redis.Client) { s.Kill() }, func(s *redistest.Server, _ *redis.Client) { s.Run() }, false},
		"stopped": {
			func(s *redistest.Server, _ *redis.Client) { syscall.Kill(s.Process(), syscall.SIGSTOP) },
			func(s *redistest.Server, _ *redis.Client) { syscall.Kill(s.Process(), syscall.SIGCONT) }, false,
		},
		"readonly": {
			func(_ *redistest.Server, c *redis.Client) { c.ReplicaOf(context.Background(), "127.0.0.1", "1") },
			func(_ *redistest.Server, c *redis.Client) { c.ReplicaOf(context.Background(), "NO", "ONE") }, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redisServer := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
			client := redis.NewClient(&redis.Options{Addr: redisServer.Addr, DisableIdentity: true})
			t.Cleanup(func() { client.Close() })
			a := mustServeAway(t, redisServer.URL())
			described := a.mustDescribe(t, exampleWorkflow(t, a))
			state.cause(redisServer, client)
			all := a.askAll(t, described)
			state.heal(redisServer, client)
			if away := all.check(t, state.reads); away < 20 {
				t.Errorf("only %d operations needed the store", away)
			}
			a.checkStarts(t, all)
		})
	}
}

// mustServeAway serves a store over a real connection.
func mustServeAway(t *testing.T, url string) *deployment {
	t.Helper()
	s, err := swrun.OpenStore(t.Context(), url, swrun.StoreConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	engine, err := swrun.NewEngine(s, swrun.EngineConfig{})
	if err != nil {
		t.Fatal(err)
	}
	a := server.New(server.Config{Control: control.New(engine, s, time.Now), Authorize: server.TrustEveryone})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- a.Serve(ctx, l) }()
	t.Cleanup(func() { stop(); <-served })
	d := &deployment{engine: engine, Server: httptest.NewServer(a)} // only its client is used
	t.Cleanup(d.Close)
	d.URL = "http://" + l.Addr().String()
	d.mustDeploy(t, "nap", waits)
	return d
}

// sentAway is an operation that was called while the store was unavailable.
type sentAway struct {
	operation, method, run string
	status                 int
	header                 http.Header
	body                   string
	took                   time.Duration
	err                    error
}

type allAway []sentAway

// askAll sends every operation of the description in parallel, each POST with a key and without one.
func (d *deployment) askAll(t *testing.T, described *openapi3.T) (all allAway) {
	t.Helper()
	var mu sync.Mutex
	var asking sync.WaitGroup
	for path, item := range described.Paths.Map() {
		for method, o := range item.Operations() {
			for _, key := range []string{"", "key"} {
				if key != "" && method != http.MethodPost || o.OperationID == "followRuns" { // it needs no store before it answers
					continue
				}
				var body []byte
				mediaType := "application/json"
				if o.RequestBody != nil {
					body, mediaType = exampleBody(t, o.RequestBody.Value)
				}
				run := "away-" + o.OperationID + key
				if strings.HasPrefix(o.OperationID, "start") {
					body = []byte(fmt.Sprintf(`{"id": %q}`, run))
					if o.OperationID == "startRun" {
						body = []byte(fmt.Sprintf(`{"workflow": "demo/nap", "id": %q}`, run))
					}
				}
				asking.Go(func() {
					header := http.Header{"Content-Type": {mediaType}}
					if key != "" {
						header.Set("Idempotency-Key", run)
					}
					sent := d.sendAway(method+" "+path, header, body)
					sent.operation, sent.run = o.OperationID, run
					mu.Lock()
					defer mu.Unlock()
					all = append(all, sent)
				})
			}
		}
	}
	asking.Wait()
	return all
}

// sendAway sends a request, METHOD and path, about objects that may not exist.
func (d *deployment) sendAway(asked string, header http.Header, body []byte) (sent sentAway) {
	method, path, _ := strings.Cut(asked, " ")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	filled := strings.NewReplacer("{namespace}", "demo", "{name}", "nap", "{version}", "1.0.0", "{id}", "r", "{code}", "SW401", "{seq}", "2").Replace(path)
	r, err := http.NewRequestWithContext(ctx, method, d.URL+filled, bytes.NewReader(body))
	if err != nil {
		return sentAway{err: err}
	}
	r.Header = header
	began := time.Now()
	answer, err := http.DefaultClient.Do(r)
	sent.method, sent.err, sent.took = method, err, time.Since(began)
	if err != nil {
		return sent
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	sent.status, sent.header, sent.body, sent.err, sent.took = answer.StatusCode, answer.Header, string(text), err, time.Since(began)
	return sent
}

// check returns the number of operations whose answer reports the unavailable store. An operation that reads is answered as usual if the store can be
// read.
func (all allAway) check(t *testing.T, reads bool) (away int) {
	t.Helper()
	for _, x := range all {
		if x.err != nil {
			t.Errorf("%s (%s): no answer after %s: %v", x.operation, x.run, x.took, x.err)
			continue
		}
		if x.status != http.StatusServiceUnavailable || x.operation == "getHealth" {
			continue
		}
		away++
		var p api.Problem
		if err := json.Unmarshal([]byte(x.body), &p); err != nil || x.operation != "ready" && (x.header.Get("Retry-After") == "" || p.Applied == "") {
			t.Errorf("%s: %v, Retry-After %q, %s", x.operation, err, x.header.Get("Retry-After"), x.body)
		}
		if x.method == http.MethodGet && (p.Applied == api.AppliedMaybe || strings.Contains(p.Detail, "may have") || reads && x.operation != "ready" && x.operation != "listWorkers") { // the list of workers is not available then
			t.Errorf("%s, which changes nothing: %s", x.operation, x.body)
		}
	}
	return away
}

// checkStarts reports runs that exist although their callers got the answer that nothing was changed.
func (d *deployment) checkStarts(t *testing.T, all allAway) {
	t.Helper()
	i := slices.IndexFunc(all, func(x sentAway) bool { return x.operation == "startRun" })
	if i < 0 {
		t.Fatal("no start was sent")
	}
	for deadline := time.Now().Add(patience); d.ask(t, "GET", "/v1/runs/demo/none", "").StatusCode != http.StatusNotFound; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the store does not come back")
		}
	}
	for _, x := range all {
		if !strings.HasPrefix(x.operation, "start") {
			continue
		}
		if there := d.ask(t, "GET", "/v1/runs/demo/"+x.run, "").StatusCode; strings.Contains(x.body, `"applied":"no"`) && there != http.StatusNotFound {
			t.Errorf("%s is there (%d), and its caller was told %s", x.run, there, x.body)
		}
	}
}
