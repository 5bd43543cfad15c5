// Package interpreter runs workflows as a pure function: Step takes a program, the state of a run, an event and the time, and returns the effects
// that have to happen outside. It starts no goroutine, reads no clock, draws no random number and does no I/O. Its drivers do (docs/design.md).
//
// Read [Compile], [State], [Step] and [Kind], in this order. The kinds of tasks are not part of this package: see package tasks.
package interpreter
