package sinks_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/internal/doctor"
	"github.com/swrun/swrun/internal/eventfile"
	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/internal/sinks"
	"github.com/swrun/swrun/runtime/store"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func waitFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(pacetest.Patience); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: it does not come", what)
		}
	}
}

// deployment is a real deployment in memory.
type deployment struct {
	t        *testing.T
	registry store.Registry // of the processes that are started later
	engine   *swrun.Engine
	*control.Control
}

// cutRegistry does not answer while it is cut. It simulates a process that hangs or cannot reach the store.
type cutRegistry struct {
	store.Registry
	cut atomic.Bool
}

var errCut = errors.New("it does not answer")

// Register fails while it is cut.
func (r *cutRegistry) Register(ctx context.Context, to store.Registration) (store.Registered, error) {
	if r.cut.Load() {
		return store.Registered{}, errCut
	}
	return r.Registry.Register(ctx, to)
}

// Registered fails while it is cut.
func (r *cutRegistry) Registered(ctx context.Context, kind store.RegistryKind, key string) (store.Registered, error) {
	if r.cut.Load() {
		return store.Registered{}, errCut
	}
	return r.Registry.Registered(ctx, kind, key)
}

func newDeployment(t *testing.T, network string) *deployment {
	return newDeploymentWith(t, swrun.Host{Network: network})
}

func newDeploymentWith(t *testing.T, host swrun.Host) *deployment {
	s, err := swrun.OpenStore(t.Context(), "memory:", swrun.StoreConfig{})
	must(t, err)
	e, err := swrun.NewEngine(s, swrun.EngineConfig{Host: host})
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.Work(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return &deployment{t, s, e, control.New(e, s, time.Now)}
}

const document = `document: {dsl: 1.0.3, namespace: demo, name: two, version: 1.0.0}
do:
- first: {set: {ok: true}}
- second: {set: {ok: true}}
`

// expected are the names of the events of a run of the document, in their order.
const expected = "workflow.started task.created task.started task.completed task.created task.started task.completed workflow.completed"

// start starts a run.
func (d *deployment) start(id string) {
	d.t.Helper()
	doc, err := swrun.Parse("two.yaml", []byte(document))
	must(d.t, err)
	_, err = d.engine.StartDocument(d.t.Context(), doc, nil, swrun.StartOptions{ID: id})
	must(d.t, err)
}

// run starts a sink, as one of possibly several processes; the function stops it.
func (d *deployment) run(to eventfile.Sink, out io.Writer) (*sinks.Sinks, func()) {
	d.t.Helper()
	return d.runAs("a", to, out)
}

func (d *deployment) runAs(name string, to eventfile.Sink, out io.Writer) (*sinks.Sinks, func()) {
	d.t.Helper()
	to.Name = name
	if to.GiveUpAfter == 0 {
		to.GiveUpAfter = time.Hour
	}
	s, err := sinks.New([]eventfile.Sink{to}, sinks.Config{
		Follow: d.FollowAsSink, Find: d.SinkEvent, PositionAt: func(at time.Time) string { return control.FleetSince(at).ID() }, Registry: d.registry, Transport: d.engine.Transport(),
		Out: out, Log: slog.New(slog.NewTextHandler(d.t.Output(), nil)), Lease: 2 * time.Second, Within: time.Second,
	})
	must(d.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	var once sync.Once
	stop := func() { once.Do(func() { cancel(); <-done }) }
	d.t.Cleanup(stop)
	return s, stop
}

// received contains the events that a sink got: their names for each run, each at its first arrival.
type received struct {
	mu    sync.Mutex
	runs  map[string][]string
	known map[string]bool
	all   []string // including repeated ones
}

func (r *received) add(t *testing.T, data []byte) {
	var event struct{ ID, Type, Subject string }
	if err := json.Unmarshal(data, &event); err != nil {
		t.Errorf("%s: %v", data, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, strings.TrimSpace(string(data)))
	if r.runs == nil {
		r.runs, r.known = map[string][]string{}, map[string]bool{}
	}
	if r.known[event.ID] {
		return
	}
	r.known[event.ID] = true
	run := event.ID[:strings.LastIndexByte(event.ID, '-')]
	r.runs[run] = append(r.runs[run], strings.TrimSuffix(strings.TrimPrefix(event.Type, "io.serverlessworkflow."), ".v1"))
}

func (r *received) of(run string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.runs[run], " ")
}

// Write handles lines in the manner of standard output.
func (r *received) Write(line []byte) (int, error) {
	r.add(nil, line)
	return len(line), nil
}

func holds(t *testing.T, s *sinks.Sinks) {
	t.Helper()
	waitFor(t, "the sink", func() bool { return s.States()[0].Holds })
}

// kinds are all kinds of sinks: each function starts a receiver, and returns the sink.
func kinds() map[string]func(*testing.T, *received) eventfile.Sink {
	return map[string]func(*testing.T, *received) eventfile.Sink{"http": toHTTP, "redis": toRedis, "nats": toNATS, "kafka": toKafka, "stdout": func(*testing.T, *received) eventfile.Sink { return eventfile.Sink{Kind: "stdout"} }}
}

// TestWebhook: a webhook that fails, hangs and moves is tried again, and gets every event in order. A refused event is a dead letter. Runs continue
// during the failures.
func TestWebhook(t *testing.T) {
	d, got := newDeployment(t, ""), &received{}
	var mu sync.Mutex
	answers := []int{500, 0, 410, 429, 302, 422}
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		code := 200
		if len(answers) > 0 {
			code, answers = answers[0], answers[1:]
		}
		mu.Unlock()
		switch code {
		case 0:
			<-r.Context().Done()
			return
		case 302:
			w.Header().Set("Location", "/elsewhere")
		case 200:
			got.add(t, body)
		}
		w.WriteHeader(code)
	}))
	defer hook.Close()
	s, stop := d.run(eventfile.Sink{Kind: "http", URL: hook.URL}, nil)
	holds(t, s)
	d.start("one")
	waitFor(t, "the others", func() bool { return got.of("one") == strings.TrimPrefix(expected, "workflow.started ") })
	waitFor(t, "the dead letter in the store", func() bool { return len(s.States()[0].Last) == 1 }) // before that, a stop would cause another delivery of every event
	state := s.States()[0]
	if state.DeadLetters != 1 || state.Failed != 6 || len(state.Last) != 1 || state.Last[0].ID != "demo/one-1" || state.Last[0].Run != "demo/one" || state.Last[0].Type != "io.serverlessworkflow.workflow.started.v1" {
		t.Errorf("%+v", state)
	}
	if f := sinks.Examine(t.Context(), d.registry); len(f) != 1 || f[0].Level != doctor.Warning || !strings.Contains(f[0].What, "the sink a has not taken events: 1 dead letter") {
		t.Errorf("%+v", f)
	}
	stop()
	again, _ := d.run(eventfile.Sink{Kind: "http", URL: hook.URL}, nil)
	holds(t, again)
	waitFor(t, "the dead letter, after a restart", func() bool {
		last := again.States()[0].Last
		return len(last) == 1 && last[0].ID == "demo/one-1"
	})
}

// TestGivenUp: an event that is not accepted for a long time becomes a dead letter, and the next one is sent.
func TestGivenUp(t *testing.T) {
	d, got := newDeployment(t, ""), &received{}
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "workflow.started") {
			w.WriteHeader(503)
			return
		}
		got.add(t, body)
	}))
	defer hook.Close()
	s, _ := d.run(eventfile.Sink{Kind: "http", URL: hook.URL, GiveUpAfter: 100 * time.Millisecond}, nil)
	holds(t, s)
	d.start("one")
	waitFor(t, "the others", func() bool { return got.of("one") == strings.TrimPrefix(expected, "workflow.started ") })
}

// TestRestart: events without a sender are sent afterwards, and only one of two processes sends.
func TestRestart(t *testing.T) {
	d, got := newDeployment(t, ""), &received{}
	to := eventfile.Sink{Kind: "stdout"}
	first, stop := d.run(to, got)
	holds(t, first)
	d.start("one")
	waitFor(t, "the first run", func() bool { return got.of("one") == expected })
	other, _ := d.run(to, got)
	stop()
	d.start("two")
	waitFor(t, "the second run", func() bool { return got.of("two") == expected })
	if first.States()[0].Holds || !other.States()[0].Holds {
		t.Error("both send")
	}
}

// TestLost: if the sending process is lost in the middle of a run with its unstored position, another one continues without a gap, and the first one
// sends nothing after its return.
func TestLost(t *testing.T) {
	d, got := newDeployment(t, ""), &received{}
	own := &cutRegistry{Registry: d.registry}
	var lost atomic.Bool
	var late atomic.Int64
	taken := 0
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if lost.Load() {
			late.Add(1)
		}
		body, _ := io.ReadAll(r.Body)
		got.add(t, body)
		if taken++; taken == 4 { // of eight events: it has received this one, and no process knows
			own.cut.Store(true)
			<-r.Context().Done()
		}
	}))
	defer hook.Close()
	whole := d.registry
	d.registry = own
	first, _ := d.run(eventfile.Sink{Kind: "http", URL: hook.URL}, nil)
	holds(t, first)
	d.registry = whole
	d.start("one")
	waitFor(t, "the loss", func() bool { return own.cut.Load() })
	waitFor(t, "the end of the lease", func() bool { return !first.States()[0].Holds })
	lost.Store(true)
	other, _ := d.run(eventfile.Sink{Kind: "stdout"}, got)
	waitFor(t, "the others", func() bool { return got.of("one") == expected })
	own.cut.Store(false)
	d.start("two")
	waitFor(t, "the next run", func() bool { return got.of("two") == expected })
	if late.Load() > 0 || !other.States()[0].Holds {
		t.Errorf("the lost process has sent %d events", late.Load())
	}
}

// TestNetworkPolicy: the network policy of calls applies to webhooks.
func TestNetworkPolicy(t *testing.T) {
	d, got := newDeployment(t, swrun.NetworkPublic), &received{}
	s, _ := d.run(toHTTP(t, got), nil)
	holds(t, s)
	d.start("one")
	waitFor(t, "the refusal", func() bool {
		err := s.States()[0].Err
		return err != nil && strings.Contains(err.Error(), "network policy")
	})
	if all := got.of("one"); all != "" {
		t.Errorf("it got %s", all)
	}
}
