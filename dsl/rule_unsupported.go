package dsl

import (
	"fmt"

	"github.com/swrun/swrun/internal/shorten"
)

// checkEvaluate: SW801, expressions in another language.
func checkEvaluate(c *checker) {
	if d, unsupported := c.w.Evaluate.Unsupported(); unsupported {
		c.add(d)
	}
}

// checkFormats: SW803, schemas in an unknown language.
func checkFormats(c *checker) {
	w := &walker{onSchema: func(s *Schema) {
		if d, unsupported := s.Unsupported(); unsupported {
			c.add(d)
		}
		if path, ok := s.Document.(string); ok {
			c.add(Diagnostic{Code: "SW803", Pointer: s.Pointer.Key("document"), Message: "`document` holds the schema itself, got text",
				Help: fmt.Sprintf("write `resource: { endpoint: %s }` for a schema in a file or at a URL", shorten.To(path, 80))})
		}
	}}
	w.workflow(c.w, nil)
}
