package dsl

import "slices"

// checkEvaluate: SW801, expressions in another language.
func checkEvaluate(c *checker) {
	if d, unsupported := c.w.Evaluate.Unsupported(); unsupported {
		c.add(d)
	}
}

// checkSchedule: SW804, a schedule, which is valid but has no effect yet.
func checkSchedule(c *checker) {
	if c.w.Schedule != nil && !slices.ContainsFunc(c.w.Source.errorPointers, func(at Pointer) bool { return within(at, "/schedule") }) {
		c.add(Diagnostic{Code: "SW804", Pointer: "/schedule", Range: c.w.Source.Key("/schedule"), Message: "running on a schedule is not supported yet",
			Help: "nothing starts the workflow by itself: `swrun run`, or `swrun start` where it is deployed, runs it once"})
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
