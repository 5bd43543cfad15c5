package brokers

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"
	"github.com/eclipse/paho.mqtt.golang/packets"

	"github.com/swrun/swrun/errors"
)

// mqttVersion is the version number of MQTT 3.1.1.
const mqttVersion = 4

// mqtt3 connects by MQTT 3.1.1, and reports whether the broker kept the session. The connection ends with ctx.
func (c *Client) mqtt3(ctx context.Context, options *mqtt.ClientOptions) (client mqtt.Client, kept bool, err error) {
	conn, err := c.connect(ctx)
	if err != nil {
		return nil, false, err
	}
	guarded := c.guard.MQTT(conn, mqttVersion)
	options.AddBroker("tcp://" + c.Addresses[0]).SetProtocolVersion(mqttVersion).SetAutoReconnect(false).SetConnectRetry(false)
	options.SetConnectTimeout(connectWithin).SetKeepAlive(keepAlive * time.Second).SetUsername(c.Username).SetPassword(c.secret())
	options.SetCustomOpenConnectionFn(func(*url.URL, mqtt.ClientOptions) (net.Conn, error) { return guarded, nil })
	client = mqtt.NewClient(options)
	connected := client.Connect()
	<-connected.Done() // at the end of ctx too, which closes the connection
	if err := connected.Error(); err != nil {
		conn.Close() // the first error counts
		return nil, false, mqttFailure(err)
	}
	return client, connected.(*mqtt.ConnectToken).SessionPresent(), nil
}

// mqttFailure separates answers of the broker from other errors.
func mqttFailure(err error) error {
	switch {
	case errors.Is(err, packets.ErrorRefusedBadUsernameOrPassword), errors.Is(err, packets.ErrorRefusedNotAuthorised):
		return refused(http.StatusUnauthorized, err)
	case errors.Is(err, packets.ErrorRefusedServerUnavailable):
		return refused(http.StatusServiceUnavailable, err)
	case errors.Is(err, packets.ErrorRefusedBadProtocolVersion), errors.Is(err, packets.ErrorRefusedIDRejected):
		return refused(http.StatusBadRequest, err)
	}
	return err
}

// publishMQTT publishes by MQTT 3.1.1, whose messages have no headers.
func (c *Client) publishMQTT(ctx context.Context, m Message) error {
	client, _, err := c.mqtt3(ctx, mqtt.NewClientOptions().SetCleanSession(true).SetWriteTimeout(connectWithin))
	if err != nil {
		return err
	}
	defer client.Disconnect(0)
	sent := client.Publish(c.Channel, c.qos(), c.Bindings.Retain, m.Payload)
	<-sent.Done() // at the end of ctx too, which closes the connection
	return sent.Error()
}

// subscribeMQTT continues a session of MQTT 3.1.1, which the broker keeps until a client ends it.
func (c *Client) subscribeMQTT(ctx context.Context, name string) (Subscription, error) {
	s := &mqttSession{box: newMailbox(), kept: c.qos() > 0}
	received := func(_ mqtt.Client, m mqtt.Message) {
		c.more()
		if m.Retained() { // an old one
			m.Ack()
			return
		}
		s.box.put(&Delivery{Handle: mqttHandle(m.Qos(), m.MessageID(), m.Topic(), m.Payload()), tag: m, Message: Message{Payload: m.Payload()}})
	}
	client, kept, err := c.mqtt3(ctx, mqtt.NewClientOptions().SetClientID(name).SetCleanSession(false).SetAutoAckDisabled(true).SetWriteTimeout(connectWithin).
		SetDefaultPublishHandler(received).SetConnectionLostHandler(func(_ mqtt.Client, why error) { s.box.end(why) }))
	if err != nil {
		return nil, err
	}
	s.ack = func(d *Delivery) error {
		d.tag.(mqtt.Message).Ack()
		return nil
	}
	s.leave = func(over bool) {
		leaveMQTT(client, over)
		if over {
			c.forgetMQTT(ctx, name)
		}
	}
	subscribed := client.Subscribe(c.Channel, c.qos(), nil)
	<-subscribed.Done() // at the end of ctx too, which closes the connection
	err = subscribed.Error()
	const no = 0x80
	if granted := subscribed.(*mqtt.SubscribeToken).Result()[c.Channel]; err == nil && granted == no && !kept {
		// In a kept session the answer may have another cause: some brokers confuse the number of the request with one of their own messages (see MQTT 5).
		err = refused(http.StatusForbidden, errors.New("the broker refuses the subscription"))
	}
	if err != nil {
		s.Close(false)
		return nil, err
	}
	return s, nil
}

// leaveMQTT ends a connection, in the same way as leaveMQTT5.
func leaveMQTT(client mqtt.Client, over bool) {
	if !over {
		client.Unsubscribe(unusedTopic).WaitTimeout(farewell)
	}
	client.Disconnect(uint(farewell / time.Millisecond))
}

// forgetMQTT ends a session by connecting with the same name to a session that is not kept. A broker that cannot be reached keeps the session.
func (c *Client) forgetMQTT(ctx context.Context, name string) {
	within, cancel := context.WithTimeout(ctx, farewell)
	defer cancel()
	if client, _, err := c.mqtt3(within, mqtt.NewClientOptions().SetClientID(name).SetCleanSession(true).SetWriteTimeout(farewell)); err == nil {
		client.Disconnect(0)
	}
}
