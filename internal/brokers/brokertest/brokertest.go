// Package brokertest starts brokers for tests, in this process if possible. The caller that starts a broker stops it.
package brokertest

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/eclipse/paho.golang/paho"
	mqtt "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/listeners"
	"github.com/mochi-mqtt/server/v2/packets"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Broker is a running broker.
type Broker struct {
	Address string // host:port
	Secured string // host:port for TLS, of a RabbitMQ that also speaks TLS
	Stop    func()
	// Forgets waits until a broker of MQTT has dropped a session, which it does some time after the request. Other brokers do so immediately.
	Forgets func(ctx context.Context, session string) error
	// Hears reports whether a broker of MQTT has a subscription to a topic. It is nil for other brokers.
	Hears func(topic string) bool
}

// Kafka starts a broker with topics of one partition.
func Kafka(topics ...string) (*Broker, error) { return startKafka(kfake.SeedTopics(1, topics...)) }

func startKafka(options ...kfake.Opt) (*Broker, error) {
	cluster, err := kfake.NewCluster(append(options, kfake.NumBrokers(1))...)
	if err != nil {
		return nil, err
	}
	return &Broker{Address: cluster.ListenAddrs()[0], Stop: cluster.Close, Forgets: atOnce}, nil
}

// MakeTopics creates topics of one partition at a broker of Kafka.
func MakeTopics(address string, topics ...string) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(address))
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	request := kmsg.NewPtrCreateTopicsRequest()
	for _, name := range topics {
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, 1, 1
		request.Topics = append(request.Topics, topic)
	}
	answer, err := request.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	for _, topic := range answer.Topics {
		if err := kerr.ErrorForCode(topic.ErrorCode); err != nil {
			return err
		}
	}
	return nil
}

// NATS starts a broker whose JetStream keeps its files in a folder, and has a stream of the subjects kept.>. Clients need the token, if it is not
// empty.
func NATS(folder, token string) (*Broker, error) {
	b, err := startNATS(&server.Options{JetStream: true, StoreDir: folder, Authorization: token})
	if err != nil {
		return nil, err
	}
	if err := keep(b.Address, token); err != nil {
		b.Stop()
		return nil, err
	}
	return b, nil
}

func startNATS(o *server.Options) (*Broker, error) {
	o.Host, o.Port, o.NoSigs, o.NoLog = "127.0.0.1", server.RANDOM_PORT, true, true
	running, err := server.NewServer(o)
	if err != nil {
		return nil, err
	}
	running.Start()
	b := &Broker{Forgets: atOnce, Stop: func() {
		running.Shutdown()
		running.WaitForShutdown()
	}}
	if !running.ReadyForConnections(time.Minute) {
		b.Stop()
		return nil, fmt.Errorf("the server does not start")
	}
	b.Address = running.Addr().String()
	return b, nil
}

// keep creates the stream.
func keep(address, token string) error {
	conn, err := nats.Connect("nats://"+address, nats.Token(token))
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err = js.CreateStream(ctx, jetstream.StreamConfig{Name: "KEPT", Subjects: []string{"kept.>"}, Storage: jetstream.MemoryStorage})
	return err
}

// PublishMQTT publishes messages, and returns when the broker has forwarded them in this order. The broker answers before it forwards a message, and
// reads the next one of a connection afterwards.
func PublishMQTT(address string, messages ...*paho.Publish) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	client := paho.NewClient(paho.ClientConfig{Conn: conn})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := client.Connect(ctx, &paho.Connect{KeepAlive: 30, CleanStart: true}); err != nil {
		return err
	}
	for _, m := range append(messages, &paho.Publish{Topic: "last", QoS: 1}) {
		if _, err := client.Publish(ctx, m); err != nil {
			return err
		}
	}
	return client.Disconnect(&paho.Disconnect{})
}

// answering publishes messages as soon as a client has subscribed to their topic.
type answering struct {
	mqtt.HookBase
	broker   *mqtt.Server
	topic    string
	payloads []string
}

// ID implements mqtt.Hook.
func (*answering) ID() string { return "answering" }

// Provides implements mqtt.Hook.
func (*answering) Provides(event byte) bool { return event == mqtt.OnSubscribed }

// OnSubscribed implements mqtt.Hook.
func (a *answering) OnSubscribed(_ *mqtt.Client, pk packets.Packet, _ []byte) {
	for _, filter := range pk.Filters {
		if filter.Filter != a.topic {
			continue
		}
		for _, payload := range a.payloads {
			_ = a.broker.Publish(a.topic, []byte(payload), false, 1) // the test notices a missing message
		}
	}
}

// AnsweringMQTT starts a broker that publishes messages to the subscribers of a topic.
func AnsweringMQTT(topic string, payloads ...string) (*Broker, error) {
	return startMQTT(nil, nil, func(running *mqtt.Server) error {
		return running.AddHook(&answering{broker: running, topic: topic, payloads: payloads}, nil)
	})
}

// MQTT starts a broker that speaks 3.1.1 and 5. Ledger decides which clients may connect; nil admits all.
func MQTT(ledger *auth.Ledger) (*Broker, error) {
	return startMQTT(ledger, nil, func(*mqtt.Server) error { return nil })
}

func startMQTT(ledger *auth.Ledger, secured *tls.Config, prepare func(*mqtt.Server) error) (*Broker, error) {
	running := mqtt.New(&mqtt.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), InlineClient: true})
	if err := prepare(running); err != nil {
		return nil, err
	}
	var err error
	if ledger == nil {
		err = running.AddHook(new(auth.AllowHook), nil)
	} else {
		err = running.AddHook(new(auth.Hook), &auth.Options{Ledger: ledger})
	}
	if err != nil {
		return nil, err
	}
	listener := listeners.NewTCP(listeners.Config{ID: "a", Address: "127.0.0.1:0", TLSConfig: secured})
	if err := running.AddListener(listener); err != nil {
		return nil, err
	}
	if err := running.Serve(); err != nil {
		return nil, err
	}
	return &Broker{Address: listener.Address(), Stop: func() { running.Close() }, Forgets: forgets(running), Hears: hears(running)}, nil
}

func atOnce(context.Context, string) error { return nil }

func hears(running *mqtt.Server) func(string) bool {
	return func(topic string) bool { return len(running.Topics.Subscribers(topic).Subscriptions) > 0 }
}

func forgets(running *mqtt.Server) func(context.Context, string) error {
	return func(ctx context.Context, session string) error {
		ticker := time.NewTicker(time.Millisecond)
		defer ticker.Stop()
		for {
			if _, known := running.Clients.Get(session); !known {
				return nil
			}
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}
