package brokers

import (
	"cmp"
	"context"
	"math"
	"net"
	"net/http"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/swrun/swrun/errors"
)

// kafka returns a client that has reached a broker. Its connections end with ctx.
func (c *Client) kafka(ctx context.Context, options ...kgo.Opt) (*kgo.Client, error) {
	options = append(options, kgo.SeedBrokers(c.Addresses...), kgo.ClientID(clientName), kgo.RequestRetries(2), kgo.WithContext(ctx), kgo.FetchMaxBytes(int32(min(c.MaxRead, math.MaxInt32))/2), kgo.BrokerMaxReadBytes(int32(min(c.MaxRead, math.MaxInt32))),
		kgo.Dialer(func(_ context.Context, network, address string) (net.Conn, error) {
			return c.open(ctx, network, address)
		}))
	if c.Account != (Account{}) {
		options = append(options, kgo.SASL(c.mechanism()))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	if err := client.Ping(within); err != nil { // which tries each address once
		client.Close()
		return nil, kafkaFailure(err)
	}
	return client, nil
}

// mechanism returns the way in which brokers learn who connects.
func (c *Client) mechanism() sasl.Mechanism {
	if c.Token != "" {
		return oauth.Auth{Token: c.Token}.AsMechanism()
	}
	auth := scram.Auth{User: c.Username, Pass: c.Password}
	switch c.Mechanism {
	case "scram-sha-256":
		return auth.AsSha256Mechanism()
	case "scram-sha-512":
		return auth.AsSha512Mechanism()
	}
	return plain.Auth{User: c.Username, Pass: c.Password}.AsMechanism()
}

// topic is that of the channel.
func (c *Client) topic() string { return cmp.Or(c.Bindings.Topic, c.Channel) }

func (c *Client) publishKafka(ctx context.Context, m Message) error {
	client, err := c.kafka(ctx, kgo.UnknownTopicRetries(1), kgo.RecordRetries(2), kgo.RecordDeliveryTimeout(connectWithin))
	if err != nil {
		return err
	}
	defer client.Close()
	record := &kgo.Record{Topic: c.topic(), Value: m.Payload}
	for _, h := range m.carried() {
		record.Headers = append(record.Headers, kgo.RecordHeader{Key: h.name, Value: []byte(h.value)})
	}
	return kafkaFailure(client.ProduceSync(ctx, record).FirstErr())
}

// kafkaFailure says which errors are answers.
func kafkaFailure(err error) error {
	var answered *kerr.Error
	if !errors.As(err, &answered) {
		return err
	}
	status := http.StatusInternalServerError
	switch {
	case slices.Contains([]*kerr.Error{kerr.SaslAuthenticationFailed, kerr.IllegalSaslState, kerr.UnsupportedSaslMechanism}, answered):
		status = http.StatusUnauthorized
	case slices.Contains([]*kerr.Error{kerr.TopicAuthorizationFailed, kerr.GroupAuthorizationFailed, kerr.ClusterAuthorizationFailed}, answered):
		status = http.StatusForbidden
	case answered == kerr.UnknownTopicOrPartition:
		status = http.StatusNotFound
	case answered == kerr.MessageTooLarge:
		status = http.StatusRequestEntityTooLarge
	}
	return refused(status, answered)
}
