package tasks

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/asyncapi"
	"github.com/swrun/swrun/internal/brokers"
	"github.com/swrun/swrun/internal/content"
	"github.com/swrun/swrun/interpreter"
)

func callAsyncAPI(c Config) interpreter.Kind {
	return told(interpreter.Kind{Kind: dsl.KindCallAsyncAPI, Compile: compileCallAsyncAPI, Perform: newAsyncAPIPerformer(c).perform})
}

func compileCallAsyncAPI(b *interpreter.Builder, t dsl.Task) interpreter.Body {
	call := t.(*dsl.CallAsyncAPI)
	document := call.Document.Endpoint
	o := &asyncAPIOperation{
		call:      asyncapi.Call{Channel: call.Channel, Operation: call.Operation, Publishes: call.Message != nil, Server: call.Server, Protocol: call.Protocol},
		variables: b.Value(call.ServerVariables), authentication: compileAuthentication(b, call.Authentication),
		forDocument: compileAuthentication(b, document.Authentication),
	}
	var body interpreter.Body
	if m := call.Message; m != nil {
		body = &publishBody{operation: o, payload: b.Value(m.Payload), headers: b.Value(m.Headers)}
	} else {
		body = compileSubscription(b, o, call.Subscription)
	}
	if call.Protocol != "" && !speaks(o.call)(call.Protocol) {
		b.Report("SW801", call.Pointer.Key("with").Key("protocol"), cannotSpeak(o.call, call.Protocol))
		return body
	}
	if document.Authentication == nil { // otherwise only the performer of the task holds the credential for reading it
		if found, ok := b.Load(call.Document); ok {
			o.describe(b, call, found)
			return body
		}
	}
	o.source = compilePlace(b, document)
	return body
}

// speaks returns a function that reports whether a call can use a protocol.
func speaks(call asyncapi.Call) func(protocol string) bool {
	return func(protocol string) bool {
		if call.Publishes {
			return protocol == protocolHTTP || brokers.Publishes(protocol)
		}
		return brokers.Subscribes(protocol)
	}
}

// protocolHTTP is performed in the same way as other requests over HTTP.
const protocolHTTP = "http"

// cannotSpeak reports that a protocol cannot be used, and lists the usable protocols.
func cannotSpeak(call asyncapi.Call, protocol string) string {
	does := "receive"
	if call.Publishes {
		does = "publish"
	}
	speaks := speaks(call)
	spoken := slices.DeleteFunc(dsl.AsyncAPIProtocols(), func(name string) bool { return !speaks(name) })
	return fmt.Sprintf("there is no client here that could %s messages by `%s`: use one of %s", does, protocol, strings.Join(spoken, ", "))
}

// asyncAPIOperation contains the common part of publishing and subscribing (semantics 11.10).
type asyncAPIOperation struct {
	call           asyncapi.Call
	route          *asyncapi.Route // nil if only the run can read the document
	source         *uri            // of the document, if the route is nil
	forDocument    *authentication
	variables      *expr.Template
	authentication *authentication
}

// describe fills in the route, and reports mistakes of the call that are known before a run.
func (o *asyncAPIOperation) describe(b *interpreter.Builder, call *dsl.CallAsyncAPI, found interpreter.Resource) {
	d, err := asyncapi.Parse(found.Data)
	if err != nil {
		b.Report("SW802", call.Document.Endpoint.Pointer, "cannot use "+withoutQuery(found.Place)+": "+err.Error())
		return
	}
	if o.route, err = d.Route(o.call, speaks(o.call)); err == nil {
		variables, _ := call.ServerVariables.Data.(map[string]any) // an expression is checked by the run
		err = o.route.CheckVariables(slices.Sorted(maps.Keys(variables)))
	}
	if a := o.authentication; err == nil && a != nil {
		if why := unfit(a.scheme, o.route.Protocol, o.route.Plain()); why != "" {
			b.Report("SW806", call.Authentication.Pointer, fmt.Sprintf("the server `%s`: %s", o.route.Server, why))
		}
	}
	var mistake *asyncapi.MistakeError
	var unspoken *asyncapi.UnsupportedError
	with := call.Pointer.Key("with")
	named := "operation"
	if call.Channel != "" {
		named = "channel"
	}
	switch {
	case err == nil:
	case errors.As(err, &unspoken):
		b.Report("SW801", with.Key(named), cannotSpeak(o.call, strings.Join(unspoken.Protocols, "`, `")))
	case errors.As(err, &mistake):
		at := with
		for _, token := range strings.Split(mistake.Property, "/") {
			at = at.Key(token)
		}
		b.Add(dsl.Diagnostic{Code: "SW806", Pointer: at, Message: mistake.Message, Help: listed(mistake.What, mistake.All)})
	default:
		b.Report("SW802", with.Key(named), "cannot use "+withoutQuery(found.Place)+": "+err.Error())
	}
}

// asyncAPIRequest is a frozen effect. If the document is still to be read, the target is made from it later.
type asyncAPIRequest struct {
	Target         *asyncapi.Target  `json:"target,omitempty"`
	Document       string            `json:"document,omitempty"`
	ForDocument    *credential       `json:"forDocument,omitempty"`
	Call           asyncapi.Call     `json:"call,omitzero"`
	Variables      map[string]string `json:"variables,omitempty"`
	Authentication *credential       `json:"authentication,omitempty"`
	Message        *outboundMessage  `json:"message,omitempty"` // nil to receive
	Receive        *receiving        `json:"receive,omitempty"` // nil to publish
}

// outboundMessage is a message to be published.
type outboundMessage struct {
	Payload interpreter.Value `json:"payload"`
	Empty   bool              `json:"empty,omitempty"` // there is no payload
	Headers interpreter.Value `json:"headers"`
}

// content returns the source of addresses and ids.
func (m *outboundMessage) content() *asyncapi.Content {
	if m == nil {
		return nil
	}
	headers, _ := m.Headers.V.(map[string]any) // no other type is prepared
	return &asyncapi.Content{Headers: headers, Payload: m.Payload.V}
}

// prepare returns the request that publishes a message, or receives some.
func (o *asyncAPIOperation) prepare(s *interpreter.Scope, message *outboundMessage) (r *asyncAPIRequest, err *errors.Error) {
	r = &asyncAPIRequest{Message: message, Variables: map[string]string{}}
	variables, err := evalObject(s, o.variables, s.Input(), "the variables of the server")
	if err != nil {
		return nil, err
	}
	for name, value := range variables {
		if value != nil {
			r.Variables[name] = stringify(value)
		}
	}
	if r.Authentication, err = o.authentication.prepare(s, s.Input()); err != nil {
		return nil, err
	}
	if o.route != nil {
		return r, r.aim(o.route)
	}
	r.Call = o.call
	if r.Document, err = o.source.locate(s, s.Input()); err != nil {
		return nil, err
	}
	r.ForDocument, err = o.forDocument.prepare(s, s.Input())
	return r, err
}

// aim fills in the target.
func (r *asyncAPIRequest) aim(route *asyncapi.Route) *errors.Error {
	target, err := route.Fill(r.Variables, r.Message.content())
	if err != nil {
		return errors.Configurationf("%s", err)
	}
	if a := r.Authentication; a != nil {
		target.Secure = target.Secure || a.Scheme == dsl.SchemeCertificate && brokers.Upgrades(target.Protocol)
		if why := unfit(a.Scheme, target.Protocol, !target.Secure); why != "" {
			return errors.Configurationf("%s: %s", target, why)
		}
	}
	r.Target = target
	return r.Message.check(target)
}

// unfit returns why a scheme cannot be used with a server of a protocol; "" if it can.
func unfit(scheme, protocol string, plain bool) string {
	switch {
	case scheme == "digest" && protocol != protocolHTTP:
		return protocol + " has no challenges, so that there is no digest authentication: use another scheme"
	case scheme == dsl.SchemeCertificate && plain && !brokers.Upgrades(protocol):
		return withoutTLS
	}
	return ""
}

// check returns the reason why a message cannot be published to a target.
func (m *outboundMessage) check(target *asyncapi.Target) *errors.Error {
	if m == nil {
		return nil
	}
	if media := target.ContentType; media != "" && !content.IsJSON(content.Media(media)) {
		return errors.Configurationf("messages of %s have the content type %s: JSON can be published", target, cut(media))
	}
	headers := m.content().Headers
	if len(headers) > 0 && target.Protocol != protocolHTTP && !brokers.HasHeaders(target.Protocol) {
		return errors.Configurationf("messages of %s have no headers: put the data into the payload", target.Protocol)
	}
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		key := strings.ToLower(name)
		if err := checkHeader(name, stringify(headers[name]), seen[key]); err != nil {
			return err
		}
		seen[key] = true
	}
	return nil
}

// publishBody publishes a message. There is no result: its output is its input.
type publishBody struct {
	operation        *asyncAPIOperation
	payload, headers *expr.Template
}

func (p *publishBody) Enter(s *interpreter.Scope) interpreter.Next {
	message := &outboundMessage{Empty: p.payload == nil}
	payload, err := evalObject(s, p.payload, s.Input(), "the payload")
	if err != nil {
		return interpreter.Fail(err)
	}
	if payload != nil {
		message.Payload.V = payload
	}
	headers, err := evalObject(s, p.headers, s.Input(), "the headers")
	if err != nil {
		return interpreter.Fail(err)
	}
	given := maps.Clone(headers)
	maps.DeleteFunc(given, func(_ string, v any) bool { return v == nil }) // an absent header, as in call http
	message.Headers.V = map[string]any(given)
	request, err := p.operation.prepare(s, message)
	if err != nil {
		return interpreter.Fail(err)
	}
	return interpreter.Perform(request)
}

// MovesFrom implements interpreter.Mover.
func (p *publishBody) MovesFrom(_ *interpreter.Scope, old interpreter.Body) string {
	if _, published := old.(*publishBody); !published {
		return "it publishes instead of subscribing"
	}
	return ""
}

func (p *publishBody) Finish(s *interpreter.Scope, _ any) interpreter.Next {
	if authorization := p.operation.authentication.descriptor(s); authorization != nil {
		s.BindAfter("authorization", authorization)
	}
	return interpreter.Done(s.Input())
}
