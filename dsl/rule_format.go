package dsl

import (
	"fmt"
	"strings"
)

// checkFormats: SW803, schemas in a language that nobody defines (semantics 3.9).
func checkFormats(c *checker) {
	w := &walker{onSchema: func(s *Schema) {
		if format, _, _ := strings.Cut(s.Format, ":"); format != "json" && format != "" {
			c.add(Diagnostic{Code: "SW803", Pointer: s.Pointer.Key("format"), Message: fmt.Sprintf("schemas of format `%s` are not supported", s.Format), Help: "use `json`"})
		}
	}}
	w.workflow(c.w, nil)
}
