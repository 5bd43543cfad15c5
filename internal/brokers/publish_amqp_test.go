package brokers_test

import (
	"fmt"
	"strings"
	"testing"

	amqp1 "github.com/Azure/go-amqp"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/swrun/swrun/internal/brokers"
	"github.com/swrun/swrun/internal/brokers/brokertest"
)

// TestRabbitMQ contains all tests that need RabbitMQ, which takes seconds to start.
func TestRabbitMQ(t *testing.T) {
	a := mustAuthority(t)
	b := started(t)(brokertest.SecuredRabbitMQ(t.TempDir(), a, "orders", "queue", "linked", "many", "linked many", "deleted", "secured", "secured linked"))
	conn, err := amqp.Dial("amqp://guest:guest@" + b.Address)
	must(t, err)
	defer conn.Close()
	channel, err := conn.Channel()
	must(t, err)
	must(t, channel.ExchangeDeclare("shop", "topic", true, false, false, false, nil))
	must(t, channel.ExchangeDeclare("inside", "topic", true, false, true, false, nil))
	must(t, channel.QueueBind("orders", "new.*", "shop", false, nil))
	for name, test := range map[string]func(*testing.T, *brokertest.Broker, *amqp.Channel){
		"publish by AMQP 0.9.1": testPublishAMQP, "publish by AMQP 1.0": testPublishAMQP1, "refuse by AMQP 0.9.1": testRefuseAMQP,
		"refuse by AMQP 1.0": testRefuseAMQP1, "subscribe to queues": testSubscribeQueues, "subscribe to an exchange": testSubscribeExchange,
		"subscribe to nothing": testSubscribeNothing, "subscribe to many": testSubscribeMany, "dead letters": testDeadLetters,
		"certificates": func(t *testing.T, b *brokertest.Broker, _ *amqp.Channel) { testCertificatesAMQP(t, b, a) },
	} {
		t.Run(name, func(t *testing.T) { test(t, b, channel) })
	}
}

// routed is a client whose channel is a routing key of an exchange.
func routed(b *brokertest.Broker, exchange, key string) *brokers.Client {
	c := client("amqp", b.Address, key)
	c.Bindings.Exchange, c.Bindings.Routed, c.Bindings.Persistent = exchange, true, true
	return c
}

// wantOrder checks that a message arrived in the queue of orders.
func wantOrder(t *testing.T, channel *amqp.Channel, mode uint8) {
	t.Helper()
	got, ok, err := channel.Get("orders", true)
	must(t, err)
	if !ok {
		t.Fatal("nothing has come")
	}
	text := fmt.Sprintf("x=%s content-type=%s correlation-id=%s idempotency-key=%s", got.Headers["x"], got.ContentType, got.CorrelationId, got.MessageId)
	if text != wantHeaders || string(got.Body) != `{"a":1}` || got.DeliveryMode != mode {
		t.Errorf("got %s with %s and mode %d", got.Body, text, got.DeliveryMode)
	}
}

func testPublishAMQP(t *testing.T, b *brokertest.Broker, channel *amqp.Channel) {
	must(t, client("amqp", b.Address, "orders").Publish(soon(t), sent()))
	wantOrder(t, channel, amqp.Transient)
	must(t, routed(b, "shop", "new.order").Publish(soon(t), sent()))
	wantOrder(t, channel, amqp.Persistent)
}

func testRefuseAMQP(t *testing.T, b *brokertest.Broker, _ *amqp.Channel) {
	t.Parallel() // a broker takes seconds to refuse an account
	wantStatus(t, client("amqp", b.Address, "nowhere").Publish(soon(t), sent()), 404)
	wantStatus(t, routed(b, "shop", "old.order").Publish(soon(t), sent()), 404)
	wantStatus(t, routed(b, "absent", "new.order").Publish(soon(t), sent()), 404)
	wantStatus(t, routed(b, "inside", "new.order").Publish(soon(t), sent()), 403)
	stranger := client("amqp", b.Address, "orders")
	stranger.Username, stranger.Password = "guest", "wrong"
	wantStatus(t, stranger.Publish(soon(t), sent()), 401)
	elsewhere := client("amqp", b.Address, "orders")
	elsewhere.Path = "/absent"
	wantStatus(t, elsewhere.Publish(soon(t), sent()), 403)
	long := sent()
	long.CorrelationID = strings.Repeat("c", 256)
	wantStatus(t, client("amqp", b.Address, "orders").Publish(soon(t), long), 400)
	wantStatus(t, client("amqp", b.Address, long.CorrelationID).Publish(soon(t), sent()), 400)
}

func testPublishAMQP1(t *testing.T, b *brokertest.Broker, _ *amqp.Channel) {
	conn, err := amqp1.Dial(soon(t), "amqp://guest:guest@"+b.Address, nil)
	must(t, err)
	defer conn.Close()
	session, err := conn.NewSession(soon(t), nil)
	must(t, err)
	receiver, err := session.NewReceiver(soon(t), "/amq/queue/orders", nil)
	must(t, err)
	for _, address := range []string{"/amq/queue/orders", "/exchange/shop/new.order"} {
		must(t, client("amqp1", b.Address, address).Publish(soon(t), sent()))
		got, err := receiver.Receive(soon(t), nil)
		must(t, err)
		must(t, receiver.AcceptMessage(soon(t), got))
		p := got.Properties
		text := fmt.Sprintf("x=%s content-type=%s correlation-id=%s idempotency-key=%s", got.ApplicationProperties["x"], *p.ContentType, p.CorrelationID, p.MessageID)
		if text != wantHeaders || string(got.GetData()) != `{"a":1}` || !got.Header.Durable {
			t.Errorf("got %s with %s", got.GetData(), text)
		}
	}
}

// testRefuseAMQP1 does not test a missing queue: this RabbitMQ accepts messages for it, and drops them.
func testRefuseAMQP1(t *testing.T, b *brokertest.Broker, _ *amqp.Channel) {
	t.Parallel() // a broker takes seconds to refuse an account
	wantStatus(t, client("amqp1", b.Address, "/exchange/absent/x").Publish(soon(t), sent()), 404)
	wantStatus(t, client("amqp1", b.Address, "/exchange/inside/x").Publish(soon(t), sent()), 403)
	stranger := client("amqp1", b.Address, "/amq/queue/orders")
	stranger.Username, stranger.Password = "guest", "wrong"
	wantStatus(t, stranger.Publish(soon(t), sent()), 401)
}
