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

// mqttVersion is that of MQTT 3.1.1.
const mqttVersion = 4

// mqtt3 connects by MQTT 3.1.1. The connection ends with ctx.
func (c *Client) mqtt3(ctx context.Context, options *mqtt.ClientOptions) (mqtt.Client, error) {
	conn, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	options.AddBroker("tcp://" + c.Addresses[0]).SetProtocolVersion(mqttVersion).SetAutoReconnect(false).SetConnectRetry(false)
	options.SetConnectTimeout(connectWithin).SetKeepAlive(keepAlive * time.Second).SetUsername(c.Username).SetPassword(c.secret())
	options.SetCustomOpenConnectionFn(func(*url.URL, mqtt.ClientOptions) (net.Conn, error) { return conn, nil })
	client := mqtt.NewClient(options)
	connected := client.Connect()
	<-connected.Done() // at the end of ctx too, which closes the connection
	if err := connected.Error(); err != nil {
		conn.Close() // the error is the first one's
		return nil, mqttFailure(err)
	}
	return client, nil
}

// mqttFailure says which errors are answers.
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
	client, err := c.mqtt3(ctx, mqtt.NewClientOptions().SetCleanSession(true).SetWriteTimeout(connectWithin))
	if err != nil {
		return err
	}
	defer client.Disconnect(0)
	sent := client.Publish(c.Channel, c.qos(), c.Bindings.Retain, m.Payload)
	<-sent.Done() // at the end of ctx too, which closes the connection
	return sent.Error()
}
