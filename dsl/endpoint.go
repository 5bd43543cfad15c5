package dsl

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/internal/delimited"
	"github.com/swrun/swrun/internal/shorten"
)

// ExternalResource is a document at another place, such as a schema at a URI.
type ExternalResource struct {
	Pointer  Pointer
	Name     string
	Endpoint *Endpoint
}

// Endpoint is the address of a service: a URI template or an expression, with its authentication.
type Endpoint struct {
	Pointer        Pointer
	URI            Value // text: a literal URI, an RFC 6570 template or a ${ } expression
	Authentication *Authentication
}

// resource decodes an external resource.
func (o *object) resource(name string) *ExternalResource {
	n := o.value(name)
	if n == nil {
		return nil
	}
	r := o.p.object(n, o.at.Key(name), "an external resource", "name", "endpoint")
	r.require("endpoint")
	return &ExternalResource{Pointer: r.at, Name: r.text("name"), Endpoint: r.endpointOr("endpoint")}
}

// endpointOr decodes an endpoint; it is never nil.
func (o *object) endpointOr(name string) *Endpoint {
	if e := o.endpoint(name); e != nil {
		return e
	}
	return &Endpoint{Pointer: o.at.Key(name)}
}

func (o *object) endpoint(name string) *Endpoint {
	n := o.value(name)
	if n == nil {
		return nil
	}
	at := o.at.Key(name)
	if n.Kind != yaml.MappingNode {
		return &Endpoint{Pointer: at, URI: o.valueOf(name, o.p.uri(n, at, name), FormText)}
	}
	e := o.p.object(n, at, "an endpoint", "uri", "authentication")
	e.require("uri")
	endpoint := &Endpoint{Pointer: at, Authentication: e.authentication("authentication")}
	if uri := e.value("uri"); uri != nil {
		endpoint.URI = e.valueOf("uri", o.p.uri(uri, at.Key("uri"), "uri"), FormText)
	}
	return endpoint
}

// uri decodes a URI, a template or an expression.
func (p *parser) uri(n *yaml.Node, at Pointer, name string) string {
	text := p.text(n, at, name)
	if text != "" && !delimited.Is(text) && (strings.ContainsAny(text, " \t\r\n") || strings.HasPrefix(strings.TrimSpace(text), "${")) {
		d := Diagnostic{Code: "SW126", Message: fmt.Sprintf("%s is not a URI", shorten.Quoted(text)), Pointer: at, Range: p.src.RangeOf(n),
			Help: "a URI holds no white space; an expression is ${ ... } as a whole"}
		if m := templateWithin().FindStringSubmatch(text); m != nil {
			d.Help = fmt.Sprintf("write `{%s}`, which takes that member of the input", strings.Trim(m[1], ".$ "))
		} else if meant := interpolated(text); strings.Contains(text, "${") && meant != "" {
			d.Label = didYouMean(p.src.Quote(meant))
		}
		if meant := "${ " + text + " }"; strings.HasPrefix(text, `"`) && !strings.Contains(text, "${") {
			d.Label = didYouMean(p.src.Quote(meant))
		}
		p.add(d)
	}
	return text
}

func (p *parser) catalog(n *yaml.Node, at Pointer) *Endpoint {
	o := p.object(n, at, "a catalog", "endpoint")
	o.require("endpoint")
	return o.endpointOr("endpoint")
}
