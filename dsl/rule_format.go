package dsl

import (
	"fmt"
	"strings"
)

// checkFormats: SW803, schemas in a language that nobody defines (semantics 3.9).
func checkFormats(c *checker) {
	check := func(s *Schema) {
		if s == nil || s.Format == "" {
			return
		}
		if format, _, _ := strings.Cut(s.Format, ":"); format != "json" {
			c.add(Diagnostic{Code: "SW803", Pointer: s.Pointer.Key("format"), Message: fmt.Sprintf("schemas of format `%s` are not supported", s.Format), Help: "use `json`"})
		}
	}
	all := func(in *Input, out *Output, export *Export) {
		if in != nil {
			check(in.Schema)
		}
		if out != nil {
			check(out.Schema)
		}
		if export != nil {
			check(export.Schema)
		}
	}
	all(c.w.Input, c.w.Output, nil)
	Walk(c.w, func(t Task) bool {
		base := t.Base()
		all(base.Input, base.Output, base.Export)
		if l, ok := t.(*ListenTask); ok && l.ForEach != nil {
			all(nil, l.ForEach.Output, l.ForEach.Export)
		}
		return true
	})
}
