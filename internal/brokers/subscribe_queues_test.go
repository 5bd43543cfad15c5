package brokers_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/brokers"
	"github.com/swrun/swrun/internal/brokers/brokertest"
)

// mustBegin subscribes under a name.
func mustBegin(t *testing.T, c *brokers.Client, name string) brokers.Subscription {
	t.Helper()
	s, err := c.Subscribe(soon(t), name)
	must(t, err)
	t.Cleanup(func() { s.Close(false) })
	return s
}

// mustSend publishes messages in this order.
func mustSend(t *testing.T, c *brokers.Client, payloads ...string) {
	t.Helper()
	for _, payload := range payloads {
		m := sent()
		if !brokers.HasHeaders(c.Protocol) {
			m = brokers.Message{}
		}
		m.Payload = []byte(payload)
		must(t, c.Publish(soon(t), m))
	}
}

// wantNext checks the next messages.
func wantNext(t *testing.T, s brokers.Subscription, payloads ...string) (got []*brokers.Delivery) {
	t.Helper()
	for _, want := range payloads {
		d, err := s.Receive(soon(t))
		must(t, err)
		if string(d.Payload) != want {
			t.Errorf("got %s, want %s", d.Payload, want)
		}
		got = append(got, d)
	}
	return got
}

// wantMessage checks that a message arrived complete.
func wantMessage(t *testing.T, d *brokers.Delivery) {
	t.Helper()
	if text := fmt.Sprintf("x=%s content-type=%s correlation-id=%s idempotency-key=%s", d.Headers["x"], d.ContentType, d.CorrelationID, d.ID); text != wantHeaders {
		t.Errorf("got %s", text)
	}
}

// wantMore checks that the end of a wait loses no message.
func wantMore(t *testing.T, s brokers.Subscription, c *brokers.Client) {
	t.Helper()
	brief, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := s.Receive(brief); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	mustSend(t, c, "more")
	must(t, s.Acknowledge(soon(t), wantNext(t, s, "more")))
}

// testSubscribeQueues: messages without an acknowledgment arrive again at the next subscription, and no other messages do.
func testSubscribeQueues(t *testing.T, b *brokertest.Broker, _ *amqp.Channel) {
	for protocol, address := range map[string]string{"amqp": "queue", "amqp1": "/amq/queue/linked"} {
		c := client(protocol, b.Address, address)
		first := mustBegin(t, c, "swrunfirst")
		mustSend(t, c, "1", "2", "3")
		got := wantNext(t, first, "1", "2", "3")
		wantMessage(t, got[0])
		must(t, first.Acknowledge(soon(t), got[:1]))
		first.Close(false)
		first.Close(false)
		second := mustBegin(t, c, "swrunfirst")
		must(t, second.Acknowledge(soon(t), wantNext(t, second, "2", "3")))
		wantMore(t, second, c)
		second.Close(true)
		mustSend(t, c, "4") // into the queue, which does not belong to the subscription
		third := mustBegin(t, c, "swrunthird")
		must(t, third.Acknowledge(soon(t), wantNext(t, third, "4")))
		third.Close(true)
	}
}

// testSubscribeMany: more messages than a broker may send ahead, and one that is too large.
func testSubscribeMany(t *testing.T, b *brokertest.Broker, _ *amqp.Channel) {
	for protocol, address := range map[string]string{"amqp": "many", "amqp1": "/amq/queue/linked many"} {
		c := client(protocol, b.Address, address)
		s := mustBegin(t, c, "swrunmany")
		to := client("amqp", b.Address, strings.TrimPrefix(address, "/amq/queue/"))
		var payloads []string
		for n := range 15 {
			payloads = append(payloads, fmt.Sprint(n, strings.Repeat("x", 200<<10)))
		}
		mustSend(t, to, payloads...)
		for _, payload := range payloads {
			must(t, s.Acknowledge(soon(t), wantNext(t, s, payload)))
		}
		s.Close(false)
	}
}

// testDeadLetters: messages that are too large, or were not consumed, are rejected, and the broker moves them to its place for such messages.
// Messages that it sends again after that are recognized.
func testDeadLetters(t *testing.T, b *brokertest.Broker, channel *amqp.Channel) {
	_, err := channel.QueueDeclare("dead", false, false, false, false, nil)
	must(t, err)
	for protocol, address := range map[string]string{"amqp": "dying", "amqp1": "/amq/queue/dying linked"} {
		queue := strings.TrimPrefix(address, "/amq/queue/")
		_, err := channel.QueueDeclare(queue, true, false, false, false, amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"})
		must(t, err)
		c := client(protocol, b.Address, address)
		c.Skims = true
		s := mustBegin(t, c, "swrundying")
		mustSend(t, client("amqp", b.Address, queue), "unfit", strings.Repeat("x", 2<<20), strings.Repeat("y", 20<<20), "last")
		for range 3 {
			d, err := s.Receive(soon(t))
			must(t, err)
			if d.Unfit = true; d.Most == 0 && string(d.Payload) != "unfit" {
				t.Errorf("%s: got %d bytes", protocol, len(d.Payload))
			}
			must(t, s.Acknowledge(soon(t), []*brokers.Delivery{d}))
		}
		first := wantNext(t, s, "last")[0]
		s.Close(false)
		s = mustBegin(t, c, "swrundying")
		if again := wantNext(t, s, "last")[0]; !first.First || again.First || first.Handle != again.Handle || !brokers.Lasts(again.Handle) {
			t.Errorf("%s: got %+v, and again %+v", protocol, first, again)
		}
		s.Close(true)
		for _, want := range []int{len("unfit"), 2 << 20, 20 << 20} {
			if got, ok, err := channel.Get("dead", true); err != nil || !ok || len(got.Body) != want {
				t.Errorf("%s: got %d bytes, want %d: %v %v", protocol, len(got.Body), want, ok, err)
			}
		}
	}
}

// testSubscribeExchange: a subscription has a separate queue, which keeps messages while no client is connected, and which is deleted with the
// subscription.
func testSubscribeExchange(t *testing.T, b *brokertest.Broker, _ *amqp.Channel) {
	c := routed(b, "amq.topic", "priced.*")
	to := routed(b, "amq.topic", "priced.order")
	first := mustBegin(t, c, "swrunpriced")
	mustSend(t, to, "1", "2")
	must(t, first.Acknowledge(soon(t), wantNext(t, first, "1", "2")[:1]))
	first.Close(false)
	mustSend(t, to, "3")
	second := mustBegin(t, c, "swrunpriced")
	must(t, second.Acknowledge(soon(t), wantNext(t, second, "2", "3")))
	wantMore(t, second, to)
	second.Close(true)
	wantStatus(t, to.Publish(soon(t), sent()), 404) // no queue is bound any more
	linked := client("amqp1", b.Address, "/exchange/amq.topic/priced.*")
	third := mustBegin(t, linked, "swrunlinked")
	mustSend(t, to, "4")
	must(t, third.Acknowledge(soon(t), wantNext(t, third, "4")))
	third.Close(true)
}

// testSubscribeNothing: a missing or deleted queue is an answer of the broker.
func testSubscribeNothing(t *testing.T, b *brokertest.Broker, channel *amqp.Channel) {
	for _, c := range []*brokers.Client{client("amqp", b.Address, "nowhere"), client("amqp1", b.Address, "/amq/queue/nowhere"), routed(b, "absent", "x")} {
		_, err := c.Subscribe(soon(t), "swrunnothing")
		wantStatus(t, err, 404)
	}
	s := mustBegin(t, client("amqp", b.Address, "deleted"), "swrundeleted")
	_, err := channel.QueueDelete("deleted", false, false, false)
	must(t, err)
	_, err = s.Receive(soon(t))
	wantStatus(t, err, 410)
}

func TestSubscribeRedis(t *testing.T) {
	b := started(t)(brokertest.Redis("--requirepass", "s3cret"))
	c := client("redis", b.Address, "orders")
	_, err := c.Subscribe(soon(t), "swrun")
	wantStatus(t, err, 401)
	c.Token = "s3cret"
	s := mustBegin(t, c, "swrun")
	mustSend(t, c, "1", strings.Repeat("2", 900<<10), strings.Repeat("3", 900<<10))
	wantNext(t, s, "1", strings.Repeat("2", 900<<10), strings.Repeat("3", 900<<10))
	wantMore(t, s, c)
	b.Stop()
	if d, err := s.Receive(soon(t)); err == nil {
		t.Errorf("got %s after the end", d.Payload)
	}
	s.Close(true)
	s.Close(true)
}

func TestSubscribeRedisToOneThatSendsTooMuch(t *testing.T) {
	b := started(t)(brokertest.Redis())
	c := client("redis", b.Address, "orders")
	s := mustBegin(t, c, "swrun")
	mustSend(t, c, strings.Repeat("x", 2<<20))
	if _, err := s.Receive(soon(t)); !errors.Is(err, brokers.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

func TestSubscribeWS(t *testing.T) {
	say := make(chan string)
	b := started(t)(brokertest.WS(func(conn *websocket.Conn, r *http.Request) {
		ctx := conn.CloseRead(r.Context())
		for {
			select {
			case text := <-say:
				if text == "enough" {
					_ = conn.Close(websocket.StatusGoingAway, "") // the client sees that
					return
				}
				if conn.Write(ctx, websocket.MessageText, []byte(text)) != nil {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}), nil)
	c := client("ws", b.Address, "orders")
	s := mustBegin(t, c, "swrun")
	for _, text := range []string{"1", strings.Repeat("2", 900<<10), strings.Repeat("3", 900<<10)} {
		say <- text
		must(t, s.Acknowledge(soon(t), wantNext(t, s, text)))
	}
	say <- "enough"
	_, err := s.Receive(soon(t))
	wantStatus(t, err, 503)
	large := mustBegin(t, c, "swrun")
	say <- strings.Repeat("x", 2<<20)
	if _, err := large.Receive(soon(t)); !errors.Is(err, brokers.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
	closed := mustBegin(t, c, "swrun")
	closed.Close(true)
	closed.Close(true)
}

// TestSubscribeToStrangers: a server that is no broker leads to an error, and a client does not wait for a silent server after the end of ctx.
func TestSubscribeToStrangers(t *testing.T) {
	for name, says := range map[string]string{"hangs up": "", "nonsense": strings.Repeat("\xff", 1<<16), "HTTP": "HTTP/1.1 400 Bad Request\r\n\r\n", "nothing": "-",
		"broken frames": "AMQP\x03\x01\x00\x00\x00\x00\x00\x0c\x02\x00\x00\x00\x00\x53\x14\xd0", "a header beyond its frame": "AMQP\x03\x01\x00\x00\x00\x00\x00\x09\xff\x00\x00\x00\x00",
	} {
		for _, protocol := range []string{"amqp", "amqp1", "redis", "ws"} {
			t.Run(protocol+" "+name, func(t *testing.T) {
				listener, err := net.Listen("tcp", "127.0.0.1:0")
				must(t, err)
				defer listener.Close()
				go func() {
					conn, err := listener.Accept()
					if err != nil {
						return
					}
					defer conn.Close()
					if says == "-" {
						_, _ = io.Copy(io.Discard, conn) // until the client hangs up
					}
					_, _ = io.WriteString(conn, says) // the client may have disconnected
				}()
				ctx, cancel := context.WithCancel(soon(t))
				if says == "-" {
					time.AfterFunc(50*time.Millisecond, cancel)
				}
				defer cancel()
				if _, err := client(protocol, listener.Addr().String(), "orders").Subscribe(ctx, "swrun"); err == nil {
					t.Error("there is no error")
				}
			})
		}
	}
}
