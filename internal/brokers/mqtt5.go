package brokers

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/eclipse/paho.golang/paho"
	"github.com/eclipse/paho.golang/paho/session/state"

	"github.com/swrun/swrun/errors"
)

// keepAlive is the interval of the client's signs of life, in seconds.
const keepAlive = 30

// qos is the level of reliability of the delivery.
func (c *Client) qos() byte {
	if c.Bindings.QoS == nil {
		return 1
	}
	return byte(*c.Bindings.QoS)
}

// mqtt5 connects by MQTT 5, and reports whether the broker kept the session. The connection ends with ctx.
func (c *Client) mqtt5(ctx context.Context, config paho.ClientConfig, hello *paho.Connect) (client *paho.Client, kept bool, err error) {
	conn, err := c.connect(ctx)
	if err != nil {
		return nil, false, err
	}
	const version = 5
	config.Conn = packets.NewThreadSafeConn(c.guard.MQTT(conn, version))
	client = paho.NewClient(config)
	hello.KeepAlive, hello.Username, hello.UsernameFlag = keepAlive, c.Username, c.Username != ""
	hello.Password, hello.PasswordFlag = []byte(c.secret()), c.secret() != ""
	within, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	answer, err := client.Connect(within, hello)
	if err != nil {
		conn.Close() // the first error counts
		if answer != nil {
			return nil, false, mqttRefused(answer.ReasonCode, err)
		}
		return nil, false, err
	}
	return client, answer.SessionPresent, nil
}

func (c *Client) publishMQTT5(ctx context.Context, m Message) error {
	broken := make(chan error, 1)
	client, _, err := c.mqtt5(ctx, paho.ClientConfig{
		PacketTimeout: connectWithin,
		OnServerDisconnect: func(d *paho.Disconnect) {
			tell(broken, mqttRefused(d.ReasonCode, fmt.Errorf("the broker ended the connection with code %d", d.ReasonCode)))
		},
		OnClientError: func(err error) { tell(broken, err) },
	}, &paho.Connect{CleanStart: true, Properties: &paho.ConnectProperties{RequestProblemInfo: true}})
	if err != nil {
		return err
	}
	defer client.Disconnect(&paho.Disconnect{}) // it may be broken already
	publish := &paho.Publish{Topic: c.Channel, QoS: c.qos(), Retain: c.Bindings.Retain, Payload: m.Payload, Properties: &paho.PublishProperties{ContentType: m.ContentType}}
	if m.CorrelationID != "" {
		publish.Properties.CorrelationData = []byte(m.CorrelationID)
	}
	m.ContentType, m.CorrelationID = "", ""
	for _, h := range m.carried() {
		publish.Properties.User.Add(h.name, h.value)
	}
	answer, err := client.Publish(ctx, publish)
	if err != nil && answer != nil {
		return mqttRefused(answer.ReasonCode, err)
	}
	if err == nil || ctx.Err() != nil {
		return err
	}
	select {
	case why := <-broken:
		return why
	default:
		return err
	}
}

// tell keeps the first error.
func tell(to chan error, err error) {
	select {
	case to <- err:
	default:
	}
}

// mqttRefused returns the error for a reason code.
func mqttRefused(code byte, err error) error {
	status := map[byte]int{
		packets.ConnackBadUsernameOrPassword: http.StatusUnauthorized, packets.ConnackNotAuthorized: http.StatusUnauthorized,
		packets.ConnackPacketTooLarge: http.StatusRequestEntityTooLarge, packets.PubackTopicNameInvalid: http.StatusBadRequest,
		packets.ConnackServerBusy: http.StatusServiceUnavailable, packets.ConnackServerUnavailable: http.StatusServiceUnavailable,
		packets.ConnackQuotaExceeded: http.StatusTooManyRequests,
	}[code]
	if err == nil {
		err = errors.New("the broker refuses it")
	}
	return refused(cmp.Or(status, http.StatusInternalServerError), err)
}

// mqttSession is a session that the broker keeps while no client is connected.
type mqttSession struct {
	box    *mailbox
	kept   bool // by the broker
	ack    func(*Delivery) error
	leave  func(over bool)
	closed sync.Once
}

// Receive implements Subscription.
func (s *mqttSession) Receive(ctx context.Context) (*Delivery, error) { return s.box.receive(ctx) }

// Acknowledge implements Subscription. Messages of another connection arrive again.
func (s *mqttSession) Acknowledge(_ context.Context, consumed []*Delivery) error {
	for _, d := range consumed {
		if d.tag == nil {
			continue
		}
		if err := s.ack(d); err != nil {
			return err
		}
	}
	return nil
}

// Keeps implements Subscription.
func (s *mqttSession) Keeps() bool { return s.kept }

// Close implements Subscription.
func (s *mqttSession) Close(over bool) {
	s.closed.Do(func() {
		s.box.end(net.ErrClosed)
		s.leave(over)
	})
}

// mqttHandle returns the handle of a message until its acknowledgment. Brokers use numbers again for other messages.
func mqttHandle(qos byte, number uint16, topic string, payload []byte) string {
	if qos == 0 {
		return ""
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%d %s\n", len(topic), topic)
	sum.Write(payload)
	return fmt.Sprintf("%d-%.8x", number, sum.Sum(nil))
}

// ackedByUs is a session whose messages are acknowledged by Acknowledge only. The library's own method collects acknowledgments, and forgets messages
// that arrive before it knows that it is connected.
type ackedByUs struct{ *state.State }

// Ack implements session.SessionManager: the library calls it as soon as it passed on a message.
func (ackedByUs) Ack(*packets.Publish) error { return nil }

func (c *Client) subscribeMQTT5(ctx context.Context, name string) (Subscription, error) {
	s := &mqttSession{box: newMailbox(), kept: c.qos() > 0}
	expiry, most := uint32(keptFor/time.Second), uint16(mailboxSize)
	session := state.NewInMemory()
	client, kept, err := c.mqtt5(ctx, paho.ClientConfig{
		PacketTimeout: connectWithin, Session: ackedByUs{session},
		OnPublishReceived: []func(paho.PublishReceived) (bool, error){func(r paho.PublishReceived) (bool, error) {
			c.more()
			s.box.put(mqtt5Delivery(r.Packet))
			return true, nil
		}},
		OnServerDisconnect: func(d *paho.Disconnect) {
			s.box.end(mqttRefused(d.ReasonCode, fmt.Errorf("the broker ended the connection with code %d", d.ReasonCode)))
		},
		OnClientError: s.box.end,
	}, &paho.Connect{ClientID: name, Properties: &paho.ConnectProperties{SessionExpiryInterval: &expiry, ReceiveMaximum: &most, RequestProblemInfo: true}})
	if err != nil {
		return nil, err
	}
	s.ack = func(d *Delivery) error { return session.Ack(d.tag.(*paho.Publish).Packet()) }
	s.leave = func(over bool) {
		leaveMQTT5(client, over)
		_ = session.Close() // it is in memory
	}
	const never = 2 // retained messages are old ones
	within, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	answer, err := client.Subscribe(within, &paho.Subscribe{Subscriptions: []paho.SubscribeOptions{{Topic: c.Channel, QoS: c.qos(), RetainHandling: never}}})
	if answer != nil && kept && slices.Equal(answer.Reasons, []byte{packets.SubackPacketIdentifierinuse}) {
		return s, nil // some brokers confuse the number of the request with one of their own messages; they hold the subscription in that case
	}
	if err != nil {
		s.Close(false)
		if answer != nil && len(answer.Reasons) > 0 {
			return nil, mqttRefused(answer.Reasons[0], err)
		}
		return nil, err
	}
	return s, nil
}

// leaveMQTT5 ends a connection, and its session if that is over. Before that, the broker reads all acknowledgments, or does not answer. Otherwise
// another connection of the session might arrive before the broker read them, and would get the messages once more.
func leaveMQTT5(client *paho.Client, over bool) {
	goodbye := &paho.Disconnect{}
	if over {
		goodbye.Properties = &paho.DisconnectProperties{SessionExpiryInterval: new(uint32)}
	} else {
		within, cancel := context.WithTimeout(context.Background(), farewell)
		defer cancel()
		_, _ = client.Unsubscribe(within, &paho.Unsubscribe{Topics: []string{unusedTopic}}) // regardless of the answer, it read the data before
	}
	_ = client.Disconnect(goodbye) // it may be broken already
}

// unusedTopic is a topic without subscribers. The client ends a subscription to it, because brokers answer in the order in which they read.
const unusedTopic = "swrun/unused"

// mqtt5Delivery reads a message.
func mqtt5Delivery(p *paho.Publish) *Delivery {
	d := &Delivery{Handle: mqttHandle(p.QoS, p.PacketID, p.Topic, p.Payload), tag: p, Message: Message{Payload: p.Payload}}
	if p.Properties != nil {
		for _, property := range p.Properties.User {
			d.carry(property.Key, property.Value)
		}
		d.ContentType, d.CorrelationID = cmp.Or(p.Properties.ContentType, d.ContentType), cmp.Or(string(p.Properties.CorrelationData), d.CorrelationID)
	}
	return d
}
