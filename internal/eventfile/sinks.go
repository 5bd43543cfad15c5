package eventfile

import (
	"maps"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/internal/cloudevent"
	"github.com/swrun/swrun/internal/duration"
	"github.com/swrun/swrun/internal/shorten"
)

// Sink is a target of lifecycle events, and of events that workflows emit.
type Sink struct {
	Name       string
	Kind       string   // http, redis, nats, kafka or stdout
	Events     string   // the accepted events: SinkLifecycle, SinkEmitted or SinkAll
	Types      []string // prefixes of the types of its events; none for all except for the changes of states
	Namespaces []string // namespaces of the runs whose events it gets; none for all
	// GiveUpAfter is the time after which an event that the sink does not accept becomes a dead letter.
	GiveUpAfter time.Duration

	URL         string   // of http, redis and nats
	TokenSecret string   // of http: the name of a secret, the bearer token
	Stream      string   // of redis
	MaxLength   int64    // of redis: approximate number of entries that the stream keeps; 0 for all
	Subject     string   // of nats
	Brokers     []string // of kafka: HOST:PORT
	Topic       string   // of kafka

	Username       string
	PasswordSecret string // the name of a secret
	TLS            bool   // of kafka
	SASL           string // of kafka: plain, scram-sha-256 or scram-sha-512
}

// The events that a sink accepts.
const (
	SinkLifecycle = "lifecycle"
	SinkEmitted   = "emitted" // by workflows
	SinkAll       = "all"
)

// defaultGiveUp is long enough for repairing a sink that does not accept events.
const defaultGiveUp = 24 * time.Hour

func (r *reader) sinks(n *yaml.Node, file *File) {
	r.named(n, "sink", "{audit: {http: {url: https://HOST/events}}}", func(name string, n *yaml.Node) {
		s := Sink{Name: name, Events: SinkAll, GiveUpAfter: defaultGiveUp}
		members := map[string]func(*yaml.Node){
			"namespaces": r.texts(&s.Namespaces), "types": r.texts(&s.Types), "giveUpAfter": r.duration(&s.GiveUpAfter),
			"events": r.oneOf(&s.Events, SinkLifecycle, SinkEmitted, SinkAll),
		}
		r.entry(n, entry{"sink " + name, &s.Kind, members, r.sinkKinds(&s), func(n *yaml.Node) { r.account(n, s.Username, s.PasswordSecret, s.SASL) }})
		r.checkTypes(n, &s)
		file.Sinks = append(file.Sinks, s)
	})
}

func (r *reader) sinkKinds(s *Sink) map[string]kind {
	with := func(more map[string]func(*yaml.Node)) map[string]func(*yaml.Node) {
		maps.Copy(more, map[string]func(*yaml.Node){"username": r.text(&s.Username), "passwordSecret": r.text(&s.PasswordSecret)})
		return more
	}
	return map[string]kind{
		"http": {map[string]func(*yaml.Node){"url": r.url(&s.URL, "https", "http"), "tokenSecret": r.text(&s.TokenSecret)}, []string{"url"}},
		"redis": {with(map[string]func(*yaml.Node){
			"url": r.url(&s.URL, "redis", "rediss"), "stream": r.text(&s.Stream), "maxLength": r.count(&s.MaxLength),
		}), []string{"url", "stream"}},
		"nats": {with(map[string]func(*yaml.Node){"url": r.url(&s.URL, "nats", "tls"), "subject": r.text(&s.Subject)}), []string{"url", "subject"}},
		"kafka": {with(map[string]func(*yaml.Node){
			"brokers": r.brokers(&s.Brokers), "topic": r.text(&s.Topic), "tls": r.bool(&s.TLS), "sasl": r.oneOf(&s.SASL, "plain", "scram-sha-256", "scram-sha-512"),
		}), []string{"brokers", "topic"}},
		"stdout": {map[string]func(*yaml.Node){}, nil},
	}
}

// checkTypes refuses prefixes that no type of a sink of lifecycle events has.
func (r *reader) checkTypes(n *yaml.Node, s *Sink) {
	if s.Events != SinkLifecycle {
		return
	}
	_, types := source.Child(n, "types")
	for _, prefix := range s.Types {
		if !strings.HasPrefix(cloudevent.LifecyclePrefix, prefix) && !strings.HasPrefix(prefix, cloudevent.LifecyclePrefix) {
			r.fail(types, "they begin with "+cloudevent.LifecyclePrefix, "no lifecycle event has a type that begins with %s", shorten.Quoted(prefix))
		}
	}
}

// duration reads a length of time above zero.
func (r *reader) duration(to *time.Duration) func(*yaml.Node) {
	return func(n *yaml.Node) {
		var text string
		r.text(&text)(n)
		d, err := duration.Parse(text)
		if err != nil || d <= 0 {
			r.fail(n, "for example 1h or PT1H", "%s is not a length of time", shorten.Quoted(text))
		}
		*to = d
	}
}

// count reads a whole number of at least 1.
func (r *reader) count(to *int64) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if n.Decode(to) != nil || *to < 1 {
			r.fail(n, "", "it must be a whole number, at least 1, got %s", source.Describe(n))
		}
	}
}
