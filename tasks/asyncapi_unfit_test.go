package tasks_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/asyncapi"
	"github.com/swrun/swrun/internal/brokers"
	"github.com/swrun/swrun/internal/brokers/brokertest"
	"github.com/swrun/swrun/tasks"
)

// TestTooLargeMessages: a message that is too large is received as a message that no task can consume. It is gone after it was settled at the broker,
// and the next message arrives. A broker that keeps no messages has lost it, which is an error once.
func TestTooLargeMessages(t *testing.T) {
	for kind, test := range map[string]func(*testing.T, running){"mqtt5": rejectTooLarge, "redis": loseTooLarge} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, mustBroker(t, kind))
		})
	}
}

// large is the payload of a message that is too large.
func large() string { return strings.Repeat("x", 11<<20) }

func rejectTooLarge(t *testing.T, r running) {
	w := newWorker(t, r)
	w.mustAsk(t, `{"begins": true}`)
	r.mustPublish(t, large())
	got := w.mustAsk(t, `{"most": 100}`)
	if len(got) != 1 || !got[0].Large || !strings.Contains(got[0].Broken, "(limit response)") {
		t.Fatalf("got %.200v", got)
	}
	if again := w.mustAsk(t, `{"most": 100}`); len(again) != 1 || again[0].Handle != got[0].Handle {
		t.Errorf("got %v, and then %v", got, again)
	}
	w.mustAsk(t, fmt.Sprintf(`{"done": [%q], "unfit": %[1]q}`, got[0].Handle))
	r.mustPublish(t, "2")
	if got = w.mustAsk(t, `{"most": 1}`); got.payloads() != "2 " {
		t.Errorf("got %.200v", got)
	}
}

func loseTooLarge(t *testing.T, r running) {
	w := newWorker(t, r)
	w.mustAsk(t, `{"begins": true}`)
	r.mustPublish(t, large())
	_, err := w.asks(t.Context(), `{"most": 100}`)
	if f := errors.AsError(err); f == nil || !strings.Contains(f.Detail, "limit response") {
		t.Errorf("got %v", err)
	}
	w.mustAsk(t, `{"begins": true}`)
	r.mustPublish(t, "2")
	if got := w.mustAsk(t, `{"most": 100}`); got.payloads() != "2 " {
		t.Errorf("got %v", got)
	}
}

// TestSubscriptionsOfRabbitMQ contains all tests that need RabbitMQ, which takes seconds to start.
func TestSubscriptionsOfRabbitMQ(t *testing.T) {
	queues := []string{"lost", "large", "large linked", "known", "known linked"}
	b, err := brokertest.RabbitMQ(t.TempDir(), queues...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Stop)
	tests := map[string]func(*testing.T, running){
		"lost": func(t *testing.T, r running) { loseResults(t, r, false) }, "large": rejectTooLarge, "known": knowAgain,
	}
	for _, queue := range queues {
		t.Run(queue, func(t *testing.T) {
			name, _, linked := strings.Cut(queue, " ")
			r := running{b, asyncapi.Target{Protocol: "amqp", Addresses: []string{b.Address}, Channel: queue}}
			if linked {
				r.Target.Protocol, r.Target.Channel = "amqp1", "/amq/queue/"+queue
			}
			tests[name](t, r)
		})
	}
}

// knowAgain: a consumed message with an id that arrives again because the broker got no acknowledgment is not seen again. Another message with the
// same id is seen, even if its content is the same.
func knowAgain(t *testing.T, r running) {
	c := &brokers.Client{Target: r.Target, Dial: new(net.Dialer).DialContext, MaxRead: 1 << 20}
	mustPublish := func(id string) {
		t.Helper()
		if err := c.Publish(t.Context(), brokers.Message{ID: id, Payload: []byte(`"` + id + `"`)}); err != nil {
			t.Fatal(err)
		}
	}
	var connections []net.Conn
	first := newWorkerOf(t, r, tasks.Config{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		connections = append(connections, conn)
		return conn, err
	}})
	first.mustAsk(t, `{"begins": true}`)
	mustPublish("a")
	a := first.mustAsk(t, `{"most": 1}`)
	for _, conn := range connections { // as if its process had been killed
		conn.Close()
	}
	second := newWorker(t, r)
	mustPublish("b")
	b := second.mustAsk(t, done(a[0].Handle))
	mustPublish("b")
	again := second.mustAsk(t, done(b[0].Handle))
	if all := a.payloads() + b.payloads() + again.payloads(); all != "a b b " || again[0].Handle == b[0].Handle {
		t.Errorf("got %s: %v, %v, %v", all, a, b, again)
	}
	second.mustAsk(t, fmt.Sprintf(`{"ends": true, "done": [%q]}`, again[0].Handle))
}

// TestUnfitMessagesOfOthers: a worker that continues a subscription settles messages that another worker could not consume.
func TestUnfitMessagesOfOthers(t *testing.T) {
	for _, kind := range []string{"kafka", "nats", "mqtt5"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := mustBroker(t, kind)
			first := newWorker(t, r)
			first.mustAsk(t, `{"begins": true}`)
			r.mustPublish(t, "1")
			got := first.mustAsk(t, `{"most": 1}`)
			second := newWorker(t, r)
			second.mustAsk(t, fmt.Sprintf(`{"done": [%q], "unfit": %[1]q}`, got[0].Handle))
			r.mustPublish(t, "2")
			if next := second.mustAsk(t, `{"most": 1}`); next.payloads() != "2 " {
				t.Errorf("got %v", next)
			}
		})
	}
}
