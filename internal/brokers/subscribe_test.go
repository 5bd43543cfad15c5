package brokers_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/brokers"
	"github.com/swrun/swrun/internal/brokers/brokertest"
)

// keeping returns a client of each kind of broker that keeps messages.
func keeping(t *testing.T) map[string]*brokers.Client {
	mqtt := started(t)(brokertest.MQTT(nil)).Address
	return map[string]*brokers.Client{
		"kafka": client("kafka", started(t)(brokertest.Kafka("orders")).Address, "orders"),
		"nats":  client("nats", started(t)(brokertest.NATS(t.TempDir(), "")).Address, "kept.orders"),
		"mqtt":  client("mqtt", mqtt, "orders"), "mqtt5": client("mqtt5", mqtt, "orders"),
	}
}

func mustSubscribe(t *testing.T, c *brokers.Client, name string) brokers.Subscription {
	t.Helper()
	s, err := c.Subscribe(soon(t), name)
	must(t, err)
	t.Cleanup(func() { s.Close(false) })
	return s
}

func mustPublish(t *testing.T, c *brokers.Client, numbers ...int) {
	t.Helper()
	for _, n := range numbers {
		must(t, c.Publish(soon(t), brokers.Message{Payload: fmt.Appendf(nil, "%d", n), ContentType: "application/json"}))
	}
}

// mustReceive receives so many different messages.
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

// TestSubscriptionsGoOn: what was not acknowledged comes again after a connection that was never closed, and after one that was, with the same
// handle; what was acknowledged does not; what came before the subscription, and after its end, does not either.
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

// TestReceiveGoesOnWaiting: a wait that has ended loses nothing.
func TestReceiveGoesOnWaiting(t *testing.T) {
	all := keeping(t)
	all["nats without a stream"] = client("nats", all["nats"].Addresses[0], "plain")
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
