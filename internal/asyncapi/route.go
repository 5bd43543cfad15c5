package asyncapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/swrun/swrun/internal/description"
	"github.com/swrun/swrun/internal/shorten"
)

// Route is the destination or the source of the messages of a call.
type Route struct {
	Server      string // its name
	Protocol    string // in the form of the DSL, which does not distinguish TLS
	Secure      bool   // TLS
	URL         string // of the server, with or without a scheme, and with variables
	Variables   map[string]Variable
	Channel     string // its address, with parameters
	Parameters  map[string]Variable
	ContentType string   // of messages; may be empty
	Correlation []string // places of the correlation id in messages
	Mechanism   string   // of SASL; empty if the document does not name one
	Bindings    Bindings
}

// Bindings are the properties of a document for a single protocol.
type Bindings struct {
	Method     string `json:"method,omitempty"`     // of requests of HTTP
	Topic      string `json:"topic,omitempty"`      // of Kafka, if it is not the address
	QoS        *int   `json:"qos,omitempty"`        // of MQTT; nil for 1
	Retain     bool   `json:"retain,omitempty"`     // by brokers of MQTT
	Queue      string `json:"queue,omitempty"`      // of AMQP
	Exchange   string `json:"exchange,omitempty"`   // of AMQP
	Routed     bool   `json:"routed,omitempty"`     // the address is a routing key of AMQP, and not a queue
	Persistent bool   `json:"persistent,omitempty"` // messages of AMQP are
}

// Variable is part of an address that is filled in.
type Variable struct {
	Default  string
	Known    bool // there is a default
	Enum     []string
	Location string // in a message
}

// Route returns the route of a call; speaks reports whether a protocol is supported. An error may be a *MistakeError or an *UnsupportedError.
func (d *Document) Route(c Call, speaks func(protocol string) bool) (*Route, error) {
	found, err := d.find(c)
	if err != nil {
		return nil, err
	}
	r := &Route{Channel: found.address}
	if err := d.describe(found, r); err != nil {
		return nil, err
	}
	if r.Parameters, err = d.variables(found.holder["parameters"]); err != nil {
		return nil, fmt.Errorf("the parameters of the channel %s: %w", shorten.Quoted(found.name), err)
	}
	if err := d.choose(found, c, r, speaks); err != nil {
		return nil, err
	}
	if err := d.bind(found, r); err != nil {
		return nil, err
	}
	if r.Channel == "" && r.Bindings.Topic == "" && r.Bindings.Queue == "" && r.Bindings.Exchange == "" {
		return nil, fmt.Errorf("the channel %s has no address", shorten.Quoted(found.name))
	}
	return r, nil
}

// UnsupportedError reports that no server of a channel uses a supported protocol.
type UnsupportedError struct{ Protocols []string }

// Error lists the protocols.
func (e *UnsupportedError) Error() string {
	return "the protocol " + strings.Join(e.Protocols, ", ") + " cannot be spoken"
}

// choose fills in the server: the requested server, or the first matching one by name.
func (d *Document) choose(found *channel, c Call, r *Route, speaks func(string) bool) error {
	names, err := d.serversOf(found)
	if err != nil {
		return err
	}
	if c.Server != "" {
		if !slices.Contains(d.names("servers"), c.Server) {
			return unknown("server", "server", c.Server, d.names("servers"))
		}
		if !slices.Contains(names, c.Server) {
			return &MistakeError{"server", fmt.Sprintf("the channel %s is not on the server %s", shorten.Quoted(found.name), shorten.Quoted(c.Server)), "its servers", names}
		}
		names = []string{c.Server}
	}
	var offered, unspoken []string
	for _, name := range names {
		one := *r
		if err := d.server(name, c.Protocol, &one); err != nil {
			return fmt.Errorf("the server %s: %w", shorten.Quoted(name), err)
		}
		switch {
		case c.Protocol != "" && c.Protocol != one.Protocol:
			offered = append(offered, one.Protocol)
		case !speaks(one.Protocol):
			unspoken = append(unspoken, one.Protocol)
		default:
			*r = one
			return nil
		}
	}
	switch {
	case len(unspoken) > 0:
		return &UnsupportedError{slices.Compact(slices.Sorted(slices.Values(unspoken)))}
	case len(offered) > 0:
		return &MistakeError{"protocol", fmt.Sprintf("no server of the channel %s speaks %s", shorten.Quoted(found.name), c.Protocol), "they speak", slices.Compact(slices.Sorted(slices.Values(offered)))}
	}
	return fmt.Errorf("there is no server for the channel %s", shorten.Quoted(found.name))
}

// serversOf returns the names of the servers of a channel: the servers that it lists, or all.
func (d *Document) serversOf(found *channel) ([]string, error) {
	listed := description.List(found.holder["servers"])
	if len(listed) == 0 {
		return d.names("servers"), nil
	}
	var names []string
	for _, one := range listed {
		name := description.Text(one)
		if reference := description.Text(description.Object(one)["$ref"]); reference != "" {
			name = strings.TrimPrefix(reference, "#/servers/")
		}
		if !slices.Contains(d.names("servers"), name) {
			return nil, fmt.Errorf("the channel %s is on a server %s, which the document does not have", shorten.Quoted(found.name), shorten.Quoted(name))
		}
		names = append(names, name)
	}
	return names, nil
}

// server fills in the properties of a server. wanted is the requested protocol.
func (d *Document) server(name, wanted string, r *Route) error {
	server, err := description.Resolve(d.root, description.Object(d.root["servers"])[name])
	if err != nil {
		return err
	}
	r.Server = name
	r.URL = description.Text(server["url"])
	if !d.two {
		r.URL = description.Text(server["host"]) + description.Text(server["pathname"])
	}
	if r.URL == "" {
		return fmt.Errorf("the document does not say where it is")
	}
	r.Protocol, r.Secure = protocol(description.Text(server["protocol"]), fmt.Sprint(server["protocolVersion"]))
	if server["protocolVersion"] == nil && (wanted == "mqtt5" && r.Protocol == "mqtt" || wanted == "amqp1" && r.Protocol == "amqp") {
		r.Protocol = wanted
	}
	if r.Variables, err = d.variables(server["variables"]); err != nil {
		return err
	}
	return d.secure(server, r)
}

// protocol returns a protocol in the form of the DSL, and whether it uses TLS.
func protocol(name, version string) (base string, secure bool) {
	base = strings.ToLower(name)
	for written, meant := range map[string]string{
		"https": "http", "wss": "ws", "mqtts": "mqtt", "secure-mqtt": "mqtt", "kafka-secure": "kafka", "amqps": "amqp", "rediss": "redis", "stomps": "stomp",
		"ibmmq-secure": "ibmmq",
	} {
		if base == written {
			base, secure = meant, true
			break
		}
	}
	switch {
	case base == "mqtt" && strings.HasPrefix(version, "5"):
		base = "mqtt5"
	case base == "amqp" && strings.HasPrefix(version, "1"):
		base = "amqp1"
	}
	return base, secure
}

// variables reads the variables of an address.
func (d *Document) variables(v any) (map[string]Variable, error) {
	all := map[string]Variable{}
	for name, raw := range description.Object(v) {
		one, err := description.Resolve(d.root, raw)
		if err != nil {
			return nil, err
		}
		schema, err := description.Resolve(d.root, one["schema"]) // of parameters of version 2
		if err != nil {
			return nil, err
		}
		read := Variable{Location: description.Text(one["location"])}
		for _, holder := range []map[string]any{one, schema} {
			if given := holder["default"]; given != nil {
				read.Default, read.Known = fmt.Sprint(given), true
			}
			for _, allowed := range description.List(holder["enum"]) {
				read.Enum = append(read.Enum, fmt.Sprint(allowed))
			}
		}
		all[name] = read
	}
	return all, nil
}

// secure fills in the mechanism of SASL that a server names.
func (d *Document) secure(server map[string]any, r *Route) error {
	for _, one := range description.List(server["security"]) {
		schemes := []any{one}
		if d.two {
			schemes = nil
			for _, name := range slices.Sorted(maps.Keys(description.Object(one))) {
				schemes = append(schemes, description.Object(description.Object(d.root["components"])["securitySchemes"])[name])
			}
		}
		for _, raw := range schemes {
			scheme, err := description.Resolve(d.root, raw)
			if err != nil {
				return err
			}
			if mechanism := map[string]string{"plain": "plain", "scramSha256": "scram-sha-256", "scramSha512": "scram-sha-512"}[description.Text(scheme["type"])]; mechanism != "" {
				r.Mechanism = mechanism
				return nil
			}
		}
	}
	return nil
}

// bind reads the bindings of the protocol.
func (d *Document) bind(found *channel, r *Route) error {
	kind := r.Protocol
	if kind == "mqtt5" { // its bindings are named mqtt, unless they have a separate name
		kind = "mqtt"
	}
	of := func(holder map[string]any) map[string]any {
		bindings, _ := description.Resolve(d.root, holder["bindings"]) // they are optional
		if own := description.Object(bindings[r.Protocol]); own != nil {
			return own
		}
		return description.Object(bindings[kind])
	}
	channel, operation := of(found.holder), of(found.operation)
	b := &r.Bindings
	b.Method = strings.ToUpper(description.Text(operation["method"]))
	switch qos := operation["qos"].(type) {
	case int:
		b.QoS = &qos
	case float64:
		whole := int(qos)
		b.QoS = &whole
	}
	if b.QoS != nil && (*b.QoS < 0 || *b.QoS > 2) {
		return fmt.Errorf("the qos of the channel %s must be 0, 1 or 2, got %d", shorten.Quoted(found.name), *b.QoS)
	}
	b.Retain, _ = operation["retain"].(bool)
	if r.Protocol == "kafka" {
		b.Topic = description.Text(channel["topic"])
	}
	if r.Protocol == "amqp" {
		b.Queue = description.Text(description.Object(channel["queue"])["name"])
		b.Exchange = description.Text(description.Object(channel["exchange"])["name"])
		b.Routed = description.Text(channel["is"]) == "routingKey" || b.Exchange != ""
		mode := fmt.Sprint(operation["deliveryMode"])
		b.Persistent = mode != "1"
	}
	return nil
}
