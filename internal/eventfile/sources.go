package eventfile

import (
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

func (r *reader) sources(n *yaml.Node, file *File) {
	r.named(n, "source", "{orders: {redis: {url: redis://localhost:6379, stream: orders}}}", func(name string, n *yaml.Node) {
		s := Source{Name: name, Group: "swrun", ClientID: "swrun-" + name}
		members := map[string]func(*yaml.Node){"namespaces": r.texts(&s.Namespaces)}
		r.entry(n, entry{"source " + name, &s.Kind, members, r.kinds(&s), func(n *yaml.Node) {
			r.account(n, s.Username, s.PasswordSecret, s.SASL)
			if s.DeadLetters != "" && slices.Contains(append(s.Topics, s.Topic, s.Subject, map[bool]string{true: s.Stream}[s.Kind == "redis"]), s.DeadLetters) {
				r.fail(n, "for example "+s.DeadLetters+"-dead", "the source would read its own `deadLetters`")
			}
		}})
		file.Sources = append(file.Sources, s)
	})
}

// account refuses an incomplete account.
func (r *reader) account(n *yaml.Node, username, secret, sasl string) {
	if username != "" && secret == "" {
		r.fail(n, "", "`username` needs `passwordSecret`, the name of a secret")
	}
	if sasl != "" && username == "" {
		r.fail(n, "", "`sasl` needs `username` and `passwordSecret`, the name of a secret")
	}
}

func (r *reader) kinds(s *Source) map[string]kind {
	with := func(more map[string]func(*yaml.Node)) map[string]func(*yaml.Node) {
		maps.Copy(more, map[string]func(*yaml.Node){"deadLetters": r.text(&s.DeadLetters), "username": r.text(&s.Username), "passwordSecret": r.text(&s.PasswordSecret)})
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
