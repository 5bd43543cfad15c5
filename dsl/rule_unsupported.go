package dsl

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
	}}
	w.workflow(c.w, nil)
}
