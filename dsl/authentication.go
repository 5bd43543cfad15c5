package dsl

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
)

// SchemeCertificate is the scheme of policies that use a certificate of the caller.
const SchemeCertificate = "certificate"

// Authentication is a policy, or the name of one.
type Authentication struct {
	Pointer Pointer
	Use     Reference // in use.authentications; if it is set, the other fields are empty
	Scheme  string    // basic, bearer, certificate, digest, oauth2 or oidc
	Secret  Reference // to the secret that contains the properties (basic: {use: name})

	// Properties are the properties of the scheme as written, for example username and password; strings may contain ${ }.
	Properties Value
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

// topAuthentication decodes a policy of use.authentications. It may not refer to another policy.
func (p *parser) topAuthentication(n *yaml.Node, at Pointer) *Authentication {
	return p.authentication(n, at, false)
}

func schemes() []string {
	return []string{"basic", "bearer", SchemeCertificate, "digest", "oauth2", "oidc"}
}

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
	case SchemeCertificate:
		a.Secret = o.p.certificate(n, at)
	default:
		a.Secret, properties = o.p.oauth2(n, at, a.Scheme)
	}
	a.Properties = o.valueOf(a.Scheme, properties, FormData)
}

// credentials decodes either the name of a secret or all of the given texts.
func (p *parser) credentials(n *yaml.Node, at Pointer, scheme string, names ...string) (secret Reference, properties map[string]any) {
	o := p.object(n, at, fmt.Sprintf("`%s`", scheme), append([]string{"use"}, names...)...)
	if o.value("use") != nil {
		return o.useSecret(names), nil
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

// useSecret decodes the name of the secret that contains a policy's properties; none of these properties may be beside it.
func (o *object) useSecret(properties []string) Reference {
	for _, name := range properties {
		if o.value(name) != nil {
			o.report("SW124", name, fmt.Sprintf("`%s` cannot stand beside `use`: the secret holds it", name))
		}
	}
	return o.reference("use", "secrets")
}

// credential decodes a text of a policy. A user's name or password may be empty: some servers take only one of them.
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

// certificate decodes the name of the secret that contains a certificate and its key: a document cannot contain either of them.
func (p *parser) certificate(n *yaml.Node, at Pointer) Reference {
	o := p.object(n, at, "`certificate`", "use")
	o.require("use")
	return o.reference("use", "secrets")
}
