// Package runtime drives workflows: it gives the pure interpreter time and effects.
//
// Run is the local driver: one run, in memory, with nothing kept (design.md section 1).
package runtime
