package dsl

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
)

// OAuth2Needs returns the properties that a policy of oauth2 or oidc needs for a grant and for a method of client authentication (empty if the policy
// has none), for example client.id. Of several names in one entry, one is enough.
func OAuth2Needs(grant, method string) (needed [][]string) {
	switch grant {
	case "client_credentials":
		needed = append(needed, []string{"client.id"})
		if method == "" {
			needed = append(needed, []string{"client.secret", "client.assertion"})
		}
	case "password":
		needed = append(needed, []string{"username"}, []string{"password"})
	case "authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:token-exchange":
		needed = append(needed, []string{"subject.token"})
	}
	switch method {
	case "client_secret_basic", "client_secret_post":
		needed = append(needed, []string{"client.id"}, []string{"client.secret"})
	case "client_secret_jwt", "private_key_jwt":
		needed = append(needed, []string{"client.id"}, []string{"client.secret", "client.assertion"})
	}
	return needed
}

func (p *parser) oauth2(n *yaml.Node, at Pointer, scheme string) (secret Reference, properties map[string]any) {
	names := []string{"authority", "grant", "client", "request", "issuers", "scopes", "audiences", "username", "password", "subject", "actor"}
	if scheme == "oauth2" {
		names = append(names, "endpoints")
	}
	o := p.object(n, at, fmt.Sprintf("`%s`", scheme), append([]string{"use"}, names...)...)
	if o.value("use") != nil {
		return o.useSecret(names), nil
	}
	if !o.misspelt["use"] {
		o.require("authority", "grant")
	}
	if authority := o.value("authority"); authority != nil {
		p.uri(authority, at.Key("authority"), "authority")
	}
	o.enum("grant", "authorization_code", "client_credentials", "password", "refresh_token", "urn:ietf:params:oauth:grant-type:token-exchange")
	o.oauth2Parts()
	o.oauth2Needs()
	return Reference{}, o.p.data(o.node, at).(map[string]any)
}

// oauth2Needs reports the missing properties that a grant, or the authentication of the client, needs.
func (o *object) oauth2Needs() {
	grant, method := scalarAt(o.node, "grant"), scalarAt(o.node, "client", "authentication")
	reported := map[string]bool{}
	for _, needed := range OAuth2Needs(grant, method) {
		if reported[needed[0]] || slices.ContainsFunc(needed, o.has) {
			continue
		}
		reported[needed[0]] = true
		what, at := fmt.Sprintf("the grant `%s`", grant), o.at.Key("grant")
		if method != "" && !slices.ContainsFunc(OAuth2Needs(grant, "none"), func(other []string) bool { return other[0] == needed[0] }) {
			what, at = fmt.Sprintf("the client's authentication by `%s`", method), o.at.Key("client").Key("authentication")
		}
		missing := "`" + strings.Join(needed, "` or `") + "`"
		o.p.add(Diagnostic{
			Code: "SW107", Message: what + " needs " + missing, Pointer: at,
			Range: o.p.src.Value(at), Label: missing + " is missing", Help: helpOAuth2(needed[0]),
		})
	}
}

// helpOAuth2 returns the help for a missing property.
func helpOAuth2(name string) string {
	if name == "subject.token" {
		return "`subject: {token: ..., type: ...}` is the token of whom it is about, the refresh token, or the authorization code"
	}
	return "add it, from a secret if it is one: ${ $secrets.name }"
}

// has reports whether a property exists, for example client.id. A mistake at its place was reported already.
func (o *object) has(name string) bool {
	first, inner, nested := strings.Cut(name, ".")
	n := o.value(first)
	if n == nil {
		return o.misspelt[first] || o.broken
	}
	if !nested || first != "client" || n.Kind != yaml.MappingNode {
		return true
	}
	client := &object{node: n}
	unknown := func(key string) bool { return !slices.Contains(clientProperties(), key) }
	return client.value(inner) != nil || slices.ContainsFunc(client.keys(), unknown)
}

func clientProperties() []string { return []string{"id", "secret", "assertion", "authentication"} }

// scalarAt returns the text at some keys, or "".
func scalarAt(n *yaml.Node, keys ...string) string {
	for _, key := range keys {
		_, n = source.Child(n, key)
	}
	if n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}

// oauth2Parts checks the nested properties of an OAuth2 policy.
func (o *object) oauth2Parts() {
	p := o.p
	o.idleValue("issuers", "`issuers` is empty, so any issuer is taken", "name those whose tokens are taken, or remove it")
	for _, name := range []string{"issuers", "scopes", "audiences"} {
		o.texts(name)
	}
	o.credential("username")
	o.credential("password")
	if n := o.value("client"); n != nil {
		c := p.object(n, o.at.Key("client"), "`client`", clientProperties()...)
		c.text("id")
		c.text("secret")
		c.text("assertion")
		c.enum("authentication", "client_secret_post", "client_secret_basic", "client_secret_jwt", "private_key_jwt", "none")
	}
	if n := o.value("request"); n != nil {
		r := p.openObject(n, o.at.Key("request"), "`request`", "encoding", "parameters")
		r.enum("encoding", "application/x-www-form-urlencoded", "application/json")
		r.stringMap("parameters")
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
