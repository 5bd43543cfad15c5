package sources

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/cloudevent"
	"github.com/swrun/swrun/internal/eventfile"
	"github.com/swrun/swrun/internal/framing"
)

// kafkaGroup is a member of a consumer group.
type kafkaGroup struct {
	client      *kgo.Client
	deadLetters string
}

// takenOverAfter is the time after which other processes get the partitions of a killed process.
const takenOverAfter = 15 * time.Second

func openKafka(ctx context.Context, from eventfile.Source, password string) (broker, error) {
	account := KafkaAccount{Username: from.Username, Password: password, TLS: from.TLS, SASL: from.SASL}
	options := append(account.Options(from.Brokers),
		kgo.ConsumerGroup(from.Group), kgo.ConsumeTopics(from.Topics...), kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.BrokerMaxReadBytes(mostMessage), kgo.MaxDecompressBatchBytes(mostMessage),
		kgo.SessionTimeout(takenOverAfter), kgo.HeartbeatInterval(takenOverAfter/5),
	)
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, err
	}
	if err := client.Ping(ctx); err != nil {
		client.Close()
		return nil, err
	}
	return &kafkaGroup{client, from.DeadLetters}, nil
}

// KafkaAccount contains the credentials and the security of connections to brokers of Kafka.
type KafkaAccount struct {
	Username, Password string
	TLS                bool
	SASL               string // plain, scram-sha-256 or scram-sha-512; plain if empty
}

// Options returns the options of a client.
func (a KafkaAccount) Options(brokers []string) []kgo.Opt {
	options := []kgo.Opt{kgo.SeedBrokers(brokers...), kgo.ClientID("swrun"), kgo.Dialer(a.dial)}
	if a.Username != "" {
		options = append(options, kgo.SASL(a.mechanism()))
	}
	return options
}

// dial connects to a broker, and follows its answers.
func (a KafkaAccount) dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	plain := net.Dialer{Timeout: dialWithin}
	if a.TLS {
		secure := tls.Dialer{NetDialer: &plain, Config: &tls.Config{MinVersion: tls.VersionTLS12}}
		conn, err = secure.DialContext(ctx, network, address)
	} else {
		conn, err = plain.DialContext(ctx, network, address)
	}
	if err != nil {
		return nil, err
	}
	guard := &framing.Guard{Most: mostMessage}
	return guard.Kafka(conn), nil
}

// dialWithin is the time limit of a connection, the same as in the library.
const dialWithin = 10 * time.Second

func (a KafkaAccount) mechanism() sasl.Mechanism {
	auth := scram.Auth{User: a.Username, Pass: a.Password}
	switch a.SASL {
	case "scram-sha-256":
		return auth.AsSha256Mechanism()
	case "scram-sha-512":
		return auth.AsSha512Mechanism()
	}
	return plain.Auth{User: a.Username, Pass: a.Password}.AsMechanism()
}

func (b *kafkaGroup) receive(ctx context.Context) (all []message, err error) {
	b.client.AllowRebalance() // the last messages are completely handled
	within, cancel := context.WithTimeout(ctx, waits)
	defer cancel()
	fetches := b.client.PollRecords(within, atATime)
	fetches.EachRecord(func(r *kgo.Record) { all = append(all, kafkaMessage(r)) })
	for _, failed := range fetches.Errors() {
		if !errors.Is(failed.Err, context.DeadlineExceeded) && !errors.Is(failed.Err, context.Canceled) && len(all) == 0 {
			return nil, failed.Err
		}
	}
	if len(all) == 0 && ctx.Err() == nil { // the client tries to reach its brokers forever, and does not report it
		within, cancel := context.WithTimeout(ctx, ackWithin)
		defer cancel()
		if err := b.client.Ping(within); err != nil {
			return nil, &awayError{err}
		}
	}
	return all, nil
}

// kafkaMessage reads a record: attributes are headers ce_NAME.
func kafkaMessage(r *kgo.Record) message {
	m := message{handle: r, headers: map[string][]string{}, place: fmt.Sprintf("%s/%d offset %d", r.Topic, r.Partition, r.Offset), Message: cloudevent.Message{Body: r.Value, Attributes: map[string]any{}}}
	had := map[string]bool{}
	for _, h := range r.Headers {
		name := strings.ToLower(h.Key)
		attribute, is := strings.CutPrefix(name, "ce_")
		if had[name] && (is || name == "content-type") {
			m.broken = fmt.Errorf("the header %s stands twice", name)
		}
		had[name] = true
		m.headers[h.Key] = append(m.headers[h.Key], string(h.Value))
		if is {
			m.Attributes[attribute] = string(h.Value)
		} else if name == "content-type" {
			m.ContentType = string(h.Value)
		} else if name == whyOf {
			m.dead = true
		}
	}
	return m
}

func (b *kafkaGroup) acknowledge(ctx context.Context, done []message) error {
	var records []*kgo.Record
	for _, m := range done {
		records = append(records, m.handle.(*kgo.Record))
	}
	return b.client.CommitRecords(ctx, records...)
}

func (b *kafkaGroup) keep(ctx context.Context, m message, why string) error {
	r := m.handle.(*kgo.Record)
	headers := append(slices.Clip(r.Headers), kgo.RecordHeader{Key: whyOf, Value: []byte(why)}, kgo.RecordHeader{Key: placeOf, Value: []byte(m.place)})
	return b.client.ProduceSync(ctx, &kgo.Record{Topic: b.deadLetters, Key: r.Key, Value: r.Value, Headers: headers}).FirstErr()
}

// close leaves the group, so that another member gets its partitions immediately.
func (b *kafkaGroup) close() { b.client.CloseAllowingRebalance() }
