package dsl

import "regexp"

// standardURI matches the URI of a standard error type inside an expression.
var standardURI = regexp.MustCompile(`https?://(?:serverlessworkflow\.io|open-workflow-specification\.org)/(?:spec/[^/"]+/errors|dsl/errors/types)/\w*`)

// checkComparedTypes: SW406, an error type that an expression compares as text. A filter matches all spellings of a type; text only
// equals the one that the engine is configured to raise (semantics 1.2).
func checkComparedTypes(c *checker) {
	for _, e := range c.texts {
		if e.property == propertyRaise || !e.isExpression() {
			continue
		}
		if m := standardURI.FindStringIndex(e.text); m != nil {
			c.add(Diagnostic{Code: "SW406", Pointer: e.at, Range: c.w.Source.Within(e.at, m[0], m[1]),
				Message: "as text, an error type is only equal to the spelling that the engine is set to raise",
				Help:    "filter by `errors: {with: {type: ...}}`, which matches all spellings, or compare the status"})
		}
	}
}
