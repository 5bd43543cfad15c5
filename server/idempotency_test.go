package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/control"
)

// counted is a server with an operation that reports how often it was carried out.
type counted struct {
	*Server
	mu      sync.Mutex
	at      time.Time
	runIDs  []string      // of each time that it was carried out
	entered chan struct{} // if it is set, it reports that the operation has begun, and leave ends the operation
	leave   chan struct{}
}

type (
	countedBody struct {
		N    int    `json:"n"`
		Fail bool   `json:"fail,omitempty"`
		Fill int    `json:"fill,omitempty"`
		Text string `json:"text,omitempty"`
	}
	countedAnswer struct {
		Location string `header:"Location"`
		Body     countedBody
	}
)

func newCounted(t *testing.T) *counted {
	t.Helper()
	c := &counted{at: time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)}
	store, err := swrun.OpenStore(t.Context(), "memory:", swrun.StoreConfig{Now: c.now})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := swrun.NewEngine(store, swrun.EngineConfig{})
	if err != nil {
		t.Fatal(err)
	}
	c.Server = New(Config{Control: control.New(engine, store, time.Now), Now: c.now, Authorize: func(r *http.Request) (Caller, error) {
		return Caller{Name: r.Header.Get("Caller"), Role: RoleAdmin, Everywhere: true}, nil
	}})
	route(c.Server, RoleAuthor, huma.Operation{OperationID: "count", Method: http.MethodPost, Path: "/v1/count", DefaultStatus: http.StatusCreated}, c.count)
	return c
}

func (c *counted) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *counted) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func (c *counted) count(ctx context.Context, in *struct{ Body countedBody }) (*countedAnswer, error) {
	if c.entered != nil {
		c.entered <- struct{}{}
		<-c.leave
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runIDs = append(c.runIDs, runIDOf(ctx))
	if in.Body.Fail && len(c.runIDs) == 1 {
		return nil, newProblem(http.StatusConflict, "conflict", "Conflict", "not yet")
	}
	return &countedAnswer{Location: "/v1/here", Body: countedBody{N: len(c.runIDs), Text: strings.Repeat("x", in.Body.Fill)}}, nil
}

func (c *counted) ask(ctx context.Context, caller, body string, keys ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/count", strings.NewReader(body))
	r.Host = "localhost"
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Caller", caller)
	for _, key := range keys {
		r.Header.Add("Idempotency-Key", key)
	}
	w := httptest.NewRecorder()
	c.ServeHTTP(w, r)
	return w
}

// TestIdempotencyKey: a request that is sent again with its key is carried out once, and gets the same answer.
func TestIdempotencyKey(t *testing.T) {
	c, ctx := newCounted(t), t.Context()
	first := c.ask(ctx, "ada", `{"n":1}`, "k-1")
	if first.Code != 201 || first.Header().Get("Idempotent-Replayed") != "" || !strings.Contains(first.Body.String(), `"n":1`) {
		t.Fatalf("got %d %v %s", first.Code, first.Header(), first.Body)
	}
	for _, key := range []string{"k-1", `"k-1"`, " k-1 "} {
		again := c.ask(ctx, "ada", `{"n":1}`, key)
		if again.Code != 201 || again.Header().Get("Idempotent-Replayed") != "true" || again.Body.String() != first.Body.String() ||
			again.Header().Get("Location") != "/v1/here" || again.Header().Get("Content-Type") != first.Header().Get("Content-Type") {
			t.Errorf("again: %d %v %s", again.Code, again.Header(), again.Body)
		}
	}
	if other := c.ask(ctx, "ada", `{"n":2}`, "k-1"); other.Code != 422 || !strings.Contains(other.Body.String(), "idempotency-key-reused") {
		t.Errorf("with another body: %d %s", other.Code, other.Body)
	}
	if other := c.ask(ctx, "bob", `{"n":1}`, "k-1"); other.Code != 201 || !strings.Contains(other.Body.String(), `"n":2`) {
		t.Errorf("of another caller: %d %s", other.Code, other.Body)
	}
	if other := c.ask(ctx, "ada", `{"n":1}`, "k-2"); !strings.Contains(other.Body.String(), `"n":3`) {
		t.Errorf("with another key: %s", other.Body)
	}
	if without := c.ask(ctx, "ada", `{"n":1}`); !strings.Contains(without.Body.String(), `"n":4`) || c.runIDs[3] != "" {
		t.Errorf("without a key: %s, run %q", without.Body, c.runIDs[3])
	}
	c.pass(replyFor)
	if later := c.ask(ctx, "ada", `{"n":1}`, "k-1"); later.Header().Get("Idempotent-Replayed") != "" || !strings.Contains(later.Body.String(), `"n":5`) {
		t.Errorf("a day later: %s", later.Body)
	}
}

// TestIdempotencyKeyOfWhatFailed: the answer of a request that changed nothing is not kept.
func TestIdempotencyKeyOfWhatFailed(t *testing.T) {
	c, ctx := newCounted(t), t.Context()
	if w := c.ask(ctx, "ada", `{"n":1,"fail":true}`, "k"); w.Code != 409 {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if w := c.ask(ctx, "ada", `{"n":1,"fail":true}`, "k"); w.Code != 201 {
		t.Errorf("the second time: %d %s", w.Code, w.Body)
	}
	if w := c.ask(ctx, "ada", `{"n":"x"}`, "bad"); w.Code != 422 {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if w := c.ask(ctx, "ada", `{"n":1}`, "bad"); w.Code != 201 {
		t.Errorf("corrected, with the same key: %d %s", w.Code, w.Body)
	}
}

// TestIdempotencyKeyInFlight: while a request is in progress, another request with its key is refused with this reason. If its server is gone,
// another request carries it out, and would start the same run.
func TestIdempotencyKeyInFlight(t *testing.T) {
	c := newCounted(t)
	c.entered, c.leave = make(chan struct{}), make(chan struct{})
	ctx, hangUp := context.WithCancel(t.Context())
	answers := make(chan *httptest.ResponseRecorder, 2)
	go func() { answers <- c.ask(ctx, "ada", `{"n":1}`, "k") }()
	<-c.entered
	if w := c.ask(t.Context(), "ada", `{"n":1}`, "k"); w.Code != 409 || w.Header().Get("Retry-After") != "1" || !strings.Contains(w.Body.String(), "request-in-progress") {
		t.Errorf("got %d %v %s", w.Code, w.Header(), w.Body)
	}
	c.pass(performWithin) // as if its server had been killed
	go func() { answers <- c.ask(t.Context(), "ada", `{"n":1}`, "k") }()
	<-c.entered
	hangUp() // the first caller is gone, which ends nothing
	close(c.leave)
	for range 2 {
		if w := <-answers; w.Code != 201 {
			t.Errorf("got %d %s", w.Code, w.Body)
		}
	}
	if len(c.runIDs) != 2 || c.runIDs[0] == "" || c.runIDs[0] != c.runIDs[1] {
		t.Errorf("the runs would be %q", c.runIDs)
	}
	c.entered = nil
	if w := c.ask(t.Context(), "ada", `{"n":1}`, "k"); w.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("afterwards: %d %s", w.Code, w.Body)
	}
}

// TestOddIdempotencyKeys: malformed keys are refused, and nothing is carried out.
func TestOddIdempotencyKeys(t *testing.T) {
	c := newCounted(t)
	for name, keys := range map[string][]string{
		"empty": {""}, "blank": {"  "}, "quoted, empty": {`""`}, "two": {"a", "b"}, "long": {strings.Repeat("k", 256)}, "not ASCII": {"clé"}, "a NUL": {"a\x00b"}, "a line": {"a\nb"},
	} {
		if w := c.ask(t.Context(), "ada", `{"n":1}`, keys...); w.Code != 400 || !strings.Contains(w.Body.String(), `"field":"Idempotency-Key"`) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	if w := c.ask(t.Context(), "ada", `{"text":"`+strings.Repeat("x", maxBody)+`"}`, "k"); w.Code != 413 || !strings.Contains(w.Body.String(), `"limit":{"max":`) {
		t.Errorf("a huge body: %d %.200s", w.Code, w.Body)
	}
	if len(c.runIDs) != 0 {
		t.Errorf("it was carried out %d times", len(c.runIDs))
	}
	for _, key := range []string{strings.Repeat("k", 255), "{}*%/:", `a"b`} {
		if w := c.ask(t.Context(), "ada", `{"n":1}`, key); w.Code != 201 {
			t.Errorf("%q: %d %s", key, w.Code, w.Body)
		}
	}
}

// TestLargeReply: if an answer is too large to be kept, its status and its location are repeated.
func TestLargeReply(t *testing.T) {
	c := newCounted(t)
	body := `{"n":1,"fill":100000}`
	if w := c.ask(t.Context(), "ada", body, "k"); w.Code != 201 || w.Body.Len() < 100000 {
		t.Errorf("got %d, %d bytes", w.Code, w.Body.Len())
	}
	if w := c.ask(t.Context(), "ada", body, "k"); w.Code != 201 || w.Body.Len() != 0 || w.Header().Get("Location") != "/v1/here" || len(c.runIDs) != 1 {
		t.Errorf("again: %d, %d bytes, %v; carried out %d times", w.Code, w.Body.Len(), w.Header(), len(c.runIDs))
	}
}
