package sources

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/eclipse/paho.golang/paho"

	"github.com/swrun/swrun/internal/cloudevent"
	"github.com/swrun/swrun/internal/eventfile"
	"github.com/swrun/swrun/internal/framing"
)

// mqttSession is a session that the broker keeps without a connection.
type mqttSession struct {
	client      *paho.Client
	deadLetters string
	messages    chan message
	ended       chan struct{}
	once        sync.Once
	guard       *framing.Guard
	err         error // the reason of its end
}

const (
	sessionKept = 7 * 24 * 60 * 60 // seconds
	keepAlive   = 30               // seconds
)

func openMQTT(ctx context.Context, from eventfile.Source, password string) (broker, error) {
	conn, err := dialMQTT(ctx, from.URL)
	if err != nil {
		return nil, err
	}
	const version = 5
	b := &mqttSession{deadLetters: from.DeadLetters, messages: make(chan message, atATime), ended: make(chan struct{}), guard: &framing.Guard{Most: mostMessage}}
	b.client = paho.NewClient(paho.ClientConfig{
		Conn: packets.NewThreadSafeConn(b.guard.MQTT(conn, version)), EnableManualAcknowledgment: true, SendAcksInterval: 10 * time.Millisecond,
		OnPublishReceived:  []func(paho.PublishReceived) (bool, error){b.received},
		OnServerDisconnect: func(d *paho.Disconnect) { b.end(fmt.Errorf("the broker ended the session with code %d", d.ReasonCode)) },
		OnClientError:      b.end,
	})
	expiry, most := uint32(sessionKept), uint16(atATime)
	connect := &paho.Connect{
		ClientID: from.ClientID, KeepAlive: keepAlive, Username: from.Username,
		UsernameFlag: from.Username != "", Password: []byte(password), PasswordFlag: password != "",
		Properties: &paho.ConnectProperties{SessionExpiryInterval: &expiry, ReceiveMaximum: &most, RequestProblemInfo: true},
	}
	connected, err := b.client.Connect(ctx, connect)
	if err != nil {
		conn.Close() // the first error counts
		return nil, cmp.Or(b.guard.Err(), err)
	}
	subscribed, err := b.client.Subscribe(ctx, &paho.Subscribe{Subscriptions: []paho.SubscribeOptions{{Topic: from.Topic, QoS: 1}}})
	if err != nil && !(connected.SessionPresent && isInUse(subscribed)) {
		b.close()
		return nil, cmp.Or(b.guard.Err(), err)
	}
	return b, nil
}

// isInUse reports whether a broker has refused a subscription because a message of the session, which it sends again, has the same number. Some
// brokers confuse the numbers of both directions. The session has the subscription already.
func isInUse(s *paho.Suback) bool {
	return s != nil && len(s.Reasons) == 1 && s.Reasons[0] == packets.SubackPacketIdentifierinuse
}

func dialMQTT(ctx context.Context, at string) (net.Conn, error) {
	u, err := url.Parse(at)
	if err != nil {
		return nil, err
	}
	port, secured := "1883", u.Scheme == "mqtts"
	if secured {
		port = "8883"
	}
	if u.Port() != "" {
		port = u.Port()
	}
	address := net.JoinHostPort(u.Hostname(), port)
	if !secured {
		return (&net.Dialer{}).DialContext(ctx, "tcp", address)
	}
	return (&tls.Dialer{Config: &tls.Config{MinVersion: tls.VersionTLS12, ServerName: u.Hostname()}}).DialContext(ctx, "tcp", address)
}

func (b *mqttSession) end(err error) {
	b.once.Do(func() {
		b.err = cmp.Or(b.guard.Err(), err)
		close(b.ended)
	})
}

// received keeps a message: attributes are user properties of the same name. The broker sends no more messages than the channel has room for until
// some are acknowledged.
func (b *mqttSession) received(r paho.PublishReceived) (bool, error) {
	m := message{handle: r.Packet, headers: map[string][]string{}, place: r.Packet.Topic, Message: cloudevent.Message{Body: r.Packet.Payload, Attributes: map[string]any{}}}
	if p := r.Packet.Properties; p != nil {
		m.ContentType = p.ContentType
		for _, property := range p.User {
			m.dead = m.dead || property.Key == whyOf
			if _, twice := m.Attributes[property.Key]; twice {
				m.broken = fmt.Errorf("the property %s stands twice", property.Key)
			}
			m.Attributes[property.Key] = property.Value
			m.headers[property.Key] = append(m.headers[property.Key], property.Value)
		}
	}
	if _, ok := m.Attributes["specversion"]; !ok {
		m.Attributes = nil // other properties are no attributes
	}
	select {
	case b.messages <- m:
	case <-b.ended:
	}
	return true, nil
}

func (b *mqttSession) receive(ctx context.Context) (all []message, err error) {
	select {
	case m := <-b.messages:
		all = append(all, m)
	case <-b.ended:
		return nil, b.err
	case <-ctx.Done():
		return nil, nil
	}
	for len(b.messages) > 0 {
		all = append(all, <-b.messages)
	}
	return all, nil
}

func (b *mqttSession) acknowledge(_ context.Context, done []message) error {
	for _, m := range done {
		if err := b.client.Ack(m.handle.(*paho.Publish)); err != nil {
			return err
		}
	}
	return nil
}

func (b *mqttSession) keep(ctx context.Context, m message, why string) error {
	of := m.handle.(*paho.Publish)
	copied := &paho.Publish{QoS: 1, Topic: b.deadLetters, Payload: of.Payload, Properties: &paho.PublishProperties{}}
	if of.Properties != nil {
		copied.Properties.ContentType, copied.Properties.PayloadFormat = of.Properties.ContentType, of.Properties.PayloadFormat
		copied.Properties.User = slices.Clip(of.Properties.User)
	}
	copied.Properties.User.Add(whyOf, why).Add(placeOf, m.place)
	_, err := b.client.Publish(ctx, copied)
	return err
}

// close ends the connection and leaves the session: unacknowledged messages come again.
func (b *mqttSession) close() {
	time.Sleep(30 * time.Millisecond) // acknowledgements are sent at this interval
	b.end(net.ErrClosed)
	b.client.Disconnect(&paho.Disconnect{}) // it may be broken already
}
