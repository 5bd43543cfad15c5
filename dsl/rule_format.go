package dsl

// checkFormats: SW803, schemas in an unknown language.
func checkFormats(c *checker) {
	w := &walker{onSchema: func(s *Schema) {
		if d, unsupported := s.Unsupported(); unsupported {
			c.add(d)
		}
	}}
	w.workflow(c.w, nil)
}
