package brokers_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/eclipse/paho.golang/paho"
	"github.com/nats-io/nats.go"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/asyncapi"
	"github.com/swrun/swrun/internal/brokers"
	"github.com/swrun/swrun/internal/brokers/brokertest"
)

var errTooLong = errors.New("the test waits for too long")

// soon limits the waits of a test. It has no deadline that a library could see, like the context of a task without a timeout.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithCancelCause(t.Context())
	timer := time.AfterFunc(time.Minute, func() { cancel(errTooLong) })
	t.Cleanup(func() {
		timer.Stop()
		cancel(nil)
	})
	return ctx
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func started(t *testing.T) func(b *brokertest.Broker, err error) *brokertest.Broker {
	return func(b *brokertest.Broker, err error) *brokertest.Broker {
		t.Helper()
		must(t, err)
		t.Cleanup(b.Stop)
		return b
	}
}

func client(protocol, address, channel string) *brokers.Client {
	return &brokers.Client{
		Target: asyncapi.Target{Protocol: protocol, Addresses: []string{address}, Channel: channel},
		Dial:   new(net.Dialer).DialContext, MaxRead: 1 << 20,
	}
}

func sent() brokers.Message {
	return brokers.Message{Payload: []byte(`{"a":1}`), ContentType: "application/json", CorrelationID: "c", Headers: map[string]string{"x": "y"}, ID: "k"}
}

const wantHeaders = "x=y content-type=application/json correlation-id=c idempotency-key=k"

func TestPublishKafka(t *testing.T) {
	b := started(t)(brokertest.Kafka("orders"))
	must(t, client("kafka", b.Address, "orders").Publish(soon(t), sent()))
	reader, err := kgo.NewClient(kgo.SeedBrokers(b.Address), kgo.ConsumeTopics("orders"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	must(t, err)
	defer reader.Close()
	got := reader.PollRecords(soon(t), 1).Records()[0]
	var headers []string
	for _, h := range got.Headers {
		headers = append(headers, h.Key+"="+string(h.Value))
	}
	if text := strings.Join(headers, " "); text != wantHeaders || string(got.Value) != `{"a":1}` {
		t.Errorf("got %s with %s", got.Value, text)
	}
	wantStatus(t, client("kafka", b.Address, "nowhere").Publish(soon(t), sent()), 404)
}

func TestPublishNATS(t *testing.T) {
	b := started(t)(brokertest.NATS(t.TempDir(), "t0ken"))
	conn, err := nats.Connect("nats://"+b.Address, nats.Token("t0ken"))
	must(t, err)
	defer conn.Close()
	for _, subject := range []string{"plain", "kept.a"} { // without a stream, and with one
		heard, err := conn.SubscribeSync(subject)
		must(t, err)
		must(t, conn.Flush())
		c := client("nats", b.Address, subject)
		wantStatus(t, c.Publish(soon(t), sent()), 401)
		c.Token = "t0ken"
		must(t, c.Publish(soon(t), sent()))
		got, err := heard.NextMsgWithContext(soon(t))
		must(t, err)
		text := fmt.Sprintf("x=%s content-type=%s correlation-id=%s idempotency-key=%s", got.Header["x"][0], got.Header["content-type"][0], got.Header["correlation-id"][0], got.Header["idempotency-key"][0])
		if text != wantHeaders || string(got.Data) != `{"a":1}` {
			t.Errorf("got %s with %s", got.Data, text)
		}
		m := sent()
		m.Payload = make([]byte, 2<<20)
		wantStatus(t, c.Publish(soon(t), m), 413)
	}
}

func TestPublishMQTT(t *testing.T) {
	b := started(t)(brokertest.MQTT(nil))
	conn, err := net.Dial("tcp", b.Address)
	must(t, err)
	heard := make(chan *paho.Publish, 2)
	reader := paho.NewClient(paho.ClientConfig{Conn: conn, OnPublishReceived: []func(paho.PublishReceived) (bool, error){func(r paho.PublishReceived) (bool, error) {
		heard <- r.Packet
		return true, nil
	}}})
	_, err = reader.Connect(soon(t), &paho.Connect{ClientID: "reader", KeepAlive: 30, CleanStart: true})
	must(t, err)
	defer reader.Disconnect(&paho.Disconnect{})
	_, err = reader.Subscribe(soon(t), &paho.Subscribe{Subscriptions: []paho.SubscribeOptions{{Topic: "orders/#", QoS: 1}}})
	must(t, err)
	for _, protocol := range []string{"mqtt5", "mqtt"} {
		must(t, client(protocol, b.Address, "orders/new").Publish(soon(t), sent()))
		got := <-heard
		if string(got.Payload) != `{"a":1}` {
			t.Errorf("got %s", got.Payload)
		}
		if p := got.Properties; protocol == "mqtt5" {
			if text := fmt.Sprintf("x=%s content-type=%s correlation-id=%s idempotency-key=%s", p.User.Get("x"), p.ContentType, p.CorrelationData, p.User.Get("idempotency-key")); text != wantHeaders {
				t.Errorf("got %s", text)
			}
		}
	}
}

// wantStatus checks that an error is an answer of the broker.
func wantStatus(t *testing.T, err error, status int) {
	t.Helper()
	var refused *brokers.RefusedError
	if !errors.As(err, &refused) || refused.Status != status {
		t.Errorf("got %T %v, want an answer like %d", err, err, status)
	}
}
