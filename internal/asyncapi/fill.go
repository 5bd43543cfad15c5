package asyncapi

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/swrun/swrun/internal/description"
	"github.com/swrun/swrun/internal/lazyregexp"
	"github.com/swrun/swrun/internal/shorten"
)

// Target is a route whose variables are filled in.
type Target struct {
	Protocol    string   `json:"protocol"`
	Secure      bool     `json:"secure,omitempty"`
	Addresses   []string `json:"addresses"` // host:port; each is a server for the first connection
	Path        string   `json:"path,omitempty"`
	Channel     string   `json:"channel,omitempty"`
	ContentType string   `json:"contentType,omitempty"`
	Correlation []string `json:"correlation,omitempty"`
	Mechanism   string   `json:"mechanism,omitempty"`
	Bindings    Bindings `json:"bindings,omitzero"`
}

// Content is the part of a message from which addresses and correlation ids are taken.
type Content struct {
	Headers map[string]any
	Payload any
}

var variable = lazyregexp.New(`\{([^{}]*)\}`)

// CheckVariables returns a *MistakeError for a name that is no variable of the server.
func (r *Route) CheckVariables(given []string) error {
	for _, name := range given {
		if _, known := r.Variables[name]; !known {
			all := slices.Sorted(maps.Keys(r.Variables))
			wrong := unknown("server/variables/"+name, "variable", name, all)
			wrong.Message = strings.Replace(wrong.Message, "the AsyncAPI document", "the server "+shorten.Quoted(r.Server), 1)
			return wrong
		}
	}
	return nil
}

// Fill fills in the variables of the server, and the parameters of the channel, whose values may be in a message; message is nil for a subscription.
func (r *Route) Fill(variables map[string]string, message *Content) (*Target, error) {
	t := &Target{
		Protocol: r.Protocol, Secure: r.Secure, ContentType: r.ContentType, Correlation: r.Correlation, Mechanism: r.Mechanism, Bindings: r.Bindings,
	}
	if err := r.CheckVariables(slices.Sorted(maps.Keys(variables))); err != nil {
		return nil, err
	}
	at, err := fill(r.URL, r.Variables, "the variable", func(name string, _ Variable) (string, bool) {
		value, given := variables[name]
		return value, given
	})
	if err != nil {
		return nil, err
	}
	if err := t.locate(at); err != nil {
		return nil, err
	}
	t.Channel, err = fill(r.Channel, r.Parameters, "the parameter", func(_ string, v Variable) (string, bool) {
		if message == nil || v.Location == "" {
			return "", false
		}
		found, ok := message.At(v.Location)
		return fmt.Sprint(found), ok
	})
	return t, err
}

// fill replaces each {name} by its given value, or by its default.
func fill(template string, known map[string]Variable, what string, given func(string, Variable) (string, bool)) (string, error) {
	var failed error
	filled := variable().ReplaceAllStringFunc(template, func(found string) string {
		name := found[1 : len(found)-1]
		v := known[name]
		value, ok := given(name, v)
		if !ok {
			value, ok = v.Default, v.Known
		}
		switch {
		case failed != nil:
		case !ok:
			failed = fmt.Errorf("%s %s of %s has no value", what, shorten.Quoted(name), shorten.Quoted(template))
		case len(v.Enum) > 0 && !slices.Contains(v.Enum, value):
			failed = fmt.Errorf("%s %s must be one of %s, got %s", what, shorten.Quoted(name), strings.Join(v.Enum, ", "), shorten.Quoted(value))
		case value == "" || value == "." || value == ".." || strings.ContainsAny(value, "/\\?#@+*>{} ,\r\n\t\x00"):
			failed = fmt.Errorf("%s %s cannot be %s: that would be another address", what, shorten.Quoted(name), shorten.Quoted(value))
		}
		return value
	})
	return filled, failed
}

// ports returns the default port of a protocol, without TLS or with it.
func ports(protocol string, secure bool) string {
	all := map[string][2]string{
		"http": {"80", "443"}, "ws": {"80", "443"}, "kafka": {"9092", "9093"}, "nats": {"4222", "4222"}, "mqtt": {"1883", "8883"}, "mqtt5": {"1883", "8883"},
		"amqp": {"5672", "5671"}, "amqp1": {"5672", "5671"}, "redis": {"6379", "6379"},
	}[protocol]
	if secure {
		return all[1]
	}
	return all[0]
}

// locate reads the address of a server: host:port/path, with or without a scheme, or several of them separated by commas.
func (t *Target) locate(at string) error {
	if scheme, rest, ok := strings.Cut(at, "://"); ok {
		at, t.Secure = rest, t.Secure || namesTLS(scheme)
	}
	hosts, path, _ := strings.Cut(at, "/")
	if path != "" {
		t.Path = "/" + path
	}
	for _, host := range strings.Split(hosts, ",") {
		u, err := url.Parse("//" + strings.TrimSpace(host))
		if err != nil || u.Hostname() == "" || u.User != nil || u.RawQuery != "" {
			return fmt.Errorf("a server must be at host:port, got %s", shorten.Quoted(withoutUser(host)))
		}
		port := u.Port()
		if port == "" {
			port = ports(t.Protocol, t.Secure)
		}
		t.Addresses = append(t.Addresses, net.JoinHostPort(u.Hostname(), port))
	}
	return nil
}

// namesTLS reports whether the scheme of a server means TLS.
func namesTLS(scheme string) bool {
	_, secure := protocol(scheme, "")
	return secure || scheme == "tls" || scheme == "ssl"
}

// Plain reports whether the server is reached without TLS for all values of its variables.
func (r *Route) Plain() bool {
	scheme, _, named := strings.Cut(r.URL, "://")
	return !r.Secure && !(named && (namesTLS(scheme) || strings.Contains(scheme, "{")))
}

// withoutUser removes a user and a password from a host.
func withoutUser(host string) string { return host[strings.LastIndex(host, "@")+1:] }

// At returns the value of a message at a location such as $message.header#/id.
func (c *Content) At(location string) (any, bool) {
	where, pointer, _ := strings.Cut(location, "#")
	var at any
	switch where {
	case "$message.header":
		at = c.Headers
	case "$message.payload":
		at = c.Payload
	default:
		return nil, false
	}
	if pointer != "" && pointer != "/" {
		for _, token := range description.Tokens("#" + pointer) {
			object, ok := at.(map[string]any)
			if !ok {
				return nil, false
			}
			if at, ok = object[token]; !ok {
				return nil, false
			}
		}
	}
	switch at.(type) {
	case nil, []any, map[string]any:
		return nil, false
	}
	return at, true
}

// CorrelationID returns the correlation id of a message; empty if the document does not define its place, or if the message contains none.
func (t *Target) CorrelationID(c *Content) string {
	for _, location := range t.Correlation {
		if found, ok := c.At(location); ok {
			return fmt.Sprint(found)
		}
	}
	return ""
}

// String returns the description of the target in errors: the protocol, the server and the channel.
func (t *Target) String() string {
	name := t.Channel
	if name == "" {
		name = t.Bindings.Topic + t.Bindings.Queue
	}
	return fmt.Sprintf("%s on %s (%s)", shorten.Quoted(name), strings.Join(t.Addresses, ","), t.Protocol)
}

// URL returns the URL of the channel, for protocols with URLs.
func (t *Target) URL(scheme string) string {
	if t.Secure {
		scheme += "s"
	}
	u := &url.URL{Scheme: scheme, Host: t.Addresses[0]}
	return u.JoinPath(t.Path, t.Channel).String()
}
