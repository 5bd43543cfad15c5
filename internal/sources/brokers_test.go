package sources_test

import (
	"io"
	"log/slog"
	"net"
	"strconv"
	"testing"
	"time"

	mqtt "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/listeners"
	"github.com/mochi-mqtt/server/v2/packets"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/swrun/swrun/internal/eventfile"
	"github.com/swrun/swrun/redisstore/redistest"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func startRedis(t *testing.T) *testBroker {
	s := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: s.Addr})
	t.Cleanup(func() { client.Close() })
	return &testBroker{
		from: eventfile.Source{Name: "a", Kind: "redis", URL: "redis://" + s.Addr, Stream: "events", Group: "swrun"},
		stop: func(*testing.T) { s.Kill() }, restart: func(*testing.T) { s.Run() },
		send: func(t *testing.T, contentType string, attributes map[string]string, body string) {
			fields := map[string]any{"event": body}
			if attributes != nil {
				fields = map[string]any{"data": body}
			}
			if contentType != "" {
				fields["content-type"] = contentType
			}
			for name, text := range attributes {
				fields["ce_"+name] = text
			}
			must(t, client.XAdd(t.Context(), &redis.XAddArgs{Stream: "events", Values: fields}).Err())
		},
	}
}

func startNATS(t *testing.T) *testBroker {
	port, _ := strconv.Atoi(redistest.FreePort(t))
	options := &server.Options{Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true}
	var running *server.Server
	begin := func(t *testing.T) {
		var err error
		running, err = server.NewServer(options)
		must(t, err)
		running.Start()
		if !running.ReadyForConnections(time.Minute) {
			t.Fatal("the server does not start")
		}
	}
	stop := func(*testing.T) {
		running.Shutdown()
		running.WaitForShutdown()
	}
	begin(t)
	t.Cleanup(func() { stop(t) })
	conn, err := nats.Connect(running.ClientURL(), nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond))
	must(t, err)
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	must(t, err)
	stream, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "EVENTS", Subjects: []string{"events.>"}})
	must(t, err)
	_, err = stream.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "swrun", AckPolicy: jetstream.AckExplicitPolicy, AckWait: 500 * time.Millisecond})
	must(t, err)
	return &testBroker{
		from: eventfile.Source{Name: "a", Kind: "nats", URL: running.ClientURL(), Stream: "EVENTS", Group: "swrun"}, stop: stop, restart: begin,
		send: func(t *testing.T, contentType string, attributes map[string]string, body string) {
			msg := &nats.Msg{Subject: "events.a", Data: []byte(body), Header: nats.Header{}}
			if contentType != "" {
				msg.Header.Set("Content-Type", contentType)
			}
			for name, text := range attributes {
				msg.Header.Set("ce-"+name, text)
			}
			_, err := js.PublishMsg(t.Context(), msg)
			must(t, err)
		},
	}
}

func startKafka(t *testing.T) *testBroker {
	port, _ := strconv.Atoi(redistest.FreePort(t))
	dir := t.TempDir()
	var cluster *kfake.Cluster
	begin := func(t *testing.T) {
		var err error
		cluster, err = kfake.NewCluster(kfake.NumBrokers(1), kfake.Ports(port), kfake.SeedTopics(1, "events", "dead"), kfake.DataDir(dir))
		must(t, err)
	}
	begin(t)
	t.Cleanup(func() { cluster.Close() })
	at := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	return &testBroker{
		from: eventfile.Source{Name: "a", Kind: "kafka", Brokers: []string{at}, Topics: []string{"events"}, Group: "swrun"},
		stop: func(*testing.T) { cluster.Close() }, restart: begin,
		send: func(t *testing.T, contentType string, attributes map[string]string, body string) {
			client, err := kgo.NewClient(kgo.SeedBrokers(at))
			must(t, err)
			defer client.Close()
			r := &kgo.Record{Topic: "events", Value: []byte(body)}
			if contentType != "" {
				r.Headers = append(r.Headers, kgo.RecordHeader{Key: "content-type", Value: []byte(contentType)})
			}
			for name, text := range attributes {
				r.Headers = append(r.Headers, kgo.RecordHeader{Key: "ce_" + name, Value: []byte(text)})
			}
			must(t, client.ProduceSync(t.Context(), r).FirstErr())
		},
	}
}

func startMQTT(t *testing.T) *testBroker {
	at := "127.0.0.1:" + redistest.FreePort(t)
	var running *mqtt.Server
	begin := func(t *testing.T) {
		running = mqtt.New(&mqtt.Options{InlineClient: true, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
		must(t, running.AddHook(new(auth.AllowHook), nil))
		must(t, running.AddListener(listeners.NewTCP(listeners.Config{ID: "a", Address: at})))
		must(t, running.Serve())
	}
	begin(t)
	t.Cleanup(func() { running.Close() })
	return &testBroker{
		from: eventfile.Source{Name: "a", Kind: "mqtt", URL: "mqtt://" + at, Topic: "events/#", ClientID: "swrun-a"},
		stop: func(*testing.T) { running.Close() }, restart: begin,
		send: func(t *testing.T, contentType string, attributes map[string]string, body string) {
			p := packets.Packet{
				FixedHeader: packets.FixedHeader{Type: packets.Publish, Qos: 1}, TopicName: "events/a", Payload: []byte(body), ProtocolVersion: 5, PacketID: 1,
				Properties: packets.Properties{ContentType: contentType},
			}
			for name, text := range attributes {
				p.Properties.User = append(p.Properties.User, packets.UserProperty{Key: name, Val: text})
			}
			inline, ok := running.Clients.Get(mqtt.InlineClientId)
			if !ok {
				t.Fatal("there is no inline client")
			}
			must(t, running.InjectPacket(inline, p))
		},
	}
}
