package dsl

import (
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/internal/delimited"
)

// KindCallAsyncAPI is the kind of CallAsyncAPI.
const KindCallAsyncAPI Kind = "call_asyncapi"

// CallAsyncAPI publishes to or consumes from a channel that an AsyncAPI document describes.
type CallAsyncAPI struct {
	TaskBase
	Document        *ExternalResource
	Channel         string
	Operation       string
	Server          string
	ServerVariables Value
	Protocol        string
	Message         *Message
	Subscription    *Subscription
	Authentication  *Authentication
}

// Kind returns KindCallAsyncAPI.
func (*CallAsyncAPI) Kind() Kind { return KindCallAsyncAPI }

// Traits: a subscription may have a bound, and brokers have errors of their own.
func (t *CallAsyncAPI) Traits() Traits {
	return Traits{Group: "call", Unbounded: t.Subscription == nil || t.Subscription.For == nil, SendsInput: true, AnyErrors: true, Performed: true}
}

func (t *CallAsyncAPI) parts(w *walker) {
	w.resource(t.Document)
	w.authentication(t.Authentication)
	w.value(propertyCall, t.ServerVariables)
	if m := t.Message; m != nil {
		w.value(propertyCall, m.Payload, m.Headers)
	}
	if s := t.Subscription; s != nil {
		w.expression(propertyFilter, s.Filter)
		w.expression(propertyWhile, s.While)
		w.expression(propertyUntil, s.Until)
		w.durations(s.For)
		w.iterator(t, s.ForEach)
	}
}

// Message is a message that a call publishes.
type Message struct {
	Payload Value
	Headers Value
}

// Subscription specifies the messages that a call consumes. Exactly one of Amount, While and Until is set.
type Subscription struct {
	Pointer Pointer
	Filter  Expression
	For     *Duration
	Amount  *int
	While   Expression
	Until   Expression
	ForEach *Iterator
}

// AsyncAPIProtocols returns the protocols that a call may name.
func AsyncAPIProtocols() []string {
	return []string{"amqp", "amqp1", "anypointmq", "googlepubsub", "http", "ibmmq", "jms", "kafka", "mercure", "mqtt", "mqtt5",
		"nats", "pulsar", "redis", "sns", "solace", "sqs", "stomp", "ws"}
}

func parseCallAsyncAPI(p *parser, o *object, base TaskBase) Task {
	o.allow("document", "channel", "operation", "server", "protocol", "message", "subscription", "authentication").require("document")
	o.exactlyOne("channel", "operation")
	c := &CallAsyncAPI{
		TaskBase: base, Document: o.resource("document"), Channel: o.text("channel"), Operation: o.text("operation"),
		Authentication: o.authentication("authentication"),
	}
	if o.value("protocol") != nil {
		c.Protocol = o.enum("protocol", AsyncAPIProtocols()...)
	}
	if n := o.value("server"); n != nil {
		s := p.object(n, o.at.Key("server"), "`server`", "name", "variables")
		s.require("name")
		c.Server, c.ServerVariables = s.text("name"), s.mappingValue("variables")
	}
	o.exactlyOne("message", "subscription")
	if n := o.value("message"); n != nil {
		m := p.object(n, o.at.Key("message"), "`message`", "payload", "headers")
		c.Message = &Message{Payload: m.mappingValue("payload"), Headers: m.mappingValue("headers")}
	}
	if n := o.value("subscription"); n != nil {
		c.Subscription = p.subscription(n, o.at.Key("subscription"))
	}
	return c
}

func (p *parser) subscription(n *yaml.Node, at Pointer) *Subscription {
	o := p.object(n, at, "`subscription`", "filter", "consume", "foreach")
	o.require("consume")
	s := &Subscription{Pointer: at, Filter: o.delimited("filter"), ForEach: o.iterator("foreach")}
	if n := o.value("consume"); n != nil {
		c := p.object(n, at.Key("consume"), "`consume`", "for", "amount", "while", "until")
		c.exactlyOne("amount", "while", "until")
		s.For, s.Amount, s.While, s.Until = c.duration("for"), c.count("amount"), c.delimited("while"), c.delimited("until")
	}
	return s
}

// delimited decodes an expression that needs its delimiters.
func (o *object) delimited(name string) Expression {
	e := o.expression(name)
	if e.Text != "" && !delimited.Is(e.Text) {
		o.report("SW109", name, fmt.Sprintf("`%s` must be an expression in ${ }", name))
	}
	return e
}
