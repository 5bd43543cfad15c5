package eventfile

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/internal/shorten"
)

// sourceName is what a source may be called: it is a label of metrics.
var sourceName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

func (r *reader) sources(n *yaml.Node, file *File) {
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		r.fail(n, "for example sources: {orders: {redis: {url: redis://localhost:6379, stream: orders}}}", "`sources` is an object of sources by their names, got %s", source.Describe(n))
		return
	}
	r.noneTwice(n)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if !sourceName.MatchString(key.Value) {
			r.fail(key, "", "a name is of lower-case letters, digits and inner hyphens, at most 63, got %s", shorten.Quoted(key.Value))
		}
		s := Source{Name: key.Value, Group: "swrun"}
		r.source(n.Content[i+1], &s)
		if s.Kind == "" {
			r.fail(n.Content[i+1], "it needs one of redis, nats, kafka, mqtt", "the source %s does not say what it is", s.Name)
		}
		if s.ClientID == "" {
			s.ClientID = "swrun-" + s.Name
		}
		file.Sources = append(file.Sources, s)
	}
}

// source reads one source: its kind is the member that it has.
func (r *reader) source(n *yaml.Node, s *Source) {
	members := map[string]func(*yaml.Node){"namespaces": r.texts(&s.Namespaces)}
	for kind, own := range r.kinds(s) {
		members[kind] = func(n *yaml.Node) {
			if s.Kind != "" {
				r.fail(n, "make two sources of it", "a source is of one kind, and this is %s already", s.Kind)
			}
			s.Kind = kind
			r.object(n, "`"+kind+"` of the source "+s.Name, own.members, own.needed...)
			r.account(n, s.Username, s.PasswordSecret, s.SASL)
		}
	}
	r.object(n, "the source "+s.Name, members)
}

// account refuses what does not say as whom one connects.
func (r *reader) account(n *yaml.Node, username, secret, sasl string) {
	if username != "" && secret == "" {
		r.fail(n, "", "`username` needs `passwordSecret`, the name of a secret")
	}
	if sasl != "" && username == "" {
		r.fail(n, "", "`sasl` needs `username` and `passwordSecret`, the name of a secret")
	}
}

// kind is what a kind of source or sink has.
type kind struct {
	members map[string]func(*yaml.Node)
	needed  []string
}

func (r *reader) kinds(s *Source) map[string]kind {
	with := func(more map[string]func(*yaml.Node)) map[string]func(*yaml.Node) {
		maps.Copy(more, map[string]func(*yaml.Node){"username": r.text(&s.Username), "passwordSecret": r.text(&s.PasswordSecret)})
		return more
	}
	return map[string]kind{
		"redis": {with(map[string]func(*yaml.Node){"url": r.url(&s.URL, "redis", "rediss"), "stream": r.text(&s.Stream), "group": r.text(&s.Group)}), []string{"url", "stream"}},
		"nats": {with(map[string]func(*yaml.Node){
			"url": r.url(&s.URL, "nats", "tls"), "stream": r.text(&s.Stream), "consumer": r.text(&s.Group), "subject": r.text(&s.Subject),
		}), []string{"url", "stream"}},
		"kafka": {with(map[string]func(*yaml.Node){
			"brokers": r.brokers(&s.Brokers), "topics": r.texts(&s.Topics), "group": r.text(&s.Group), "tls": r.bool(&s.TLS),
			"sasl": r.oneOf(&s.SASL, "plain", "scram-sha-256", "scram-sha-512"),
		}), []string{"brokers", "topics"}},
		"mqtt": {with(map[string]func(*yaml.Node){"url": r.url(&s.URL, "mqtt", "mqtts"), "topic": r.text(&s.Topic), "clientId": r.text(&s.ClientID)}), []string{"url", "topic"}},
	}
}

func (r *reader) brokers(to *[]string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		r.texts(to)(n)
		if slices.ContainsFunc(*to, func(b string) bool { return !strings.Contains(b, ":") || strings.ContainsAny(b, "/@ ") }) {
			r.fail(n, "for example [localhost:9092]", "a broker is HOST:PORT")
		}
	}
}
