package tasks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/eclipse/paho.golang/paho"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/asyncapi"
	"github.com/swrun/swrun/internal/brokers"
	"github.com/swrun/swrun/internal/brokers/brokertest"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/tasks"
)

// running is a broker for a test, and the channel of the test.
type running struct {
	*brokertest.Broker
	asyncapi.Target
}

// mustBroker starts a broker. The kind contains "plain" if the broker does not recognize a message over another connection: NATS without a stream.
func mustBroker(t *testing.T, kind string) running {
	t.Helper()
	protocol, _, _ := strings.Cut(kind, " ")
	channel := map[string]string{"nats": "kept.orders"}[kind]
	start := map[string]func() (*brokertest.Broker, error){
		"kafka": func() (*brokertest.Broker, error) { return brokertest.Kafka("orders") },
		"nats":  func() (*brokertest.Broker, error) { return brokertest.NATS(t.TempDir(), "") },
		"mqtt":  func() (*brokertest.Broker, error) { return brokertest.MQTT(nil) },
		"redis": func() (*brokertest.Broker, error) { return brokertest.Redis() },
	}[strings.TrimRight(protocol, "15")]
	b, err := start()
	if err != nil {
		t.Fatal(err)
	}
	b.Stop = sync.OnceFunc(b.Stop) // a test may stop it too
	t.Cleanup(b.Stop)
	if channel == "" {
		channel = "orders"
	}
	return running{b, asyncapi.Target{Protocol: protocol, Addresses: []string{b.Address}, Channel: channel}}
}

func (r running) mustPublish(t *testing.T, payloads ...string) {
	t.Helper()
	c := &brokers.Client{Target: r.Target, Dial: new(net.Dialer).DialContext, MaxRead: 1 << 20}
	if strings.HasPrefix(r.Protocol, "mqtt") {
		var all []*paho.Publish
		for _, payload := range payloads {
			all = append(all, &paho.Publish{Topic: r.Channel, QoS: 1, Payload: []byte(payload)})
		}
		if err := brokertest.PublishMQTT(r.Address, all...); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, payload := range payloads {
		if err := c.Publish(t.Context(), brokers.Message{Payload: []byte(payload)}); err != nil {
			t.Fatal(err)
		}
	}
}

// received are the messages that an effect received.
type received []struct {
	Handle  string
	Broken  string
	Large   bool
	Message struct{ Payload any }
}

func (all received) payloads() (text string) {
	for _, one := range all {
		text += fmt.Sprint(one.Message.Payload) + " "
	}
	return text
}

// worker performs effects of one subscription, as one process.
type worker struct {
	running
	perform interpreter.Performer
}

func newWorker(t *testing.T, r running) worker {
	t.Helper()
	return newWorkerOf(t, r, tasks.Config{})
}

func newWorkerOf(t *testing.T, r running, c tasks.Config) worker {
	t.Helper()
	for _, kind := range tasks.All(c) {
		if kind.Kind == dsl.KindCallAsyncAPI {
			return worker{r, kind.Perform}
		}
	}
	t.Fatal("there is no such kind")
	return worker{}
}

// sessionOfKey is the name of the subscription. It must never change, because workers of another version continue the subscription.
const sessionOfKey = "swrunb5hmua4e4zk3ofei3v"

// asks performs an effect of the same occurrence, regardless of the worker.
func (w worker) asks(ctx context.Context, receive string) (received, error) {
	target, err := json.Marshal(w.Target)
	if err != nil {
		return nil, err
	}
	result, err := w.perform(ctx, interpreter.Request{Key: "key", Attempt: 1, Body: fmt.Appendf(nil, `{"target": %s, "receive": %s}`, target, receive)})
	if err != nil {
		return nil, err
	}
	if _, isTarget := result.(map[string]any); isTarget || result == nil {
		return nil, nil
	}
	text, err := expr.Encode(result)
	if err != nil {
		return nil, err
	}
	var all received
	return all, json.Unmarshal(text, &all)
}

func (w worker) mustAsk(t *testing.T, receive string) received {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	all, err := w.asks(ctx, receive)
	if err != nil {
		t.Fatalf("%s: %v", receive, err)
	}
	return all
}

func done(handle string) string { return fmt.Sprintf(`{"most": 1, "done": [%q]}`, handle) }

// TestLostResultsOfSubscriptions: a message whose effect ended without a stored result is there again for the same worker. If the broker keeps
// messages, it is also there for another worker while the first one hangs. A stored message does not arrive again, even if the broker got no
// acknowledgment.
func TestLostResultsOfSubscriptions(t *testing.T) {
	for _, kind := range []string{"kafka", "nats", "mqtt", "mqtt5", "nats plain", "redis plain"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			loseResults(t, mustBroker(t, kind), !strings.HasSuffix(kind, "plain"))
		})
	}
}

func loseResults(t *testing.T, r running, keeps bool) {
	first := newWorker(t, r)
	first.mustAsk(t, `{"begins": true}`)
	r.mustPublish(t, "1")
	got := first.mustAsk(t, `{"most": 1}`)
	again := first.mustAsk(t, `{"most": 1}`)
	if got.payloads() != "1 " || again.payloads() != "1 " || got[0].Handle != again[0].Handle {
		t.Fatalf("got %v, and then %v", got, again)
	}
	next := first
	if keeps {
		next = newWorker(t, r)
		if again = next.mustAsk(t, `{"most": 1}`); again.payloads() != "1 " || got[0].Handle != again[0].Handle {
			t.Fatalf("got %v, and another worker %v", got, again)
		}
		next = newWorker(t, r) // it was stored, and the broker got no acknowledgment
	}
	r.mustPublish(t, "2")
	if got = next.mustAsk(t, done(got[0].Handle)); got.payloads() != "2 " {
		t.Fatalf("got %v", got)
	}
	next.mustAsk(t, fmt.Sprintf(`{"ends": true, "done": [%q]}`, got[0].Handle))
	if !keeps {
		return
	}
	if err := r.Forgets(t.Context(), sessionOfKey); err != nil {
		t.Fatal(err)
	}
	r.mustPublish(t, "3")
	next = newWorker(t, r)
	next.mustAsk(t, `{"begins": true}`)
	r.mustPublish(t, "4")
	if got = next.mustAsk(t, `{"most": 1}`); got.payloads() != "4 " {
		t.Errorf("got %v: the broker has not forgotten the subscription", got)
	}
	next.mustAsk(t, `{"ends": true}`)
}

// TestBatches: waiting messages arrive in few effects, and stay there if they are not consumed.
func TestBatches(t *testing.T) {
	r := mustBroker(t, "kafka")
	w := newWorker(t, r)
	w.mustAsk(t, `{"begins": true}`)
	r.mustPublish(t, "1", "2", "3", "4", "5")
	var all received
	for len(all) < 5 {
		all = w.mustAsk(t, `{"most": 100}`)
	}
	if all.payloads() != "1 2 3 4 5 " {
		t.Fatalf("got %v", all)
	}
	rest := w.mustAsk(t, fmt.Sprintf(`{"most": 2, "done": [%q, %q]}`, all[0].Handle, all[1].Handle))
	if rest.payloads() != "3 4 " {
		t.Errorf("got %v", rest)
	}
	w.mustAsk(t, `{"ends": true}`)
}

// TestCancelledSubscriptions: a cancelled wait ends immediately. The broker forgets the subscription if its task is over, and keeps it if the run
// continues at another worker.
func TestCancelledSubscriptions(t *testing.T) {
	for _, kind := range []string{"kafka", "nats", "mqtt", "mqtt5"} {
		for why, want := range map[error]string{interpreter.ErrUnwanted: "2 ", errors.New("the run has left this worker"): "1 "} {
			t.Run(kind+" "+why.Error(), func(t *testing.T) {
				t.Parallel()
				r := mustBroker(t, kind)
				w := newWorker(t, r)
				w.mustAsk(t, `{"begins": true}`)
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(50*time.Millisecond, func() { cancel(why) })
				if _, err := w.asks(ctx, `{"most": 1}`); !errors.Is(err, why) {
					t.Fatal(err)
				}
				if why == interpreter.ErrUnwanted {
					if err := r.Forgets(t.Context(), sessionOfKey); err != nil {
						t.Fatal(err)
					}
				}
				r.mustPublish(t, "1")
				w.mustAsk(t, `{"begins": true}`)
				r.mustPublish(t, "2")
				if got := w.mustAsk(t, `{"most": 1}`); got.payloads() != want {
					t.Errorf("got %v, want %s", got, want)
				}
				w.mustAsk(t, `{"ends": true}`)
			})
		}
	}
}

// TestBrokerGoesAway: if the broker ends, the wait for a message ends with an error that the workflow can catch. Ending the subscription succeeds
// anyway.
func TestBrokerGoesAway(t *testing.T) {
	for _, kind := range []string{"kafka", "nats", "mqtt", "mqtt5", "nats plain"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := mustBroker(t, kind)
			var gone atomic.Bool // a broker that stops may still accept connections
			w := newWorkerOf(t, r, tasks.Config{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
				if gone.Load() {
					return nil, syscall.ECONNREFUSED
				}
				return new(net.Dialer).DialContext(ctx, network, address)
			}})
			w.mustAsk(t, `{"begins": true}`)
			r.mustPublish(t, "1")
			got := w.mustAsk(t, `{"most": 1}`)
			time.AfterFunc(50*time.Millisecond, func() {
				gone.Store(true)
				r.Stop()
			})
			_, err := w.asks(t.Context(), done(got[0].Handle))
			if f := errors.AsError(err); f == nil || !errors.Same(f.Type, errors.Communication) {
				t.Errorf("got %v", err)
			}
			w.mustAsk(t, fmt.Sprintf(`{"ends": true, "done": [%q]}`, got[0].Handle))
		})
	}
}
