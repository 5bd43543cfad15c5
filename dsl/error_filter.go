package dsl

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/errors"
)

// ErrorFilter selects errors by equality of each member that is set.
type ErrorFilter struct {
	Pointer  Pointer
	Type     string
	Status   *int
	Title    *string
	Detail   *string
	Instance *string
	aliases  errors.Aliases
}

// WithAliases returns the filter with aliases of types; nil for nil.
func (f *ErrorFilter) WithAliases(a errors.Aliases) *ErrorFilter {
	if f == nil || len(a) == 0 {
		return f
	}
	aliased := *f
	aliased.aliases = a
	return &aliased
}

// Mismatch returns the name of the first member in which e differs from the filter, in the order of the specification, or "" if
// the filter selects e. A nil filter selects all errors (semantics 7.1).
func (f *ErrorFilter) Mismatch(e *errors.Error) (member string) {
	differs := func(want *string, got string) bool { return want != nil && *want != got }
	switch {
	case f == nil:
		return ""
	case f.Type != "" && !f.aliases.Same(f.Type, e.Type):
		return "type"
	case f.Status != nil && *f.Status != e.Status:
		return "status"
	case differs(f.Title, e.Title):
		return "title"
	case differs(f.Detail, e.Detail):
		return "detail"
	case differs(f.Instance, e.Instance):
		return "instance"
	}
	return ""
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
	f := &ErrorFilter{Pointer: o.at, Type: o.text("type"), Status: o.statusFilter()}
	for name, member := range map[string]**string{"title": &f.Title, "detail": &f.Detail, "instance": &f.Instance} {
		if o.value(name) != nil {
			text := o.text(name)
			*member = &text
		}
	}
	if f.Detail == nil && o.value("details") != nil { // the name of detail until 2026 (semantics 1.7)
		text := o.text("details")
		f.Detail = &text
	}
	return f
}

// statusFilter decodes the status of an error filter: one number. A condition selects several.
func (o *object) statusFilter() *int {
	n := o.value("status")
	if n == nil {
		return nil
	}
	if _, ok := wholeNumber(n); ok || n.Kind == yaml.ScalarNode && strings.Trim(n.Value, "0123456789 ") == "" {
		return o.integer("status")
	}
	d := Diagnostic{Code: "SW108", Message: "`status` must be a whole number, got " + source.Describe(n), Pointer: o.at.Key("status"), Range: o.p.src.RangeOf(n),
		Help: "select several by a condition of the catch: `when: .status >= 500`"}
	if n.Kind == yaml.SequenceNode {
		d.Help = "select several by a condition of the catch: `when: .status == 502 or .status == 503`"
	}
	o.p.add(d)
	return nil
}
