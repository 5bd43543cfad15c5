package dsl

import (
	"fmt"
	"slices"
)

// checkClock: SW506, conditions that depend on the clock or the time zone. The output of a task is stored, but the result of a
// condition is not: it may differ when the step is repeated after a crash.
func checkClock(c *checker) {
	c.facts(func(e expressionText, facts Facts) {
		if !facts.Impure || !slices.Contains(conditionProperties(), e.property) {
			return
		}
		d := Diagnostic{Code: "SW506", Pointer: e.at, Message: fmt.Sprintf("`%s` depends on the clock: its result may differ when a step is repeated after a crash", e.property),
			Help: "set the time in a task before, and compare with that; or use a timeout"}
		for _, f := range facts.Functions {
			if slices.Contains([]string{"now", "localtime", "strflocaltime"}, f.Name) {
				d.Range = c.named(e, f, "")
				break
			}
		}
		c.add(d)
	})
}
