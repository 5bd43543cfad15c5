package server_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/access"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/server"
)

// TestStopAnswersWhoWaits: requests that wait when the server stops are answered immediately, and the server waits for no request.
func TestStopAnswersWhoWaits(t *testing.T) {
	engine, s := napping(t, func(is store.Store) store.Store { return is })
	asked, known := make(chan struct{}, 3), sync.Map{}
	h := server.New(server.Config{Control: control.New(engine, s, time.Now), Authorize: func(r *http.Request) (server.Caller, error) {
		if _, again := known.LoadOrStore(r.URL.Path, true); !again { // a stream authorizes its caller repeatedly
			asked <- struct{}{}
		}
		return server.TrustEveryone(r)
	}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- h.Serve(ctx, l) }()
	answers := make(chan string, 3)
	for path, body := range map[string]string{"/v1/activities/poll": `{"queues": ["default"], "wait": "2m"}`, "/v1/runs/demo/nap/output?wait=2m": "", "/v1/runs/demo/nap/events": ""} {
		go func() { answers <- path + ": " + asksOnce(t.Context(), "http://"+l.Addr().String()+path, body) }()
	}
	for range cap(asked) {
		<-asked
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	for range cap(answers) {
		if got := <-answers; !strings.HasSuffix(got, ": 200 OK") && !strings.HasSuffix(got, ": 202 Accepted") {
			t.Error(got)
		}
	}
}

// napping returns an engine, and its store, in which the run demo/nap waits for an hour.
func napping(t *testing.T, wrapped func(store.Store) store.Store) (*swrun.Engine, *swrun.Store) {
	s, err := swrun.OpenStore(t.Context(), "memory:", swrun.StoreConfig{})
	if err != nil {
		t.Fatal(err)
	}
	s.Store = wrapped(s.Store)
	engine, err := swrun.NewEngine(s, swrun.EngineConfig{})
	if err != nil {
		t.Fatal(err)
	}
	d, err := swrun.Parse("nap.yaml", []byte("document: {dsl: 1.0.3, namespace: demo, name: nap, version: 1.0.0}\ndo: [{nap: {wait: {hours: 1}}}]"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := engine.StartDocument(t.Context(), d, nil, swrun.StartOptions{ID: "nap"}); err != nil {
		t.Fatal(err)
	}
	return engine, s
}

// asksOnce returns the status of a complete answer, or the reason why the answer is not complete. With a body it is a POST.
func asksOnce(ctx context.Context, url, body string) string {
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return err.Error()
	}
	r.Header.Set("Content-Type", "application/json")
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return err.Error()
	}
	defer a.Body.Close()
	if _, err := io.ReadAll(a.Body); err != nil {
		return err.Error()
	}
	return a.Status
}

// TestRevokedPollers: a worker whose token is revoked during its poll gets no activity. Another worker gets the activity, as the same attempt.
func TestRevokedPollers(t *testing.T) {
	asked := make(chan struct{}, 10)
	g := mustGuard(t, func(c *server.Config) {
		authorize := c.Authorize
		c.Authorize = func(r *http.Request) (server.Caller, error) {
			caller, err := authorize(r)
			asked <- struct{}{}
			return caller, err
		}
	})
	defer working(t, g.engine)()
	ada := g.token(t, "ada", access.Grant{Role: access.RoleOperator, Namespaces: []string{"demo"}})
	bob := g.token(t, "bob", access.Grant{Role: access.RoleOperator, Namespaces: []string{"demo"}})
	const act = `{"document":{"dsl":"1.0.3","namespace":"demo","name":"act","version":"1.0.0"},"do":[{"work":{"call":"activity:1.0.0@default","with":{"type":"x"}}}]}`
	if w := g.send("PUT", "/v1/workflows/demo/act/1.0.0", act, "Authorization", bob); w.Code != 201 {
		t.Fatalf("deployed with %d %s", w.Code, w.Body)
	}
	<-asked
	polled := make(chan int)
	go func() {
		polled <- g.send("POST", "/v1/activities/poll", `{"queues":["default"],"wait":"2m"}`, "Authorization", ada).Code
	}()
	<-asked
	if err := g.tokens.Revoke(t.Context(), "ada"); err != nil {
		t.Fatal(err)
	}
	g.now.pass(access.KnownFor)
	if w := g.send("POST", "/v1/runs", `{"workflow":"demo/act"}`, "Authorization", bob); w.Code != 201 {
		t.Fatalf("started with %d %s", w.Code, w.Body)
	}
	if code := <-polled; code != http.StatusUnauthorized {
		t.Errorf("the poll of a revoked token is answered with %d", code)
	}
	if w := g.send("POST", "/v1/activities/poll", `{"queues":["default"],"wait":"2m"}`, "Authorization", bob); !strings.Contains(w.Body.String(), `"attempt":1`) {
		t.Errorf("the other worker gets %d %s", w.Code, w.Body)
	}
}

// silentStore answers no list.
type silentStore struct{ store.Store }

func (silentStore) List(ctx context.Context, _ int, _ string, _ int) (store.Page, error) {
	<-ctx.Done()
	return store.Page{}, ctx.Err()
}

// TestSilentStore: a request that only reads is answered even if the store does not answer.
func TestSilentStore(t *testing.T) {
	g := mustGuard(t, func(c *server.Config) {
		c.ReadWithin = 10 * time.Millisecond
		s, err := swrun.OpenStore(t.Context(), "memory:", swrun.StoreConfig{})
		if err != nil {
			t.Fatal(err)
		}
		s.Store = silentStore{s.Store}
		engine, err := swrun.NewEngine(s, swrun.EngineConfig{})
		if err != nil {
			t.Fatal(err)
		}
		c.Control = control.New(engine, s, time.Now)
	})
	ada := g.token(t, "ada", access.Grant{Role: access.RoleViewer, Everywhere: true})
	for _, path := range []string{"/v1/runs", "/v1/runs/count?by=status"} {
		if w := g.send("GET", path, "", "Authorization", ada); w.Code != 503 || !strings.Contains(w.Body.String(), "store-unavailable") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// endlessQueues answers requests for activities only when their context ends.
type endlessQueues struct {
	store.Store
	asked chan struct{}
}

func (q endlessQueues) Available(ctx context.Context, _ store.Available) (store.Offered, error) {
	select {
	case q.asked <- struct{}{}:
	default:
	}
	<-ctx.Done()
	return store.Offered{}, fmt.Errorf("read the queues: %w", context.Cause(ctx))
}

// TestPollsEndWithoutErrors: a poll that is ended during its request to the store is answered without an error.
func TestPollsEndWithoutErrors(t *testing.T) {
	asked := make(chan struct{}, 1)
	g := mustGuard(t, func(c *server.Config) {
		s, err := swrun.OpenStore(t.Context(), "memory:", swrun.StoreConfig{})
		if err != nil {
			t.Fatal(err)
		}
		s.Store = endlessQueues{s.Store, asked}
		engine, err := swrun.NewEngine(s, swrun.EngineConfig{})
		if err != nil {
			t.Fatal(err)
		}
		c.Control = control.New(engine, s, time.Now)
	})
	ada := g.token(t, "ada", access.Grant{Role: access.RoleAuthor, Everywhere: true})
	polled := make(chan *httptest.ResponseRecorder, 1)
	go func() {
		polled <- g.send("POST", "/v1/activities/poll", `{"queues":["default"],"wait":"2m","worker":"w"}`, "Authorization", ada)
	}()
	<-asked
	g.send("POST", "/v1/activities/stop", `{"worker":"w"}`, "Authorization", ada)
	if w := <-polled; w.Code != 200 || w.Body.String() != `{"activities":[]}`+"\n" || strings.Contains(g.log.String(), "level=ERROR") {
		t.Errorf("the poll is answered with %d %s, and the log says %s", w.Code, w.Body, g.log)
	}
}

// interruptedStore stops the server once while it loads a run.
type interruptedStore struct {
	store.Store
	stop atomic.Pointer[context.CancelFunc]
}

func (s *interruptedStore) Load(ctx context.Context, i store.Instance) (store.Loaded, error) {
	if stop := s.stop.Swap(nil); stop != nil {
		(*stop)()
		<-ctx.Done()
		return store.Loaded{}, ctx.Err()
	}
	return s.Store.Load(ctx, i)
}

// TestStopWhileTheStoreIsRead: a caller that waits for a run gets the answer that the run is still in progress if the server stops while it reads the
// run.
func TestStopWhileTheStoreIsRead(t *testing.T) {
	var interrupted *interruptedStore
	engine, s := napping(t, func(is store.Store) store.Store {
		interrupted = &interruptedStore{Store: is}
		return interrupted
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	interrupted.stop.Store(&stop)
	h := server.New(server.Config{Control: control.New(engine, s, time.Now), Authorize: server.TrustEveryone})
	served := make(chan error, 1)
	go func() { served <- h.Serve(ctx, l) }()
	if got := asksOnce(t.Context(), "http://"+l.Addr().String()+"/v1/runs/demo/nap/output?wait=2m", ""); got != "202 Accepted" {
		t.Errorf("the caller got %s", got)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}
