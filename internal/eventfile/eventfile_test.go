package eventfile_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/internal/eventfile"
)

// TestParse checks the possible members of each kind.
func TestParse(t *testing.T) {
	got, err := eventfile.Parse("events.yaml", []byte(`sources:
  a: {redis: {url: rediss://cache:6380/1, stream: s, group: g, username: u, passwordSecret: p}, namespaces: [demo, shop]}
  b: {nats: {url: nats://localhost, stream: S, consumer: c, subject: shop.>}}
  c: {kafka: {brokers: ["k1:9092", "k2:9092"], topics: [t], tls: true, sasl: scram-sha-512, username: u, passwordSecret: p}}
  d: {mqtt: {url: mqtt://localhost, topic: "x/#"}}
sinks:
  e: {stdout: {}}
  f: {http: {url: https://h/, tokenSecret: t}, events: emitted, types: [order.], namespaces: [shop], giveUpAfter: PT1H}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := &eventfile.File{Sources: []eventfile.Source{
		{Name: "a", Kind: "redis", URL: "rediss://cache:6380/1", Stream: "s", Group: "g", Username: "u", PasswordSecret: "p", Namespaces: []string{"demo", "shop"}, ClientID: "swrun-a"},
		{Name: "b", Kind: "nats", URL: "nats://localhost", Stream: "S", Group: "c", Subject: "shop.>", ClientID: "swrun-b"},
		{Name: "c", Kind: "kafka", Brokers: []string{"k1:9092", "k2:9092"}, Topics: []string{"t"}, TLS: true, SASL: "scram-sha-512", Username: "u", PasswordSecret: "p", Group: "swrun", ClientID: "swrun-c"},
		{Name: "d", Kind: "mqtt", URL: "mqtt://localhost", Topic: "x/#", Group: "swrun", ClientID: "swrun-d"},
	}, Sinks: []eventfile.Sink{
		{Name: "e", Kind: "stdout", Events: eventfile.SinkAll, GiveUpAfter: 24 * time.Hour},
		{Name: "f", Kind: "http", Events: eventfile.SinkEmitted, URL: "https://h/", TokenSecret: "t", Types: []string{"order."}, Namespaces: []string{"shop"}, GiveUpAfter: time.Hour},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestParseMistakes: each mistake is reported with its place, and passwords are not repeated.
func TestParseMistakes(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "e.yaml:1:1: the document is empty"},
		{"null", "e.yaml:1:1: the file is an object, got nothing"},
		{"[]", "e.yaml:1:1: the file is an object"},
		{"{}", "e.yaml:1:1: the file needs `sources` or `sinks`"},
		{"source: {}", "e.yaml:1:1: the file has no member \"source\""},
		{"sources:", "e.yaml:1:9: `sources` is an object of sources by their names, got nothing"},
		{"sources: {}", "`sources` is an object of sources by their names"},
		{"sources: {A: {redis: {url: redis://h, stream: s}}}", "e.yaml:1:11: a name is of lower-case letters"},
		{"sources: {a: {}}", "the source a does not say what it is"},
		{"sources: {a: }", "the source a is an object, got nothing"},
		{"sources: {a: {amqp: {}}}", "the source a has no member \"amqp\""},
		{"sources: {a: {redis: null}}", "`redis` of the source a is an object, got nothing"},
		{"sources: {a: {redis: {url: redis://h}}}", "`redis` of the source a needs `stream`"},
		{"sources: {a: {redis: {url: redis://h, stream: ''}}}", "it must not be empty"},
		{"sources: {a: {redis: {url: redis://h, stream: 5}}}", "it must be text, got"},
		{"sources: {a: {redis: {url: redis://h, stream: s, topic: t}}}", "`redis` of the source a has no member \"topic\""},
		{"sources: {a: {redis: {url: http://h, stream: s}}}", "is not a URL for this kind"},
		{"sources: {a: {redis: {url: 'redis://:hunter2@h', stream: s}}}", "must not hold a user or a password"},
		{"sources: {a: {redis: {url: 'redis://:hunter2@h:x%zz', stream: s}}}", "it is not a URL"},
		{"sources: {a: {redis: {url: redis://h, stream: s, username: u}}}", "`username` needs `passwordSecret`"},
		{"sources: {a: {redis: {url: redis://h, stream: s}, mqtt: {url: mqtt://h, topic: t}}}", "the source a is of one kind"},
		{"sources: {a: {redis: {url: redis://h, stream: s}, namespaces: []}}", "it must be a list of texts with at least one"},
		{"sources: {a: {kafka: {brokers: [h], topics: [t]}}}", "a broker is HOST:PORT"},
		{"sources: {a: {kafka: {brokers: ['h:1'], topics: [t, t]}}}", `"t" stands here twice`},
		{"sources: {a: {kafka: {brokers: ['h:1'], topics: [t], tls: 'yes'}}}", "it must be true or false"},
		{"sources: {a: {kafka: {brokers: ['h:1'], topics: [t], sasl: gssapi}}}", `"gssapi" is not known here`},
		{"sources: {a: {kafka: {brokers: ['h:1'], topics: [t], sasl: plain}}}", "`sasl` needs `username`"},
		{"sources: {a: {mqtt: {url: mqtt://h, topic: t}}, a: {mqtt: {url: mqtt://h, topic: t}}}", `e.yaml:1:49: "a" stands here twice`},
		{"sources: {a: {mqtt: {url: 'mqtt://', topic: t}}}", "is not a URL for this kind"},
		{"sources: [", "e.yaml:1:"},
		{"sinks: {}", "`sinks` is an object of sinks by their names"},
		{"sinks: {A: {stdout: {}}}", "a name is of lower-case letters"},
		{"sinks: {a: {}}", "the sink a does not say what it is"},
		{"sinks: {a: {stdout: null}}", "`stdout` of the sink a is an object, got nothing"},
		{"sinks: {a: {http: {}}}", "`http` of the sink a needs `url`"},
		{"sinks: {a: {http: {url: 'https://u:hunter2@h/'}}}", "must not hold a user or a password"},
		{"sinks: {a: {http: {url: 'ftp://h'}}}", "is not a URL for this kind"},
		{"sinks: {a: {http: {url: 'http://h'}, stdout: {}}}", "the sink a is of one kind"},
		{"sinks: {a: {stdout: {}, giveUpAfter: 5}}", "it must be text, got"},
		{"sinks: {a: {stdout: {}, giveUpAfter: 0s}}", "\"0s\" is not a length of time"},
		{"sinks: {a: {stdout: {}, events: lifecycle, types: [order.]}}", "no lifecycle event has a type that begins with \"order.\""},
		{"sinks: {a: {stdout: {}, events: emited}}", "\"emited\" is not known here"},
		{"sinks: {a: {stdout: {}, events: [emitted]}}", "it must be text, got"},
		{"sinks: {a: {stdout: {}, types: ['']}}", "it must not be empty"},
		{"sinks: {a: {redis: {url: 'redis://h', stream: s, maxLength: 0}}}", "it must be a whole number, at least 1"},
	} {
		_, err := eventfile.Parse("e.yaml", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %s", c.text, err, c.want)
		}
	}
}

// TestMisplacedMembers: the error of a member one level too high or too deep names its proper place.
func TestMisplacedMembers(t *testing.T) {
	for _, c := range []struct{ text, want, help string }{
		{"sources: {a: {redis: {url: redis://h, stream: s}, deadLetters: d}}", `e.yaml:1:51: the source a has no member "deadLetters"`, "write it below `redis`: `redis: { deadLetters: ... }`"},
		{"sources: {a: {deadLetters: d, mqtt: {url: mqtt://h, topic: s}}}", `e.yaml:1:15: the source a has no member "deadLetters"`, "write it below `mqtt`: `mqtt: { deadLetters: ... }`"},
		{"sources: {a: {redis: {url: redis://h, stream: s, namespaces: [n]}}}", "e.yaml:1:50: `redis` of the source a has no member \"namespaces\"", "write it beside `redis`"},
		{"sinks: {a: {http: {url: 'https://h/', events: emitted}}}", "e.yaml:1:39: `http` of the sink a has no member \"events\"", "write it beside `http`"},
		{"sinks: {a: {http: {url: 'https://h/'}, tokenSecret: s}}", `e.yaml:1:40: the sink a has no member "tokenSecret"`, "write it below `http`: `http: { tokenSecret: ... }`"},
	} {
		var wrong *eventfile.Error
		if _, err := eventfile.Parse("e.yaml", []byte(c.text)); !errors.As(err, &wrong) || wrong.Error() != c.want || wrong.Help != c.help {
			t.Errorf("%s: %v, %+v", c.text, err, wrong)
		}
	}
}
