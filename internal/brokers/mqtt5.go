package brokers

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	"github.com/eclipse/paho.golang/packets"
	"github.com/eclipse/paho.golang/paho"

	"github.com/swrun/swrun/errors"
)

// keepAlive is how often the broker hears of a client, in seconds.
const keepAlive = 30

// qos is how surely messages are to arrive.
func (c *Client) qos() byte {
	if c.Bindings.QoS == nil {
		return 1
	}
	return byte(*c.Bindings.QoS)
}

// mqtt5 connects by MQTT 5. The connection ends with ctx.
func (c *Client) mqtt5(ctx context.Context, config paho.ClientConfig, hello *paho.Connect) (*paho.Client, error) {
	conn, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	config.Conn = packets.NewThreadSafeConn(conn)
	client := paho.NewClient(config)
	hello.KeepAlive, hello.Username, hello.UsernameFlag = keepAlive, c.Username, c.Username != ""
	hello.Password, hello.PasswordFlag = []byte(c.secret()), c.secret() != ""
	within, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	if answer, err := client.Connect(within, hello); err != nil {
		conn.Close() // the error is the first one's
		if answer != nil {
			return nil, mqttRefused(answer.ReasonCode, err)
		}
		return nil, err
	}
	return client, nil
}

func (c *Client) publishMQTT5(ctx context.Context, m Message) error {
	broken := make(chan error, 1)
	client, err := c.mqtt5(ctx, paho.ClientConfig{
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

// mqttRefused says what a reason code is like.
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
