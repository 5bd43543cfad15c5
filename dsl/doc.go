// Package dsl is the workflow document: a parser that keeps the position of every key and scalar, the typed tree,
// and the rules that need no execution.
//
// Start with [Parse], then [Workflow] and [Task]. Every element of the tree is known by one address, its [Pointer];
// [Source] finds the place of a pointer in the text. The tree is read-only once Parse has returned it.
//
// Each kind of task has one file, named by its stem (call_http.go): its type, how it is decoded, what it holds and what it is like
// ([Traits]). Rules (rule_*.go) ask a task for that, and walk through all parts of the tree in one way (walk.go).
package dsl
