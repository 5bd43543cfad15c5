package dsl

import (
	"slices"
	"strings"

	"github.com/swrun/swrun/internal/lazyregexp"
)

// fixedHost matches an expression that yields a literal scheme and host before any data.
var fixedHost = lazyregexp.New(`^\s*(?:\$\{)?\s*\(?\s*"[a-z][a-z0-9+.-]*://[^/"\\]+(?:/|"\s*\+\s*"/)`)

// checkUntrusted: SW603, data that becomes code, or that determines the called host.
func checkUntrusted(c *checker) {
	c.facts(func(e expressionText, facts Facts) {
		if !readsData(facts) {
			return
		}
		switch {
		case e.property == propertyCode && !strings.Contains(e.text, "@sh"):
			c.add(Diagnostic{Code: "SW603", Pointer: e.at, Message: "data becomes part of a program here, and can run anything",
				Help: "pass data by `arguments`, `environment` or `stdin`; in a shell, `@sh` quotes it"})
		case e.property == propertyEndpoint && !fixedHost().MatchString(e.text):
			c.addAs(SeverityInfo, Diagnostic{Code: "SW603", Pointer: e.at, Message: "data decides here which host is called",
				Help: "if the data comes from outside, write scheme and host literally: https://example.com/{id}"})
		}
	})
}

// readsData reports whether an expression reads from data that may come from outside.
func readsData(facts Facts) bool {
	return len(facts.Fields) > 0 || slices.ContainsFunc(facts.Variables, func(v Name) bool {
		return !slices.Contains([]string{"secrets", "secret", "runtime", "task", "authorization"}, v.Name)
	})
}
