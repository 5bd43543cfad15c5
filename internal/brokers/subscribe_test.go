package brokers_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eclipse/paho.golang/paho"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/brokers"
	"github.com/swrun/swrun/internal/brokers/brokertest"
)

// keeper is a broker that keeps messages, and a client of it.
type keeper struct {
	*brokertest.Broker
	*brokers.Client
}

// keeping returns one broker of each kind. The tests of two protocols run at the same time: each uses a separate broker or channel.
func keeping(t *testing.T) map[string]keeper {
	kafka, nats, mqtt := started(t)(brokertest.Kafka("orders")), started(t)(brokertest.NATS(t.TempDir(), "")), started(t)(brokertest.MQTT(nil))
	return map[string]keeper{
		"kafka": {kafka, client("kafka", kafka.Address, "orders")}, "nats": {nats, client("nats", nats.Address, "kept.orders")},
		"mqtt": {mqtt, client("mqtt", mqtt.Address, "orders")}, "mqtt5": {mqtt, client("mqtt5", mqtt.Address, "orders5")},
	}
}

func mustSubscribe(t *testing.T, c keeper, name string) brokers.Subscription {
	t.Helper()
	s, err := c.Subscribe(soon(t), name)
	must(t, err)
	t.Cleanup(func() { s.Close(false) })
	return s
}

func mustPublish(t *testing.T, c keeper, numbers ...int) {
	t.Helper()
	for _, n := range numbers {
		if strings.HasPrefix(c.Protocol, "mqtt") {
			must(t, brokertest.PublishMQTT(c.Address, &paho.Publish{Topic: c.Channel, QoS: 1, Payload: fmt.Appendf(nil, "%d", n)}))
			continue
		}
		must(t, c.Publish(soon(t), brokers.Message{Payload: fmt.Appendf(nil, "%d", n), ContentType: "application/json"}))
	}
}

// mustReceive receives n different messages.
func mustReceive(t *testing.T, s brokers.Subscription, n int) (all []*brokers.Delivery) {
	t.Helper()
	for len(all) < n {
		d, err := s.Receive(soon(t))
		must(t, err)
		if !slices.ContainsFunc(all, func(other *brokers.Delivery) bool { return other.Handle == d.Handle }) {
			all = append(all, d)
		}
	}
	return all
}

func payloads(all []*brokers.Delivery) (text string) {
	for _, d := range all {
		text += string(d.Payload) + " "
	}
	return text
}

// TestSubscriptionsGoOn: messages without an acknowledgment arrive again with the same handle, after a connection that was never closed and after one
// that was closed. Messages with an acknowledgment do not arrive again. Messages from before the subscription and from after its end do not arrive.
func TestSubscriptionsGoOn(t *testing.T) {
	for protocol, c := range keeping(t) {
		t.Run(protocol, func(t *testing.T) {
			name := "swrunabcdefghijklm" + protocol
			mustPublish(t, c, 1)
			first := mustSubscribe(t, c, name)
			mustPublish(t, c, 2, 3, 4)
			got := mustReceive(t, first, 3)
			if text := payloads(got); text != "2 3 4 " {
				t.Fatalf("got %s", text)
			}
			must(t, first.Acknowledge(soon(t), got[:1]))
			if protocol == "mqtt" || protocol == "mqtt5" {
				first.Close(false) // acknowledgements have no answer
			}
			second := mustSubscribe(t, c, name)
			again := mustReceive(t, second, 2)
			if c.Protocol == "mqtt" || c.Protocol == "mqtt5" { // this broker sends them in any order
				slices.SortFunc(again, func(a, b *brokers.Delivery) int { return strings.Compare(string(a.Payload), string(b.Payload)) })
			}
			if text := payloads(again); text != "3 4 " || again[0].Handle != got[1].Handle || again[1].Handle != got[2].Handle {
				t.Fatalf("got %sas %s and %s, want 3 4 as %s and %s", text, again[0].Handle, again[1].Handle, got[1].Handle, got[2].Handle)
			}
			must(t, second.Acknowledge(soon(t), again))
			second.Close(false)
			mustPublish(t, c, 5)
			third := mustSubscribe(t, c, name)
			if text := payloads(mustReceive(t, third, 1)); text != "5 " {
				t.Fatalf("got %s", text)
			}
			third.Close(true)
			must(t, c.Forgets(soon(t), name))
			mustPublish(t, c, 6)
			fourth := mustSubscribe(t, c, name)
			mustPublish(t, c, 7)
			if text := payloads(mustReceive(t, fourth, 1)); text != "7 " {
				t.Errorf("got %s, want 7: the broker has not forgotten the subscription", text)
			}
			fourth.Close(true)
			fourth.Close(true)
		})
	}
}

// TestReceiveGoesOnWaiting: the end of a wait loses no message.
func TestReceiveGoesOnWaiting(t *testing.T) {
	all := keeping(t)
	all["nats without a stream"] = keeper{all["nats"].Broker, client("nats", all["nats"].Address, "plain")}
	for protocol, c := range all {
		t.Run(protocol, func(t *testing.T) {
			s := mustSubscribe(t, c, "swrunw")
			for n := range 3 {
				brief, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				_, err := s.Receive(brief)
				cancel()
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Fatal(err)
				}
				mustPublish(t, c, n)
				d := mustReceive(t, s, 1)
				if payloads(d) != fmt.Sprint(n, " ") {
					t.Fatalf("got %s instead of %d", payloads(d), n)
				}
				must(t, s.Acknowledge(soon(t), d))
			}
			s.Close(true)
		})
	}
}

// TestLargeMessages: a message above the maximum size of the client ends the subscription with an error that explains it. A client that skims gets
// the message without its payload, so that it can acknowledge it, and receives the messages after it.
func TestLargeMessages(t *testing.T) {
	for protocol, c := range keeping(t) {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			c.MaxRead = 10_000
			name := "swrunlarge" + protocol
			s := mustSubscribe(t, c, name)
			large := client(c.Protocol, c.Broker.Address, c.Channel)
			must(t, large.Publish(soon(t), brokers.Message{Payload: make([]byte, 500_000)}))
			if _, err := s.Receive(soon(t)); !errors.Is(err, brokers.ErrTooLarge) || !s.Keeps() {
				t.Errorf("got %v", err)
			}
			s.Close(false)
			c.Skims = true
			s = mustSubscribe(t, c, name)
			d, err := s.Receive(soon(t))
			must(t, err)
			if d.Most != c.MaxRead || d.Payload != nil || d.Handle == "" {
				t.Errorf("got %d bytes as %q, more than %d", len(d.Payload), d.Handle, d.Most)
			}
			d.Unfit = true
			must(t, s.Acknowledge(soon(t), []*brokers.Delivery{d}))
			s.Close(false)
			mustPublish(t, c, 2)
			s = mustSubscribe(t, c, name)
			d, err = s.Receive(soon(t))
			must(t, err)
			if string(d.Payload) != "2" {
				t.Errorf("got %q", d.Payload)
			}
			s.Close(true)
		})
	}
}
