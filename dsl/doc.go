// Package dsl is the language of workflows: the typed tree of a document, the parser that makes it, and the rules that need no
// execution. Package dsl/source reads the text below it. The interpreter, the tasks and everything that shows a workflow use the
// tree. It evaluates no expression, and runs nothing.
//
// Start with [Parse], then [Workflow] and [Task]; [Check] applies the rules. Every element of the tree is known by one address, its
// [Pointer]; [Source] finds the place of a pointer in the text. The tree is read-only once Parse has returned it.
//
// Files are named by what they hold:
//
//   - workflow.go, task.go, duration.go, expression.go and others: the types of the tree
//   - call_*.go, run_*.go, try.go, wait.go and so on: a kind of task each, by its stem: its type, how it is decoded, what it holds
//     and what it is like ([Traits])
//   - object.go, list_item.go and property_*.go: how properties are decoded, and what is reported about them
//   - check.go and rule_*.go: the rules. They ask a task for its traits, and go through all parts of the tree in one way (walk.go)
package dsl
