package dsl

import (
	"cmp"
	"fmt"

	"github.com/swrun/swrun/internal/lazyregexp"
	"github.com/swrun/swrun/internal/shorten"
)

// KindCallGRPC is the kind of CallGRPC.
const KindCallGRPC Kind = "call_grpc"

// CallGRPC calls a gRPC method.
type CallGRPC struct {
	TaskBase
	Proto          *ExternalResource
	Service        string
	Host           string
	Port           int // 0 if absent
	Authentication *Authentication
	Method         string
	Arguments      Value
}

// Kind returns KindCallGRPC.
func (*CallGRPC) Kind() Kind { return KindCallGRPC }

// Traits returns the traits of a call that a server answers.
func (*CallGRPC) Traits() Traits { return serverCall() }

// tlsPort is the port of a service that specifies none.
const tlsPort = 443

// At returns the port of the service.
func (t *CallGRPC) At() int { return cmp.Or(t.Port, tlsPort) }

// Plaintext reports whether the service is called without TLS, which is the case on every port other than 443, the port of https (semantics 11.9).
func (t *CallGRPC) Plaintext() bool { return t.At() != tlsPort }

func (t *CallGRPC) parts(w *walker) {
	w.resource(t.Proto)
	w.value(propertyCall, t.Arguments)
	w.authentication(t.Authentication)
	if t.Plaintext() {
		w.plaintext(t.Authentication, t.Pointer.Key("with").Key("service").Key("port"), "without `port`, a service is called with TLS, at port 443")
	}
}

var hostPattern = lazyregexp.New(`^[a-zA-Z0-9](?:[a-zA-Z0-9-.]{0,61}[a-zA-Z0-9])?$`)

func parseCallGRPC(p *parser, o *object, base TaskBase) Task {
	o.allow("proto", "service", "method", "arguments").require("proto", "service", "method")
	c := &CallGRPC{TaskBase: base, Proto: o.resource("proto"), Method: o.text("method"), Arguments: o.mappingValue("arguments")}
	n := o.value("service")
	if n == nil {
		return c
	}
	s := p.object(n, o.at.Key("service"), "`service`", "name", "host", "port", "authentication")
	if o.key("host") != nil { // reported: it belongs to the service
		s.markPresent("host")
	}
	s.require("name", "host")
	c.Service, c.Host, c.Authentication = s.text("name"), s.text("host"), s.authentication("authentication")
	if c.Host != "" && !hostPattern().MatchString(c.Host) {
		s.reportWith("SW109", "host", fmt.Sprintf("%s is not the name of a host", shorten.Quoted(c.Host)), "write the name alone, `host: localhost`, and its port as `port: 50051` beside it")
	}
	if port := s.integer("port"); port != nil {
		if c.Port = *port; c.Port < 0 || c.Port > 65535 {
			s.report("SW123", "port", fmt.Sprintf("a port is a number from 0 to 65535, got %d", c.Port))
		}
	}
	return c
}
