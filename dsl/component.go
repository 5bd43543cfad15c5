package dsl

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/internal/delimited"
	"github.com/swrun/swrun/internal/shorten"
)

func (p *parser) input(parent *object) *Input {
	if schema, from, ok := p.reshaped(parent, "input", "from"); ok {
		return &Input{Schema: schema, From: from}
	}
	return nil
}

func (p *parser) output(parent *object) *Output {
	if schema, as, ok := p.reshaped(parent, "output", "as"); ok {
		return &Output{Schema: schema, As: as}
	}
	return nil
}

func (p *parser) export(parent *object) *Export {
	if schema, as, ok := p.reshaped(parent, "export", "as"); ok {
		return &Export{Schema: schema, As: as}
	}
	return nil
}

// reshaped decodes the schema of data and, under a property, how they are reshaped; ok is false if there is neither.
func (p *parser) reshaped(parent *object, name, property string) (schema *Schema, v Value, ok bool) {
	n := parent.value(name)
	if n == nil {
		return nil, Value{}, false
	}
	o := p.object(n, parent.at.Key(name), fmt.Sprintf("`%s`", name), "schema", property)
	return p.schema(o), o.transform(property), true
}

// transform decodes what reshapes data: an expression, or an object that holds expressions.
func (o *object) transform(name string) Value {
	n := o.value(name)
	switch {
	case n == nil:
	case n.Kind == yaml.MappingNode || source.IsText(n):
		return o.valueOf(name, o.dataOrText(name), FormTransform)
	default:
		o.p.wrongType(n, o.at.Key(name), fmt.Sprintf("`%s` must be an expression or an object", name))
	}
	return o.valueOf(name, nil, FormTransform)
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
		p.add(Diagnostic{Code: "SW126", Message: fmt.Sprintf("%s is no URI", shorten.Quoted(text)), Pointer: at, Range: p.src.RangeOf(n),
			Help: "a URI holds no white space; an expression is ${ ... } as a whole"})
	}
	return text
}

func (p *parser) catalog(n *yaml.Node, at Pointer) *Endpoint {
	o := p.object(n, at, "a catalog", "endpoint")
	o.require("endpoint")
	return o.endpointOr("endpoint")
}

func (o *object) authentication(name string) *Authentication {
	n := o.value(name)
	if n == nil {
		return nil
	}
	at := o.at.Key(name)
	if source.IsText(n) { // the shorthand of the reference's AsyncAPI table (semantics 17.2)
		return &Authentication{Pointer: at, Use: o.reference(name, "authentications")}
	}
	return o.p.authentication(n, at, true)
}

// topAuthentication decodes a policy of use.authentications, which may not name another one.
func (p *parser) topAuthentication(n *yaml.Node, at Pointer) *Authentication {
	return p.authentication(n, at, false)
}

func schemes() []string { return []string{"basic", "bearer", "digest", "oauth2", "oidc"} }

func (p *parser) authentication(n *yaml.Node, at Pointer, mayUse bool) *Authentication {
	choices := schemes()
	a := &Authentication{Pointer: at}
	if mayUse {
		choices = append([]string{"use"}, choices...)
	} else if key, _ := source.Child(n, "use"); key != nil {
		p.add(Diagnostic{Code: "SW124", Message: "a policy of `use.authentications` cannot `use` another one", Pointer: at.Key("use"),
			Range: p.src.RangeOf(key), Help: "a policy is one of: " + strings.Join(choices, " ")})
		return a
	}
	var o *object
	if mayUse {
		o = p.object(n, at, "an authentication policy", choices...)
	} else { // open, as in the specification's schema
		o = p.openObject(n, at, "an authentication policy", choices...)
	}
	switch scheme := o.exactlyOne(choices...); scheme {
	case "":
	case "use":
		a.Use = o.reference("use", "authentications")
	default:
		a.Scheme = scheme
		o.scheme(a)
	}
	return a
}

// scheme decodes the properties of the policy's scheme.
func (o *object) scheme(a *Authentication) {
	n, at := o.value(a.Scheme), o.at.Key(a.Scheme)
	if a.Scheme == "bearer" && source.IsText(n) { // as in the specification's prose (semantics 1.7)
		a.Properties = o.valueOf(a.Scheme, map[string]any{"token": o.text(a.Scheme)}, FormData)
		return
	}
	var properties map[string]any
	switch a.Scheme {
	case "basic", "digest":
		a.Secret, properties = o.p.credentials(n, at, a.Scheme, "username", "password")
	case "bearer":
		a.Secret, properties = o.p.credentials(n, at, a.Scheme, "token")
	default:
		a.Secret, properties = o.p.oauth2(n, at, a.Scheme)
	}
	a.Properties = o.valueOf(a.Scheme, properties, FormData)
}

// credentials decodes either the name of a secret or all of the given texts.
func (p *parser) credentials(n *yaml.Node, at Pointer, scheme string, names ...string) (secret Reference, properties map[string]any) {
	o := p.object(n, at, fmt.Sprintf("`%s`", scheme), append([]string{"use"}, names...)...)
	if o.value("use") != nil {
		secret = o.reference("use", "secrets")
		for _, name := range names {
			if o.value(name) != nil {
				o.report("SW124", name, fmt.Sprintf("`%s` cannot stand beside `use`: the secret holds it", name))
			}
		}
		return secret, nil
	}
	if !o.misspelt["use"] {
		o.require(names...)
	}
	properties = map[string]any{}
	for _, name := range names {
		properties[name] = o.credential(name)
	}
	return Reference{}, properties
}

// credential decodes a text of a policy. A user's name or password may be empty: there are servers that take one of them
// only.
func (o *object) credential(name string) string {
	n := o.value(name)
	switch {
	case n == nil:
		return ""
	case name == "username" || name == "password":
		return o.p.anyText(n, o.at.Key(name), name)
	}
	return o.text(name)
}

func (p *parser) oauth2(n *yaml.Node, at Pointer, scheme string) (secret Reference, properties map[string]any) {
	names := []string{"authority", "grant", "client", "request", "issuers", "scopes", "audiences", "username", "password", "subject", "actor"}
	if scheme == "oauth2" {
		names = append(names, "endpoints")
	}
	o := p.object(n, at, fmt.Sprintf("`%s`", scheme), append([]string{"use"}, names...)...)
	if o.value("use") != nil {
		secret = o.reference("use", "secrets")
		for _, name := range names {
			if o.value(name) != nil {
				o.report("SW124", name, fmt.Sprintf("`%s` cannot stand beside `use`: the secret holds it", name))
			}
		}
		return secret, nil
	}
	if !o.misspelt["use"] {
		o.require("authority", "grant")
	}
	if authority := o.value("authority"); authority != nil {
		p.uri(authority, at.Key("authority"), "authority")
	}
	o.enum("grant", "authorization_code", "client_credentials", "password", "refresh_token", "urn:ietf:params:oauth:grant-type:token-exchange")
	o.oauth2Parts()
	return Reference{}, o.p.data(o.node, at).(map[string]any)
}

// oauth2Parts checks the nested properties of an OAuth2 policy.
func (o *object) oauth2Parts() {
	p := o.p
	for _, name := range []string{"issuers", "scopes", "audiences"} {
		o.texts(name)
	}
	o.credential("username")
	o.credential("password")
	if n := o.value("client"); n != nil {
		c := p.object(n, o.at.Key("client"), "`client`", "id", "secret", "assertion", "authentication")
		c.text("id")
		c.text("secret")
		c.text("assertion")
		c.enum("authentication", "client_secret_post", "client_secret_basic", "client_secret_jwt", "private_key_jwt", "none")
	}
	if n := o.value("request"); n != nil {
		p.openObject(n, o.at.Key("request"), "`request`", "encoding").enum("encoding", "application/x-www-form-urlencoded", "application/json")
	}
	if n := o.value("endpoints"); n != nil {
		e := p.openObject(n, o.at.Key("endpoints"), "`endpoints`", "token", "revocation", "introspection")
		for _, name := range []string{"token", "revocation", "introspection"} {
			e.text(name)
		}
	}
	for _, name := range []string{"subject", "actor"} {
		if n := o.value(name); n != nil {
			t := p.object(n, o.at.Key(name), fmt.Sprintf("`%s`", name), "token", "type")
			t.require("token", "type")
			t.text("token")
			t.text("type")
		}
	}
}

func (p *parser) timeout(parent *object) *Timeout {
	n := parent.value("timeout")
	if n == nil {
		return nil
	}
	at := parent.at.Key("timeout")
	if source.IsText(n) {
		return &Timeout{Pointer: at, Use: parent.reference("timeout", "timeouts")}
	}
	return p.timeoutDefinition(n, at)
}

func (p *parser) timeoutDefinition(n *yaml.Node, at Pointer) *Timeout {
	if t := p.timeoutWithoutAfter(n, at); t != nil {
		return t
	}
	o := p.object(n, at, "a timeout", "after")
	o.require("after")
	t := &Timeout{Pointer: at, After: o.duration("after")}
	if t.After == nil {
		t.After = &Duration{Pointer: at.Key("after")}
	}
	return t
}

func (p *parser) errorDefinition(n *yaml.Node, at Pointer) *ErrorDefinition {
	o := p.object(n, at, "an error", "type", "status", "title", "detail", "instance")
	o.require("type", "status")
	e := &ErrorDefinition{Pointer: at, Title: o.text("title"), Detail: o.text("detail"), Instance: o.text("instance")}
	if n := o.value("type"); n != nil {
		e.Type = p.uri(n, at.Key("type"), "type")
	}
	if status := o.integer("status"); status != nil {
		e.Status = *status
	}
	return e
}

func (p *parser) errorFilter(parent *object) *ErrorFilter {
	n := parent.value("errors")
	if n == nil {
		return nil
	}
	outer := p.openObject(n, parent.at.Key("errors"), "`errors`", "with")
	with := outer.value("with")
	if with == nil {
		return nil
	}
	o := p.openObject(with, outer.at.Key("with"), "an error filter", "type", "status", "title", "detail", "details", "instance")
	if with.Kind == yaml.MappingNode && !slices.ContainsFunc(o.keys(), func(name string) bool { return o.value(name) != nil }) {
		p.add(Diagnostic{Code: "SW107", Message: "an error filter needs at least one property", Pointer: o.at, Range: p.src.RangeOf(with),
			Help: "leave `errors` out to catch every error"})
	}
	f := &ErrorFilter{Pointer: o.at, Type: o.text("type"), Status: o.integer("status")}
	for name, member := range map[string]**string{"title": &f.Title, "detail": &f.Detail, "instance": &f.Instance} {
		if o.value(name) != nil {
			text := o.text(name)
			*member = &text
		}
	}
	if f.Detail == nil && o.value("details") != nil { // its name until 2026 (semantics 1.7)
		text := o.text("details")
		f.Detail = &text
	}
	return f
}

func (p *parser) retryPolicy(n *yaml.Node, at Pointer) *RetryPolicy {
	o := p.object(n, at, "a retry policy", "when", "exceptWhen", "delay", "backoff", "limit", "jitter")
	r := &RetryPolicy{Pointer: at, When: o.expression("when"), ExceptWhen: o.expression("exceptWhen"), Delay: o.duration("delay")}
	r.Backoff = p.backoff(o)
	if n := o.value("limit"); n != nil {
		limit := p.object(n, at.Key("limit"), "`limit`", "attempt", "duration")
		r.LimitDuration = limit.duration("duration")
		if n := limit.value("attempt"); n != nil {
			attempt := p.object(n, limit.at.Key("attempt"), "`attempt`", "count", "duration")
			r.AttemptCount, r.AttemptDuration = attempt.count("count"), attempt.duration("duration")
		}
	}
	if n := o.value("jitter"); n != nil {
		jitter := p.object(n, at.Key("jitter"), "`jitter`", "from", "to")
		jitter.require("from", "to")
		r.JitterFrom, r.JitterTo = jitter.duration("from"), jitter.duration("to")
	}
	return r
}

func (p *parser) backoff(parent *object) string {
	n := parent.value("backoff")
	if n == nil {
		return ""
	}
	o := p.object(n, parent.at.Key("backoff"), "`backoff`", "constant", "exponential", "linear")
	kind := o.exactlyOne("constant", "exponential", "linear")
	if kind == "" {
		return "constant"
	}
	properties := o.value(kind)
	if properties.Kind != yaml.MappingNode {
		p.wrongType(properties, o.at.Key(kind), fmt.Sprintf("`%s` must be an object", kind))
		return kind
	}
	for i := 0; i+1 < len(properties.Content); i += 2 {
		key := properties.Content[i]
		p.add(Diagnostic{
			Code: "SW127", Message: fmt.Sprintf("`%s` of a backoff has no effect", key.Value), Pointer: o.at.Key(kind).Key(key.Value),
			Range: p.src.RangeOf(key), Help: "the DSL gives backoffs no properties; the delay grows from `delay`",
		})
	}
	return kind
}
