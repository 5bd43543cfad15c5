package brokers

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/swrun/swrun/errors"
)

// kafka returns a client with a connection to a broker. Its connections end with ctx.
func (c *Client) kafka(ctx context.Context, options ...kgo.Opt) (*kgo.Client, error) {
	options = append(options, kgo.SeedBrokers(c.Addresses...), kgo.ClientID(clientName), kgo.RequestRetries(2), kgo.WithContext(ctx), kgo.FetchMaxBytes(int32(min(c.MaxRead, math.MaxInt32))/2), kgo.BrokerMaxReadBytes(int32(min(c.allowed, math.MaxInt32))),
		kgo.Dialer(func(_ context.Context, network, address string) (net.Conn, error) {
			conn, err := c.open(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return c.guard.Kafka(conn), nil
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

// mechanism returns the method by which brokers identify the client.
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

// topic is the topic of the channel.
func (c *Client) topic() string { return cmp.Or(c.Bindings.Topic, c.Channel) }

func (c *Client) publishKafka(ctx context.Context, m Message) error {
	client, err := c.kafka(ctx, kgo.UnknownTopicRetries(1), kgo.RecordRetries(2), kgo.RecordDeliveryTimeout(connectWithin), kgo.ProducerLinger(0))
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

// kafkaFailure separates answers of the broker from other errors. It also recognizes answers that are too large, for which the library has no error
// type.
func kafkaFailure(err error) error {
	if err != nil && strings.Contains(err.Error(), "BrokerMaxReadBytes") || errors.Is(err, kgo.ErrMaxDecompress) {
		return ErrTooLarge
	}
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

// kafkaSubscription reads all partitions of a topic. Its progress is in the offsets of a group without members, so that no member has to wait for
// others to join or to leave.
type kafkaSubscription struct {
	client *kgo.Client
	c      *Client
	topic  string
	id     [16]byte // of the topic, for brokers that require it
	group  string

	positions map[int32]int64 // the next offset of each partition that is not consumed
	told      time.Time       // the last time at which they were sent to the broker
}

const (
	// kafkaQuiet is the time without messages after which the client checks that a broker is there: the library tries forever, without an error.
	kafkaQuiet = 2 * time.Second
	// kafkaReminder is the interval after which the same positions are sent to the broker again, because it forgets the positions of a group after some
	// days.
	kafkaReminder = time.Hour
)

func (c *Client) subscribeKafka(ctx context.Context, name string) (Subscription, error) {
	asking, err := c.kafka(ctx)
	if err != nil {
		return nil, err
	}
	defer asking.Close()
	s := &kafkaSubscription{client: asking, c: c, topic: c.topic(), group: name}
	within, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	if err := s.begin(within); err != nil {
		return nil, kafkaFailure(err)
	}
	from := map[int32]kgo.Offset{}
	for partition, position := range s.positions {
		from[partition] = kgo.NewOffset().At(position)
	}
	s.client, err = c.kafka(ctx, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{s.topic: from}), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.MaxConcurrentFetches(1), kgo.MaxDecompressBatchBytes(c.allowed))
	if err != nil {
		return nil, err
	}
	return s, nil
}

// begin fills in the positions: the positions that the broker knows, or the end of every partition. A partition that was added since then begins with
// its first message.
func (s *kafkaSubscription) begin(ctx context.Context) error {
	partitions, err := s.partitions(ctx)
	if err != nil {
		return err
	}
	known, err := s.known(ctx, partitions)
	if err != nil {
		return err
	}
	if s.positions = known; len(known) == 0 {
		if s.positions, err = s.ends(ctx, partitions); err != nil {
			return err
		}
	}
	for _, partition := range partitions {
		if _, had := s.positions[partition]; !had {
			s.positions[partition] = 0
		}
	}
	return s.tell(ctx, s.positions)
}

// partitions returns the partitions of the topic.
func (s *kafkaSubscription) partitions(ctx context.Context) (all []int32, err error) {
	request := kmsg.NewPtrMetadataRequest()
	topic := kmsg.NewMetadataRequestTopic()
	topic.Topic = &s.topic
	request.Topics = append(request.Topics, topic)
	answer, err := request.RequestWith(ctx, s.client)
	if err != nil {
		return nil, err
	}
	for _, t := range answer.Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			return nil, err
		}
		s.id = t.TopicID
		for _, p := range t.Partitions {
			all = append(all, p.Partition)
		}
	}
	return all, nil
}

// known returns the positions that the broker stores for the group.
func (s *kafkaSubscription) known(ctx context.Context, partitions []int32) (map[int32]int64, error) {
	request := kmsg.NewPtrOffsetFetchRequest()
	group, topic := kmsg.NewOffsetFetchRequestGroup(), kmsg.NewOffsetFetchRequestGroupTopic()
	topic.Topic, topic.TopicID, topic.Partitions = s.topic, s.id, partitions
	group.Group, group.Topics = s.group, append(group.Topics, topic)
	request.Groups = append(request.Groups, group)
	answer, err := request.RequestWith(ctx, s.client)
	if err != nil {
		return nil, err
	}
	all := map[int32]int64{}
	for _, g := range answer.Groups {
		if err := kerr.ErrorForCode(g.ErrorCode); err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
			return nil, err
		}
		for _, t := range g.Topics {
			for _, p := range t.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					return nil, err
				}
				if p.Offset >= 0 {
					all[p.Partition] = p.Offset
				}
			}
		}
	}
	return all, nil
}

// ends returns the positions after the last messages.
func (s *kafkaSubscription) ends(ctx context.Context, partitions []int32) (map[int32]int64, error) {
	request := kmsg.NewPtrListOffsetsRequest()
	topic := kmsg.NewListOffsetsRequestTopic()
	topic.Topic = s.topic
	for _, partition := range partitions {
		one := kmsg.NewListOffsetsRequestTopicPartition()
		one.Partition, one.Timestamp = partition, -1 // which means the end
		topic.Partitions = append(topic.Partitions, one)
	}
	request.Topics = append(request.Topics, topic)
	answer, err := request.RequestWith(ctx, s.client)
	if err != nil {
		return nil, err
	}
	all := map[int32]int64{}
	for _, t := range answer.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return nil, err
			}
			all[p.Partition] = p.Offset
		}
	}
	return all, nil
}

// tell sends positions to the broker.
func (s *kafkaSubscription) tell(ctx context.Context, positions map[int32]int64) error {
	request := kmsg.NewPtrOffsetCommitRequest()
	request.Group, request.Generation = s.group, -1 // of no member
	topic := kmsg.NewOffsetCommitRequestTopic()
	topic.Topic, topic.TopicID = s.topic, s.id
	for partition, position := range positions {
		one := kmsg.NewOffsetCommitRequestTopicPartition()
		one.Partition, one.Offset = partition, position
		topic.Partitions = append(topic.Partitions, one)
	}
	request.Topics = append(request.Topics, topic)
	answer, err := request.RequestWith(ctx, s.client)
	if err != nil {
		return err
	}
	for _, t := range answer.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return err
			}
		}
	}
	s.told = time.Now()
	return nil
}

// Receive implements Subscription.
func (s *kafkaSubscription) Receive(ctx context.Context) (*Delivery, error) {
	for {
		within, cancel := context.WithTimeout(ctx, kafkaQuiet)
		fetches := s.client.PollRecords(within, 1)
		cancel()
		s.c.more()
		if records := fetches.Records(); len(records) > 0 {
			return kafkaDelivery(records[0]), nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for _, failed := range fetches.Errors() {
			if !errors.Is(failed.Err, context.DeadlineExceeded) {
				return nil, kafkaFailure(failed.Err)
			}
		}
		if err := s.stillThere(ctx); err != nil {
			return nil, kafkaFailure(err)
		}
	}
}

// stillThere returns why there is no broker any more, and sends the positions again from time to time.
func (s *kafkaSubscription) stillThere(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	if time.Since(s.told) > kafkaReminder {
		return s.tell(within, s.positions)
	}
	return s.client.Ping(within)
}

// kafkaDelivery reads a record. Its place is its handle.
func kafkaDelivery(r *kgo.Record) *Delivery {
	d := &Delivery{Handle: fmt.Sprintf("%d:%d", r.Partition, r.Offset), Message: Message{Payload: r.Value}}
	for _, h := range r.Headers {
		d.carry(h.Key, string(h.Value))
	}
	return d
}

// Acknowledge implements Subscription.
func (s *kafkaSubscription) Acknowledge(ctx context.Context, consumed []*Delivery) error {
	positions := map[int32]int64{}
	for _, d := range consumed {
		var partition int32
		var offset int64
		if _, err := fmt.Sscanf(d.Handle, "%d:%d", &partition, &offset); err == nil { // it is not a handle of another broker, from before a change of the document
			positions[partition] = max(positions[partition], offset+1)
		}
	}
	for partition, position := range positions {
		if position <= s.positions[partition] { // which is already passed
			delete(positions, partition)
			continue
		}
		s.positions[partition] = position
	}
	if len(positions) == 0 {
		return nil
	}
	within, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	return kafkaFailure(s.tell(within, positions))
}

// Keeps implements Subscription.
func (*kafkaSubscription) Keeps() bool { return true }

// Close implements Subscription.
func (s *kafkaSubscription) Close(over bool) {
	if over {
		within, cancel := context.WithTimeout(context.Background(), farewell)
		defer cancel()
		request := kmsg.NewPtrDeleteGroupsRequest()
		request.Groups = []string{s.group}
		_, _ = request.RequestWith(within, s.client) // a broker that did not receive this forgets the group automatically
	}
	s.client.Close()
}
