// Package expr evaluates runtime expressions: jq programs, run by gojq, which no other package imports.
//
// An expression is compiled once ([Compile]) with only the variables that it uses. It is then evaluated many times, by many runs at the same time.
// Evaluation is deterministic: the clock is the step's clock, and there are no environment, input, modules or local time zone. Evaluation is limited
// in steps, memory and work, and in the size and depth of its result (semantics section 2).
//
// There are two ways to evaluate. Expressions that always yield one value, such as paths, literals, objects, arithmetic, comparisons and texts, are
// trees of nodes that work directly on the values (direct.go). All others run on gojq's machine, with a meter in place of its context and a guard
// before each of its functions (budget.go, engine.go, guard.go). Both give the same values and the same errors.
package expr
