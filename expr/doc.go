// Package expr is runtime expressions: jq programs, evaluated by gojq, which no other package imports.
//
// An expression is compiled once ([Compile]) with only the variables that it uses, and then evaluated many times,
// by many instances at once. Evaluation is deterministic: the clock is the step's, there is no environment, no
// input, no module. It is bounded in steps, time, and in the size and depth of what it yields (semantics section 2).
package expr
