package sources_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/doctor"
	"github.com/swrun/swrun/internal/eventfile"
	"github.com/swrun/swrun/internal/eventtest"
	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/internal/sources"
)

// testBroker is a broker of a test, and its sender.
type testBroker struct {
	from eventfile.Source
	// send sends a body with a content type; attributes are the attributes of binary mode.
	send          func(t *testing.T, contentType string, attributes map[string]string, body string)
	stop, restart func(t *testing.T)
}

func brokers() map[string]func(*testing.T) *testBroker {
	return map[string]func(*testing.T) *testBroker{"redis": startRedis, "nats": startNATS, "kafka": startKafka, "mqtt": startMQTT}
}

// published are the events that a deployment has accepted. It is a real one, so that the deployment itself recognizes repetitions.
type published struct {
	engine *swrun.Engine
	mu     sync.Mutex
	first  []string // ids, each at its first arrival
	again  int
}

func newPublished(t *testing.T) *published {
	s, err := swrun.OpenStore(t.Context(), "memory:", swrun.StoreConfig{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := swrun.NewEngine(s, swrun.EngineConfig{})
	if err != nil {
		t.Fatal(err)
	}
	return &published{engine: e}
}

func (p *published) publish(ctx context.Context, event map[string]any, namespaces []string) error {
	report, err := p.engine.Publish(ctx, event, namespaces)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err != nil:
	case report.Repeated:
		p.again++
	default:
		p.first = append(p.first, fmt.Sprint(event["id"]))
	}
	return err
}

func (p *published) ids() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.first, " ")
}

// run starts the sources of a broker; the function stops them.
func run(t *testing.T, b *testBroker, publish func(context.Context, map[string]any, []string) error) (*sources.Sources, func()) {
	t.Helper()
	s, err := sources.New([]eventfile.Source{b.from}, sources.Config{Publish: publish, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), ClaimAfter: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	var once sync.Once
	stop := func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(stop)
	return s, stop
}

func waitFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(pacetest.Patience); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: it does not come", what)
		}
	}
}

func connected(t *testing.T, s *sources.Sources) {
	t.Helper()
	waitFor(t, "the connection", func() bool { return s.States()[0].Connected })
}

const structured = "application/cloudevents+json"

func event(id string) string {
	return fmt.Sprintf(`{"specversion": "1.0", "id": %q, "source": "/s", "type": "t", "data": {"n": 1}}`, id)
}

// TestModes: events arrive in structured and in binary mode and in batches, in their order. Other messages are set aside and block nothing.
func TestModes(t *testing.T) {
	for name, start := range brokers() {
		t.Run(name, func(t *testing.T) {
			b, p := start(t), newPublished(t)
			s, _ := run(t, b, p.publish)
			connected(t, s)
			b.send(t, structured, nil, event("1"))
			b.send(t, "application/json", map[string]string{"specversion": "1.0", "id": "2", "source": "/s", "type": "t"}, `{"n": 2}`)
			b.send(t, "text/plain", nil, "hello")
			b.send(t, structured, nil, `{"specversion": "1.0", "id": "x", "source": "/s"}`)
			b.send(t, "", nil, "")
			b.send(t, structured, nil, "[1, 2]")
			b.send(t, structured, nil, strings.Replace(event("1"), `"n": 1`, `"n": "other"`, 1))
			b.send(t, "application/cloudevents-batch+json", nil, "["+event("3")+","+event("4")+"]")
			b.send(t, structured, nil, event("3"))
			b.send(t, "", nil, event("5"))
			waitFor(t, "the last event", func() bool { return strings.HasSuffix(p.ids(), "5") })
			if got := p.ids(); got != "1 2 3 4 5" {
				t.Errorf("accepted: %s", got)
			}
			waitFor(t, "what is counted", func() bool { // a message that is set aside belongs to no line that an event waits for
				got := s.States()[0]
				return got.SetAside == 5 && got.Accepted == 6
			})
			if p.again != 1 {
				t.Errorf("%d came again", p.again)
			}
		})
	}
}

// TestKilledBeforeAcknowledgement: a process that ends between the publication and the acknowledgement of an event leaves it to the next one. Nothing
// is lost, and no run gets an event twice.
func TestKilledBeforeAcknowledgement(t *testing.T) {
	for name, start := range brokers() {
		t.Run(name, func(t *testing.T) {
			b, p := start(t), newPublished(t)
			killed := make(chan struct{})
			s, stop := run(t, b, func(ctx context.Context, event map[string]any, namespaces []string) error {
				if err := p.publish(ctx, event, namespaces); err != nil || event["id"] != "3" {
					return err
				}
				close(killed)
				<-ctx.Done()
				return ctx.Err()
			})
			connected(t, s)
			want := []string{}
			for n := range 10 {
				want = append(want, fmt.Sprint(n))
				b.send(t, structured, nil, event(fmt.Sprint(n)))
			}
			<-killed
			stop()
			next, _ := run(t, b, p.publish)
			waitFor(t, "the events", func() bool { return len(strings.Fields(p.ids())) >= len(want) })
			got := strings.Fields(p.ids())
			if name != "kafka" { // the others keep no order between repeated and later messages
				slices.Sort(got)
			}
			if !slices.Equal(got, want) {
				t.Errorf("accepted: %s", got)
			}
			waitFor(t, "the repetition", func() bool { return next.States()[0].Accepted >= 7 })
			if p.again == 0 {
				t.Error("the event that was published and not acknowledged did not come again")
			}
		})
	}
}

// TestGoneAndBack: an unavailable broker is tried again, and the health checks report it until it is back.
func TestGoneAndBack(t *testing.T) {
	for name, start := range brokers() {
		t.Run(name, func(t *testing.T) {
			b, p := start(t), newPublished(t)
			s, _ := run(t, b, p.publish)
			connected(t, s)
			b.send(t, structured, nil, event("1"))
			waitFor(t, "the first event", func() bool { return p.ids() == "1" })
			b.stop(t)
			waitFor(t, "the warning", func() bool { return s.Findings()[0].Level == doctor.Warning && s.States()[0].Err != nil })
			b.restart(t)
			connected(t, s)
			b.send(t, structured, nil, event("2"))
			waitFor(t, "the second event", func() bool { return p.ids() == "1 2" })
			if got := s.Findings()[0]; got.Level != doctor.OK {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestStoreAway: while the store accepts nothing, an event is tried again, and not acknowledged.
func TestStoreAway(t *testing.T) {
	b, p := startRedis(t), newPublished(t)
	var mu sync.Mutex
	away := true
	s, _ := run(t, b, func(ctx context.Context, event map[string]any, namespaces []string) error {
		mu.Lock()
		defer mu.Unlock()
		if away {
			return fmt.Errorf("the store is away")
		}
		return p.publish(ctx, event, namespaces)
	})
	connected(t, s)
	b.send(t, structured, nil, event("1"))
	waitFor(t, "the warning", func() bool { return s.States()[0].Err != nil })
	if got := s.States()[0]; got.SetAside != 0 || s.Findings()[0].Level != doctor.Warning {
		t.Errorf("%+v", got)
	}
	mu.Lock()
	away = false
	mu.Unlock()
	waitFor(t, "the event", func() bool { return p.ids() == "1" })
}

// TestCloudEvents sends every case through every broker: the valid ones are published, and each of the others is set aside.
func TestCloudEvents(t *testing.T) {
	for name, start := range brokers() {
		t.Run(name, func(t *testing.T) {
			b, p := start(t), newPublished(t)
			s, _ := run(t, b, p.publish)
			connected(t, s)
			var valid []string
			wrong := uint64(0)
			for _, c := range eventtest.Cases() {
				text, err := json.Marshal(c.Event)
				must(t, err)
				b.send(t, structured, nil, string(text))
				if c.Valid {
					valid = append(valid, fmt.Sprint(c.Event["id"]))
				} else {
					wrong++
				}
			}
			waitFor(t, "all", func() bool { return s.States()[0].SetAside >= wrong && s.States()[0].Accepted >= uint64(len(valid)) })
			got := strings.Fields(p.ids())
			slices.Sort(got)
			slices.Sort(valid)
			if !slices.Equal(got, valid) || s.States()[0].SetAside != wrong {
				t.Errorf("published: %v, want %v; set aside: %d, want %d", got, valid, s.States()[0].SetAside, wrong)
			}
		})
	}
}
