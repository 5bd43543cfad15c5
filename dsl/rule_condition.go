package dsl

import (
	"fmt"
	"slices"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/internal/lazyregexp"
)

// notBefore matches `not` before the expression that it is meant to negate.
var notBefore = lazyregexp.New(`(?:^|\$\{|\(|\band|\bor)\s*(not)\s+[.$(]`)

// checkConditions: SW507, conditions whose value is never true or false.
func checkConditions(c *checker) {
	c.facts(func(e expressionText, facts Facts) {
		if !slices.Contains(conditionProperties(), e.property) {
			return
		}
		if m := notBefore().FindStringSubmatchIndex(e.text); m != nil {
			c.add(Diagnostic{Code: "SW507", Pointer: e.at, Range: c.w.Source.Within(e.at, m[2], m[3]), Message: "`not` negates what stands before it, by a pipe",
				Help: "write `.x | not`, or `(.x | not) and .y`"})
			return
		}
		if facts.Yields == "" {
			return
		}
		d := Diagnostic{Code: "SW507", Pointer: e.at, Message: fmt.Sprintf("`%s` must be true or false, and this expression yields %s", e.property, facts.Yields),
			Help: "compare it with something, for example `... > 0`"}
		if facts.Assigns > 0 {
			d.Range = c.w.Source.Within(e.at, facts.Assigns, facts.Assigns+1)
			d.Message, d.Label, d.Help = "`=` assigns, so that this condition is neither true nor false", didYouMean("=="), "write `==` to compare"
			d.Fix = []source.Edit{{Range: d.Range, NewText: "==", Safe: true}}
		}
		c.add(d)
	})
}
