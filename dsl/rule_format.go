package dsl

// checkFormats: SW803, schemas in a language that nobody defines.
func checkFormats(c *checker) {
	w := &walker{onSchema: func(s *Schema) {
		if d, unsupported := s.Unsupported(); unsupported {
			c.add(d)
		}
	}}
	w.workflow(c.w, nil)
}
