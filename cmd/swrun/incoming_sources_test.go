package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/eclipse/paho.golang/paho"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/brokers/brokertest"
	"github.com/swrun/swrun/redisstore/redistest"
)

// sourcesIn returns events that a server reads from brokers. Refused events are kept, with the reason.
func sourcesIn() []incoming {
	return []incoming{
		{"events from Redis", sourceCells(), openRedisSource}, {"events from NATS", sourceCells(), openNATSSource},
		{"events from Kafka", sourceCells(), openKafkaSource}, {"events from MQTT", mqttCells(), openMQTTSource},
	}
}

func sourceCells() map[string]incomingCell {
	const structured, inJSON, text, dead = "content-type: application/cloudevents+json", "content-type: application/json", "content-type: text/plain", "!dead letter: "
	cells := numbersIn(inJSON)
	for variant, c := range numbersIn(structured) {
		cells[variant] = comes(append(cells[variant].samples, c.samples...)...)
	}
	cells["another charset"] = comes(sample{head: inJSON + inLatin1, body: "\"\xe9\"", want: `"é"`}, sample{head: text + "; charset=windows-1252", body: "\x80", want: `"€"`},
		sample{head: structured + inLatin1, body: `"é"`, wire: asLatin1, want: `"é"`})
	cells["UTF-16"] = comes(sample{head: inJSON, body: asUTF16(`"é"`), want: `"é"`}, sample{head: structured, body: `"é"`, wire: asUTF16, want: `"é"`})
	cells["byte order mark"] = comes(sample{head: inJSON, body: marked("[1]"), want: "[1]"}, sample{head: text, body: marked("a"), want: `"a"`}, sample{head: structured, body: "1", wire: marked, want: "1"})
	cells["not UTF-8"] = comes(sample{head: inJSON, body: "\"\xe9\"", want: dead}, sample{head: text, body: "\xe9", want: `"6Q=="`}, sample{head: structured, body: "\"\xe9\"", want: dead},
		sample{head: inJSON + "\nsubject: \xe9", body: "1", want: dead}).as("14.5")
	cells["null"] = comes(sample{head: inJSON, body: "null", want: "null"}, sample{head: structured, body: `null,"subject":null`, want: "null"})
	cells["absent"] = comes(sample{head: structured, wire: func(text string) string { return strings.Replace(text, `,"data":`, "", 1) }, want: "null"}, sample{want: "null"})
	cells["empty"] = comes(sample{head: text, want: "null"}, sample{head: inJSON, want: "null"}, sample{head: structured, body: `""`, want: `""`}, sample{head: structured, wire: func(string) string { return "" }, want: dead})
	cells["other media types"] = comes(sample{head: "content-type: text/json", body: "[1]", want: "[1]"}, sample{head: "content-type: application/x-ndjson", body: "1\n2\n", want: `"1\n2\n"`},
		sample{head: "content-type: application/x-unknown", body: "a", want: `"YQ=="`}, sample{head: inJSON, body: "{", want: dead}).as("14.5")
	cells["several headers"] = comes(sample{head: inJSON + "\nsubject: a\nsubject: b", body: "1", want: dead + "stands twice"}, sample{head: inJSON + "\n" + text, body: "1", want: dead + "stands twice"},
		sample{head: inJSON + "\nsubject: a", body: "1", want: "1"})
	cells["line breaks of Windows"] = comes(sample{head: text, body: "a\r\nb\r\n", want: `"a\r\nb\r\n"`}, sample{head: structured, body: "[1,\r\n2]\r\n", want: "[1,2]"})
	return cells
}

// sourceSends sends a message with headers, each of which may occur several times.
type sourceSends func(t *testing.T, headers [][2]string, body string)

// openSource serves a workflow that receives an event, with a source, and sends samples by its broker: events, or the data of an event with its
// attributes, whose names have a prefix in the broker.
func openSource(t *testing.T, source, prefix string, send sourceSends) func(*testing.T, sample) string {
	file := mustWriteFile(t, "events.yaml", "sources: {orders: "+source+"}\n")
	server, last := incomingServer(t, "--events", file), 0
	return func(t *testing.T, s sample) string {
		last++
		server.hears(t, last)
		headers, body := [][2]string{}, s.body
		if strings.Contains(s.head, "cloudevents") {
			body = s.sent(structuredEvent(last, s.body))
		} else {
			headers = [][2]string{{prefix + "specversion", "1.0"}, {prefix + "id", fmt.Sprint(last)}, {prefix + "source", "/s"}, {prefix + "type", "t"}}
		}
		s.headers(func(name, value string) {
			if name != "content-type" {
				name = prefix + name
			}
			headers = append(headers, [2]string{name, value})
		})
		send(t, headers, body)
		run, dead := fmt.Sprintf("/v1/runs/demo/r%d", last), ""
		eventually(t, "the event is taken or kept", func() bool {
			dead = server.refused(t)
			return dead != "" || strings.Contains(server.asks(t, "GET", run, ""), `"status":"completed"`)
		})
		if dead == "" {
			return server.output(t, last)
		}
		server.asks(t, "POST", run+"/cancel", "{}") // it would receive the next event
		server.asks(t, "POST", "/v1/events/dead/drop", `{"ids":["orders"]}`)
		return "!dead letter: " + dead
	}
}

// refused returns the reason why the first kept message was refused.
func (s *serving) refused(t *testing.T) string {
	t.Helper()
	var all []api.DeadMessage
	_, text, _ := strings.Cut(s.asks(t, "GET", "/v1/events/dead", ""), " ")
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if len(all) == 0 {
		return ""
	}
	return all[0].Error
}

func openRedisSource(t *testing.T) func(*testing.T, sample) string {
	url := redistest.Start(t).URL()
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(o)
	t.Cleanup(func() { client.Close() })
	return openSource(t, fmt.Sprintf("{redis: {url: '%s', stream: orders, group: swrun}}", url), "ce_", func(t *testing.T, headers [][2]string, body string) {
		field := "event"
		fields := []any{}
		for _, h := range headers {
			if strings.HasPrefix(h[0], "ce_") {
				field = "data"
			}
			fields = append(fields, h[0], h[1])
		}
		if err := client.XAdd(t.Context(), &redis.XAddArgs{Stream: "orders", Values: append(fields, field, body)}).Err(); err != nil {
			t.Fatal(err)
		}
	})
}

func openNATSSource(t *testing.T) func(*testing.T, sample) string {
	broker, err := brokertest.NATS(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Stop)
	conn, err := nats.Connect("nats://" + broker.Address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	stream, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.CreateStream(t.Context(), jetstream.StreamConfig{Name: "INCOMING", Subjects: []string{"incoming"}}); err != nil {
		t.Fatal(err)
	}
	return openSource(t, fmt.Sprintf("{nats: {url: 'nats://%s', stream: INCOMING, subject: incoming}}", broker.Address), "ce-", func(t *testing.T, headers [][2]string, body string) {
		message := &nats.Msg{Subject: "incoming", Data: []byte(body), Header: nats.Header{}}
		for _, h := range headers {
			message.Header[h[0]] = append(message.Header[h[0]], h[1])
		}
		if _, err := stream.PublishMsg(t.Context(), message); err != nil {
			t.Fatal(err)
		}
	})
}

func openKafkaSource(t *testing.T) func(*testing.T, sample) string {
	broker, err := brokertest.Kafka("incoming")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Stop)
	client, err := kgo.NewClient(kgo.SeedBrokers(broker.Address))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return openSource(t, fmt.Sprintf("{kafka: {brokers: ['%s'], topics: [incoming], group: swrun}}", broker.Address), "ce_", func(t *testing.T, headers [][2]string, body string) {
		record := &kgo.Record{Topic: "incoming", Value: []byte(body)}
		for _, h := range headers {
			record.Headers = append(record.Headers, kgo.RecordHeader{Key: h[0], Value: []byte(h[1])})
		}
		if err := client.ProduceSync(t.Context(), record).FirstErr(); err != nil {
			t.Fatal(err)
		}
	})
}

// mqttCells returns sourceCells without a duplicate type: it is a property that MQTT allows once. A broker itself refuses texts that are not UTF-8.
func mqttCells() map[string]incomingCell {
	cells := sourceCells()
	for variant, drop := range map[string]string{"several headers": "content-type: application/json\ncontent-type", "not UTF-8": "content-type: application/json\nsubject: \xe9"} {
		c := cells[variant]
		c.samples = slices.DeleteFunc(slices.Clone(c.samples), func(s sample) bool { return strings.HasPrefix(s.head, drop) })
		cells[variant] = c
	}
	return cells
}

func openMQTTSource(t *testing.T) func(*testing.T, sample) string {
	broker, err := brokertest.MQTT(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Stop)
	return openSource(t, fmt.Sprintf("{mqtt: {url: 'mqtt://%s', topic: incoming, clientId: swrun-incoming}}", broker.Address), "", func(t *testing.T, headers [][2]string, body string) {
		eventually(t, "the source subscribes", func() bool { return broker.Hears("incoming") }) // the broker keeps nothing from before
		properties := &paho.PublishProperties{}
		for _, h := range headers {
			if h[0] == "content-type" {
				properties.ContentType = h[1]
			} else {
				properties.User.Add(h[0], h[1])
			}
		}
		if err := brokertest.PublishMQTT(broker.Address, &paho.Publish{Topic: "incoming", QoS: 1, Payload: []byte(body), Properties: properties}); err != nil {
			t.Fatal(err)
		}
	})
}
