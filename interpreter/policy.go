package interpreter

import (
	"context"
	"fmt"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/expr"
)

// Policy is the authentication for reading a resource while its document is loaded. At that time there is no run that could evaluate anything.
type Policy struct {
	Scheme     string
	Secret     string // the name of the secret that holds the properties; empty if they are in Properties
	Properties any
	Secrets    Secrets
}

// policyKey is the key under which the context of a Loader knows the policy.
type policyKey struct{}

// PolicyOf returns the policy with which a Loader reads; nil for none.
func PolicyOf(ctx context.Context) *Policy {
	p, _ := ctx.Value(policyKey{}).(*Policy)
	return p
}

// policy returns the authentication for reading a resource of the document; ok is false if it cannot be known yet, which is reported.
func (b *Builder) policy(a *dsl.Authentication) (p *Policy, ok bool) {
	if a == nil {
		return nil, true
	}
	if a.Use.Name != "" {
		named := b.Workflow().Use.Authentications[a.Use.Name]
		if named == nil {
			b.Add(a.Use.Undefined())
			return nil, false
		}
		a = named
	}
	switch {
	case a.Secret.Name != "" && b.c.base != "":
		b.Report("SW802", a.Pointer, "a function from elsewhere cannot read the secret "+a.Secret.Name+" of the workflow that calls it")
		return nil, false
	case a.Secret.Name == "" && !literal(a.Properties.Data):
		b.Report("SW802", a.Properties.Pointer, fmt.Sprintf("a resource that is read when the document is loaded cannot be authenticated by an expression: write `%s: {use: SECRET}`", a.Scheme))
		return nil, false
	}
	return &Policy{Scheme: a.Scheme, Secret: a.Secret.Name, Properties: a.Properties.Data, Secrets: b.c.config.Secrets}, true
}

// literal reports whether data has no expression in it.
func literal(v any) bool {
	switch v := v.(type) {
	case string:
		return !expr.Delimited(v)
	case []any:
		for _, item := range v {
			if !literal(item) {
				return false
			}
		}
	case map[string]any:
		for _, member := range v {
			if !literal(member) {
				return false
			}
		}
	}
	return true
}
