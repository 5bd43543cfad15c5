// Package spec is the DSL as data: its JSON Schema in two shapes, and one page of rules and decisions
// per kind of task (call_http.md and so on).
//
// The schema is for editors and tests. It is never the source of a message: see package dsl.
package spec
